#include "ir/Dialect.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "runtime/plan/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"

using namespace tandem;

namespace {

/// What `tandem compile` does with a module: parse, verify, all passes, plan.
void compile(llvm::StringRef text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<mlir::func::FuncDialect, TandemDialect>();
  mlir::ScopedDiagnosticHandler quiet(
      &context, [](mlir::Diagnostic &) { return mlir::success(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    return;
  mlir::PassManager passes(&context);
  if (!addCompileSteps(passes, "", "").empty() ||
      mlir::failed(passes.run(*module)))
    return;
  Result<fb::PlanT> native = emitPlan(*module, "fuzz.mlir");
  if (!native.ok())
    return;
  Result<Plan> plan = Plan::fromNative(*native);
  if (plan.ok())
    (void)verify(*plan).ok();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // The parser expects a zero behind the text.
  compile(std::string(reinterpret_cast<const char *>(data), size));
  return 0;
}

#include "tools/tandem/ReadModule.h"

#include "ir/Dialect.h"
#include "ir/PortAttributes.h"
#include "passes/import/Passes.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/SourceMgr.h"

namespace tandem {
namespace {

bool isNamed(mlir::func::FuncOp function, unsigned argument) {
  return llvm::any_of(
      std::initializer_list<llvm::StringRef>{TandemDialect::kInput,
                                             TandemDialect::kParameter,
                                             TandemDialect::kState},
      [&](llvm::StringRef attr) {
        return static_cast<bool>(function.getArgAttr(argument, attr));
      });
}

void namePorts(mlir::func::FuncOp function, const mlir::AsmParserState &names) {
  mlir::Builder builder(function.getContext());
  PortAttributes ports(function);
  const mlir::AsmParserState::BlockDefinition *block =
      function.isExternal() ? nullptr : names.getBlockDef(&function.front());
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    if (isNamed(function, i))
      continue;
    std::string name = "input" + std::to_string(i);
    if (block && i < block->arguments.size()) {
      llvm::SMRange range = block->arguments[i].loc;
      const char *begin = range.Start.getPointer() + 1; // behind the `%`
      name = std::string(begin, range.End.getPointer());
    }
    ports.argument(i).set(TandemDialect::kInput, builder.getStringAttr(name));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, TandemDialect::kOutput) &&
        !function.getResultAttr(i, TandemDialect::kState))
      ports.result(i).set(TandemDialect::kOutput,
                          builder.getStringAttr("result" + std::to_string(i)));
  ports.write();
}

} // namespace

Result<mlir::OwningOpRef<mlir::ModuleOp>>
readModule(const std::string &path, mlir::MLIRContext &context,
           const DiagnosticText &diagnostics) {
  std::string error;
  std::unique_ptr<llvm::MemoryBuffer> file = mlir::openInputFile(path, &error);
  if (!file)
    return Status::refused(error);
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
  context.allowUnregisteredDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
  mlir::ParserConfig config(&context);
  mlir::AsmParserState names;
  if (mlir::failed(
          mlir::parseAsmSourceFile(sources, module->getBody(), config, &names)))
    return diagnostics.failure("cannot read '" + path + "'");
  // A file may hold a module or what would stand in one.
  if (llvm::hasSingleElement(*module->getBody()))
    if (auto inner =
            mlir::dyn_cast<mlir::ModuleOp>(module->getBody()->front())) {
      inner->remove();
      module = inner;
    }
  if (mlir::failed(mlir::verify(*module)))
    return diagnostics.failure("'" + path + "' is not valid");
  mlir::PassManager passes(&context);
  passes.addPass(createImportSdy());
  if (mlir::failed(passes.run(*module)))
    return diagnostics.failure("cannot read the annotations of '" + path + "'");
  for (auto function : module->getOps<mlir::func::FuncOp>())
    if (!function.isPrivate())
      namePorts(function, names);
  return module;
}

} // namespace tandem

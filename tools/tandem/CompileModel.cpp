#include "tools/tandem/CompileModel.h"

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "ir/Dialect.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "runtime/base/Log.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"

#include <set>

namespace tandem {
namespace {

/// A module on its way to a plan.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), diagnostics(context) {
    loadDialects(context);
    // Messages name places; a module's whole text is no help there.
    context.printOpOnDiagnostic(false);
  }

  Status readModule() {
    TANDEM_ASSIGN(module, readModel(options, context, diagnostics));
    return chooseMesh();
  }

  Result<std::vector<Annotation>> annotations() {
    if (!options.annotate.empty())
      return readAnnotations(options.annotate, mesh);
    // A module that was not imported says itself how its values lie.
    if (!(*module)->hasAttr(kDims))
      return std::vector<Annotation>();
    return presetAnnotations(*module, mesh);
  }

  Status annotate() {
    TANDEM_ASSIGN(std::vector<Annotation> lines, annotations());
    TANDEM_TRY(applyAnnotations(*module, lines));
    warnOfIdleAxes();
    return Status();
  }

  Status runPasses() {
    mlir::PassManager passes(&context);
    passes.enableVerifier(true);
    std::string error = addCompileSteps(passes, "", "");
    if (!options.dumpAfter.empty())
      TANDEM_TRY(addDumps(passes));
    if (mlir::failed(passes.run(*module)))
      return diagnostics.failure("compilation failed");
    return Status();
  }

  Result<std::shared_ptr<const Plan>> emit() {
    TANDEM_ASSIGN(fb::PlanT native, emitPlan(*module, options.path));
    TANDEM_ASSIGN(Plan plan, Plan::fromNative(native));
    VerifyOptions verifyOptions;
    verifyOptions.memoryBytes = options.memoryBytes;
    TANDEM_TRY(verify(plan, verifyOptions));
    TANDEM_TRY(checkReshards(plan));
    return std::shared_ptr<const Plan>(
        std::make_shared<const Plan>(std::move(plan)));
  }

  Mesh mesh;

private:
  /// An axis that no annotation uses multiplies the work silently otherwise.
  void warnOfIdleAxes() {
    std::set<std::string> used;
    module->walk([&](mlir::Operation *op) {
      op->getAttrDictionary().walk(
          [&](AxisRefAttr axis) { used.insert(axis.getName().str()); });
    });
    for (const Axis &axis : mesh.axes())
      if (axis.name != kStageAxis && axis.size > 1 && !used.count(axis.name))
        logWarning("axis '" + axis.name + "' splits nothing: its " +
                   std::to_string(axis.size) +
                   " ranks compute the same; annotate a tensor with it");
  }

  Status chooseMesh() {
    Mesh declared = meshOf(*module);
    TANDEM_ASSIGN(mesh, Mesh::parse(options.mesh));
    if (options.mesh.empty())
      mesh = declared;
    else if (meshNameOf(*module) && !(mesh == declared))
      return Status::refused("--mesh is " + mesh.toString() + ", '" +
                             options.path + "' declares " +
                             declared.toString());
    if (!meshNameOf(*module))
      setMesh(*module, mesh);
    return Status();
  }

  /// Numbered dumps of the module behind one pass or all.
  Status addDumps(mlir::PassManager &passes) {
    std::string directory = options.dumpDir.empty() ? "." : options.dumpDir;
    if (llvm::sys::fs::create_directories(directory))
      return Status::refused("cannot make the folder '" + directory + "'");
    std::string names;
    bool known = options.dumpAfter == "all";
    for (const CompileStep &step : compileSteps()) {
      if (llvm::StringRef(step.name).starts_with("verify-"))
        continue; // Changes nothing.
      names += (names.empty() ? "" : ", ") + step.name;
      known |= step.name == options.dumpAfter;
    }
    if (!known)
      return Status::usage("--dump-after " + options.dumpAfter +
                           " is no step; expected all or one of: " + names);
    passes.addInstrumentation(
        std::make_unique<Dumper>(options.dumpAfter, directory));
    context.disableMultithreading();
    return Status();
  }

  struct Dumper : mlir::PassInstrumentation {
    Dumper(std::string after, std::string directory)
        : after(std::move(after)), directory(std::move(directory)) {}
    void runAfterPass(mlir::Pass *pass, mlir::Operation *op) override {
      llvm::StringRef name = pass->getArgument();
      name.consume_front("tandem-");
      if (!mlir::isa<mlir::ModuleOp>(op) || name.empty() ||
          name == "verify-phase")
        return;
      ++number;
      if (after != "all" && name != after)
        return;
      std::string file = directory + "/" + (number < 10 ? "0" : "") +
                         std::to_string(number) + "-" + name.str() + ".mlir";
      std::error_code error;
      llvm::raw_fd_ostream stream(file, error);
      if (error) {
        logWarning("cannot write '" + file + "': " + error.message());
        return;
      }
      op->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
      stream.close();
      if (stream.has_error()) {
        logWarning("cannot write '" + file + "': " + stream.error().message());
        stream.clear_error();
        (void)llvm::sys::fs::remove(file); // No half of a dump is left.
      }
    }
    std::string after, directory;
    int number = 0;
  };

  Status checkReshards(const Plan &plan) const {
    if (options.maxReshardBytes < 0)
      return Status();
    for (const fb::Entry *entry : *plan.table().entries())
      for (const CollectiveRow &row : collectivesOf(plan, *entry))
        if (row.traffic.wireBytes > options.maxReshardBytes)
          return Status::refused(row.location + ": " + name(row.kind) + " of " +
                                 entry->name()->str() + " moves " +
                                 std::to_string(row.traffic.wireBytes) +
                                 " bytes a device (" + row.cause +
                                 "), --max-reshard-bytes is " +
                                 std::to_string(options.maxReshardBytes));
    return Status();
  }

  const CompileOptions &options;
  mlir::MLIRContext context;
  DiagnosticText diagnostics;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace

Result<std::string> annotationsOf(const CompileOptions &options) {
  Compilation compilation(options);
  TANDEM_TRY(compilation.readModule());
  TANDEM_ASSIGN(std::vector<Annotation> lines, compilation.annotations());
  return printAnnotations(lines, compilation.mesh);
}

Result<std::shared_ptr<const Plan>>
compileModel(const CompileOptions &options) {
  Compilation compilation(options);
  TANDEM_TRY(compilation.readModule());
  TANDEM_TRY(compilation.annotate());
  TANDEM_TRY(compilation.runPasses());
  return compilation.emit();
}

} // namespace tandem

#include "tools/tandem/CompileModel.h"

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "ir/Dialect.h"
#include "ir/LayoutInvariance.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "runtime/base/Log.h"
#include "runtime/exec/Workspace.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Verify.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

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
    TANDEM_TRY(chooseMesh());
    TANDEM_TRY(checkSplits());
    TANDEM_TRY(setOptions());
    return addTraining();
  }

  Result<std::vector<Annotation>> annotations() {
    if (!options.annotate.empty())
      return readAnnotations(options.annotate, mesh);
    // A module that was not imported says itself how its values lie.
    if (!(*module)->hasAttr(kDims))
      return std::vector<Annotation>();
    PresetOptions preset;
    preset.sequenceParallel = options.sequenceParallel;
    preset.zero = options.zero;
    return presetAnnotations(*module, mesh, preset);
  }

  /// What training adds has names that annotations may speak of.
  Status addTraining() { return runSteps("", kLastBeforeAnnotations); }

  Status annotate() {
    TANDEM_ASSIGN(std::vector<Annotation> lines, annotations());
    TANDEM_TRY(applyAnnotations(*module, lines));
    warnOfIdleAxes();
    return Status();
  }

  Status runPasses() { return runSteps(kLastBeforeAnnotations, ""); }

  Status runSteps(const std::string &from, const std::string &to) {
    mlir::PassManager passes(&context);
    passes.enableVerifier(true);
    std::string error = addCompileSteps(passes, from, to);
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
    if (options.memoryBytes)
      verifyOptions.workspace = workspaceByStage(plan, 1);
    TANDEM_TRY(verify(plan, verifyOptions));
    TANDEM_TRY(checkReshards(plan));
    return std::shared_ptr<const Plan>(
        std::make_shared<const Plan>(std::move(plan)));
  }

  Mesh mesh;

private:
  static constexpr const char *kLastBeforeAnnotations = "add-optimizer";

  /// What passes read of the pipeline's options.
  Status setOptions() {
    mlir::Builder builder(&context);
    auto set = [&](llvm::StringRef name, const std::string &value) {
      if (!value.empty())
        (*module)->setAttr(name, builder.getStringAttr(value));
    };
    // Messages call a table by its file.
    set("tandem.schedule_name",
        options.scheduleFile.empty() ? options.schedule : options.scheduleFile);
    set("tandem.recompute", options.recompute);
    if (options.virtualStages > 1)
      (*module)->setAttr("tandem.virtual_stages",
                         builder.getI64IntegerAttr(options.virtualStages));
    if (options.layoutInvariant > 0)
      (*module)->setAttr(kLayoutInvariant,
                         builder.getI64IntegerAttr(options.layoutInvariant));
    if (options.scheduleFile.empty())
      return Status();
    auto buffer = llvm::MemoryBuffer::getFile(options.scheduleFile, true);
    if (std::error_code error = buffer.getError())
      return Status::refused("cannot read the schedule '" +
                             options.scheduleFile + "': " + error.message());
    set("tandem.schedule_text", (*buffer)->getBuffer().str());
    return Status();
  }

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

  /// A flag that adds annotations does nothing without its axis, nor where
  /// all annotations are given.
  Status checkSplits() const {
    const std::pair<std::string, const char *> added[] = {
        {options.zero > 0 ? "--zero " + std::to_string(options.zero) : "",
         "dp"},
        {options.sequenceParallel ? "--sequence-parallel" : "", "tp"}};
    for (const auto &[flag, axis] : added) {
      if (flag.empty())
        continue;
      if (!mesh.has(axis))
        return Status::usage(flag + " splits over axis " + axis +
                             "; expected one in --mesh, got '" + options.mesh +
                             "'");
      if (!options.annotate.empty())
        return Status::usage(
            flag + " adds to the mesh's annotations, which those of '" +
            options.annotate + "' replace; put there what " +
            "--print-annotations shows with the flag, and leave it out");
      if (!(*module)->hasAttr(kDims))
        return Status::usage(flag +
                             " adds to a model's annotations; the "
                             "module '" +
                             options.path + "' has its own");
    }
    return Status();
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
        std::make_unique<Dumper>(options.dumpAfter, directory, dumps));
    context.disableMultithreading();
    return Status();
  }

  struct Dumper : mlir::PassInstrumentation {
    Dumper(std::string after, std::string directory, int &number)
        : after(std::move(after)), directory(std::move(directory)),
          number(number) {}
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
    int &number; ///< Of passes so far.
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
  int dumps = 0;
};

} // namespace

void addLayoutOptions(CLI::App *command, CompileOptions &options) {
  command->add_option("--mesh", options.mesh,
                      "Named axes, such as pp=2,tp=2 (default: one rank)");
  command->add_option("--annotate", options.annotate,
                      "Annotations in place of the mesh's preset");
  command->add_flag("--sequence-parallel", options.sequenceParallel,
                    "Split the residual stream's sequence over tp");
  command
      ->add_option("--zero", options.zero,
                   "Split over dp: 1 optimizer state, 2 and gradients, 3 and "
                   "parameters")
      ->check(CLI::Range(0, 3));
  CLI::Option *named = command->add_option(
      "--schedule", options.schedule,
      "Of pipeline stages: gpipe, 1f1b (default), interleaved, zb-h1 or zb-v");
  CLI::Option *stages =
      command
          ->add_option("--virtual-stages", options.virtualStages,
                       "Stages that one pp coordinate holds")
          ->check(atLeast(1));
  command
      ->add_option("--schedule-file", options.scheduleFile,
                   "A table of actions in place of --schedule")
      ->excludes(named)
      ->excludes(stages);
  command->add_option("--recompute", options.recompute,
                      "What backward computes again: none (default), "
                      "selective, full, or layers such as 0,2,5-7");
  command
      ->add_option("--layout-invariant", options.layoutInvariant,
                   "The same bits on every layout, by sums in so many fixed "
                   "pieces: a power of two up to 64, at least the ranks that "
                   "split a dimension")
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32, 64}));
}

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

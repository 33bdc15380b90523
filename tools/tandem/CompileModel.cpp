#include "tools/tandem/CompileModel.h"

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "ir/Dialect.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "runtime/base/Log.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Verify.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassInstrumentation.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"

#include <set>

namespace tandem {
namespace {

bool isModule(const std::string &path) {
  return llvm::StringRef(path).ends_with(".mlir");
}

/// Errors of MLIR as one message; remarks only when asked for.
class DiagnosticText {
public:
  explicit DiagnosticText(mlir::MLIRContext &context)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          take(diagnostic);
          return mlir::success();
        }) {}

  Status failure(const std::string &what) const {
    return Status::refused(text.empty() ? what : text);
  }

private:
  void take(mlir::Diagnostic &diagnostic) {
    std::string message = locationText(diagnostic.getLocation());
    message += (message.empty() ? "" : ": ") + diagnostic.str();
    for (mlir::Diagnostic &note : diagnostic.getNotes())
      message +=
          "\n  note: " + locationText(note.getLocation()) + ": " + note.str();
    switch (diagnostic.getSeverity()) {
    case mlir::DiagnosticSeverity::Error:
      text += (text.empty() ? "" : "\n") + message;
      return;
    case mlir::DiagnosticSeverity::Warning:
      logWarning(message);
      return;
    case mlir::DiagnosticSeverity::Note:
    case mlir::DiagnosticSeverity::Remark:
      log(LogLevel::Debug, message);
      return;
    }
  }

  std::string text;
  mlir::ScopedDiagnosticHandler handler;
};

/// A module on its way to a plan.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options), diagnostics(context) {
    loadDialects(context);
  }

  Status readModule() {
    TANDEM_TRY(isModule(options.path) ? parse() : import());
    TANDEM_TRY(chooseMesh());
    return Status();
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

  Status parse() {
    std::string error;
    std::unique_ptr<llvm::MemoryBuffer> file =
        mlir::openInputFile(options.path, &error);
    if (!file)
      return Status::refused(error);
    llvm::SourceMgr sources;
    sources.AddNewSourceBuffer(std::move(file), llvm::SMLoc());
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&context));
    mlir::ParserConfig config(&context);
    mlir::AsmParserState names;
    if (mlir::failed(mlir::parseAsmSourceFile(sources, module->getBody(),
                                              config, &names)))
      return diagnostics.failure("cannot read '" + options.path + "'");
    // A file may hold a module or what would stand in one.
    if (llvm::hasSingleElement(*module->getBody()))
      if (auto inner =
              mlir::dyn_cast<mlir::ModuleOp>(module->getBody()->front())) {
        inner->remove();
        module = inner;
      }
    if (mlir::failed(mlir::verify(*module)))
      return diagnostics.failure("'" + options.path + "' is not valid");
    for (auto function : module->getOps<mlir::func::FuncOp>())
      namePorts(function, names);
    return Status();
  }

  /// Arguments that nothing else names are inputs, called as the text calls
  /// them; results are outputs `result0`, `result1`, ...
  void namePorts(mlir::func::FuncOp function,
                 const mlir::AsmParserState &names) {
    mlir::Builder builder(&context);
    const mlir::AsmParserState::BlockDefinition *block =
        function.isExternal() ? nullptr : names.getBlockDef(&function.front());
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      bool named = llvm::any_of(
          std::initializer_list<llvm::StringRef>{TandemDialect::kInput,
                                                 TandemDialect::kParameter,
                                                 TandemDialect::kState},
          [&](llvm::StringRef attr) {
            return static_cast<bool>(function.getArgAttr(i, attr));
          });
      if (named)
        continue;
      std::string name = "input" + std::to_string(i);
      if (block && i < block->arguments.size()) {
        llvm::SMRange range = block->arguments[i].loc;
        const char *begin = range.Start.getPointer() + 1; // behind the `%`
        name = std::string(begin, range.End.getPointer());
      }
      function.setArgAttr(i, TandemDialect::kInput,
                          builder.getStringAttr(name));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!function.getResultAttr(i, TandemDialect::kOutput) &&
          !function.getResultAttr(i, TandemDialect::kState))
        function.setResultAttr(
            i, TandemDialect::kOutput,
            builder.getStringAttr("result" + std::to_string(i)));
  }

  Status import() {
    ImportOptions import;
    TANDEM_ASSIGN(
        import.entry.entry,
        parseEntry(options.entry.empty() ? "generate" : options.entry));
    import.entry.batch = options.batch;
    import.entry.maxSeq = options.maxSeq;
    if (!options.dtype.empty()) {
      import.entry.dtype = *parseDType(options.dtype);
      import.hasDType = true;
    }
    import.settings = options.settings;
    import.strict = options.strict;
    import.weightsPath = options.weights;
    TANDEM_ASSIGN(ImportedModel model,
                  importModel(options.path, import, context));
    for (const std::string &warning : model.warnings)
      logWarning(warning);
    module = std::move(model.module);
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

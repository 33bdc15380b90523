#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "runtime/files/NewFile.h"
#include "tools/tandem/CompileModel.h"

#include "llvm/Support/raw_ostream.h"

#include <iostream>

namespace tandem {
namespace {

struct ImportFlags : ModelOptions {
  std::string output;
  bool names = false;
};

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
  stream << "\n";
  return text;
}

Status print(const std::string &text, const std::string &output) {
  if (output.empty()) {
    std::cout << text;
    return Status();
  }
  TANDEM_ASSIGN(NewFile file, NewFile::create(output));
  TANDEM_TRY(file.write(text));
  return file.commit();
}

Status runImport(const ImportFlags &flags) {
  mlir::MLIRContext context;
  loadDialects(context);
  DiagnosticText diagnostics(context);
  TANDEM_ASSIGN(mlir::OwningOpRef<mlir::ModuleOp> module,
                readModel(flags, context, diagnostics));
  return print(flags.names ? printNames(listNames(*module)) : textOf(*module),
               flags.output);
}

} // namespace

void addImport(Program &program) {
  CLI::App *command =
      program.command("import", "Print a model as a readable module",
                      "tandem import SmolLM2.gguf --entry logits -o smol.mlir");
  auto flags = std::make_shared<ImportFlags>();
  flags->defaultEntry = "logits";
  addModelOptions(command, *flags);
  command->add_option("-o,--output", flags->output,
                      "Where it goes (default: standard output)");
  command->add_flag("--names", flags->names,
                    "List the names that annotations may use");
  program.onRun(command, [flags] { return runImport(*flags); });
}

} // namespace tandem

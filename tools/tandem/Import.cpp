#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "runtime/base/Log.h"
#include "runtime/files/NewFile.h"
#include "tools/tandem/CompileModel.h"

#include "llvm/Support/raw_ostream.h"

#include <iostream>

namespace tandem {

void addImport(Program &program) {
  CLI::App *command =
      program.command("import", "Print a model as a readable module",
                      "tandem import SmolLM2.gguf --entry logits -o smol.mlir");
  struct Options {
    std::string path, output, entry = "logits", dtype;
    int64_t batch = 1, maxSeq = 0;
    std::vector<std::string> settings;
    bool names = false, strict = false;
  };
  auto options = std::make_shared<Options>();
  command->add_option("MODEL", options->path, "A directory or .gguf file")
      ->required();
  command->add_option("-o,--output", options->output,
                      "Where the module goes (default: standard output)");
  command->add_option("--entry", options->entry,
                      "logits (default), next or generate");
  command->add_option("--batch", options->batch, "Rows")->check(atLeast(1));
  command->add_option("--max-seq", options->maxSeq, "Longest sequence")
      ->check(atLeast(1));
  command->add_option("--dtype", options->dtype, "Type of weights")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command
      ->add_option("--set", options->settings,
                   "Override a setting of the model: key=value")
      ->allow_extra_args(false);
  command->add_flag("--names", options->names,
                    "List the names that annotations may use");
  command->add_flag("--strict", options->strict,
                    "A stored tensor that nothing uses is an error");
  program.onRun(command, [options]() -> Status {
    mlir::MLIRContext context;
    loadDialects(context);
    ImportOptions import;
    TANDEM_ASSIGN(import.entry.entry, parseEntry(options->entry));
    import.entry.batch = options->batch;
    import.entry.maxSeq = options->maxSeq;
    if (!options->dtype.empty()) {
      import.entry.dtype = *parseDType(options->dtype);
      import.hasDType = true;
    }
    import.settings = options->settings;
    import.strict = options->strict;
    TANDEM_ASSIGN(ImportedModel model,
                  importModel(options->path, import, context));
    for (const std::string &warning : model.warnings)
      logWarning(warning);
    if (options->names) {
      std::cout << printNames(listNames(*model.module));
      return Status();
    }
    std::string text;
    llvm::raw_string_ostream stream(text);
    model.module->print(stream, mlir::OpPrintingFlags().enableDebugInfo());
    text += "\n";
    if (options->output.empty()) {
      std::cout << text;
      return Status();
    }
    TANDEM_ASSIGN(NewFile file, NewFile::create(options->output));
    TANDEM_TRY(file.write(text));
    return file.commit();
  });
}

} // namespace tandem

#include "runtime/plan/Inspect.h"
#include "tools/tandem/CompileModel.h"

#include "runtime/files/NewFile.h"

#include <iostream>

namespace tandem {

void addCompile(Program &program) {
  CLI::App *command = program.command(
      "compile", "Compile a model into a plan for a mesh",
      "tandem compile SmolLM2.gguf -o smol.plan --mesh pp=2,tp=2 "
      "--max-seq 512");
  struct Options : CompileOptions {
    std::string output, memory;
  };
  auto options = std::make_shared<Options>();
  command
      ->add_option("MODEL", options->path,
                   "A model (directory or .gguf), or a module's .mlir file")
      ->required();
  command->add_option("-o,--output", options->output, "Where the plan goes");
  command->add_option("--mesh", options->mesh,
                      "Named axes, such as pp=2,tp=2 (default: one rank)");
  command->add_option("--annotate", options->annotate,
                      "Annotations in place of the mesh's preset");
  command->add_flag("--print-annotations", options->printAnnotations,
                    "Print the annotations that count, and stop");
  command
      ->add_option("--set", options->settings,
                   "Override a setting of the model: key=value")
      ->allow_extra_args(false);
  command->add_option("--entry", options->entry,
                      "logits, next or generate (default)");
  command->add_option("--batch", options->batch, "Rows")->check(atLeast(1));
  command
      ->add_option("--max-seq", options->maxSeq,
                   "Longest sequence (default: the model's, at most 2048)")
      ->check(atLeast(1));
  command
      ->add_option("--dtype", options->dtype,
                   "Stored type of weights at run time")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command->add_option("--weights", options->weights,
                      "Directory or file of the weights, when they are not "
                      "where the model is");
  command->add_option("--dump-after", options->dumpAfter,
                      "Write the module behind a pass, or behind all");
  command->add_option("--dump-dir", options->dumpDir,
                      "Where dumps go (default: .)");
  command->add_option("--memory", options->memory,
                      "What one rank may use, such as 8GiB");
  command
      ->add_option("--max-reshard-bytes", options->maxReshardBytes,
                   "Refuse collectives that move more a device")
      ->check(atLeast(0));
  command->add_flag("--strict", options->strict,
                    "A stored tensor that nothing uses is an error");
  program.onRun(command, [options]() -> Status {
    if (options->printAnnotations) {
      TANDEM_ASSIGN(std::string text, annotationsOf(*options));
      std::cout << text;
      if (options->output.empty())
        return Status();
    }
    if (options->output.empty())
      return Status::usage("compile: -o PLAN is missing");
    if (!options->memory.empty()) {
      TANDEM_ASSIGN(options->memoryBytes, parseBytes(options->memory));
    }
    TANDEM_ASSIGN(std::shared_ptr<const Plan> plan, compileModel(*options));
    TANDEM_ASSIGN(NewFile file, NewFile::create(options->output));
    TANDEM_TRY(file.write(plan->bytes().data(), plan->bytes().size()));
    TANDEM_TRY(file.commit());
    if (!options->printAnnotations)
      std::cout << inspectText(*plan) << "\n";
    return Status();
  });
}

} // namespace tandem

#include "tools/commands/PlanBubble.h"
#include "tools/tandem/CompileModel.h"

#include "runtime/files/NewFile.h"

#include <iostream>

namespace tandem {

namespace {

struct CompileFlags : CompileOptions {
  std::string output, memory;
  bool json = false;
};

void addCompileOptions(CLI::App *command, CompileFlags &flags) {
  command->add_option("-o,--output", flags.output, "Where the plan goes");
  addLayoutOptions(command, flags);
  command->add_flag("--print-annotations", flags.printAnnotations,
                    "Print the annotations that count, and stop");
  command->add_option("--dump-after", flags.dumpAfter,
                      "Write the module behind a pass, or behind all");
  command->add_option("--dump-dir", flags.dumpDir,
                      "Where dumps go (default: .)");
  command->add_option("--memory", flags.memory,
                      "What one rank may use, such as 8GiB");
  command
      ->add_option("--max-reshard-bytes", flags.maxReshardBytes,
                   "Refuse collectives that move more a device")
      ->check(atLeast(0));
  command->add_flag("--json", flags.json,
                    "Print what the plan holds as one JSON object");
}

Status runCompile(CompileFlags &flags) {
  if (flags.printAnnotations) {
    TANDEM_ASSIGN(std::string text, annotationsOf(flags));
    std::cout << text;
    if (flags.output.empty())
      return Status();
  }
  if (flags.output.empty())
    return Status::usage("compile: -o PLAN is missing");
  if (!flags.memory.empty()) {
    TANDEM_ASSIGN(flags.memoryBytes, parseBytes(flags.memory));
  }
  TANDEM_ASSIGN(std::shared_ptr<const Plan> plan, compileModel(flags));
  TANDEM_ASSIGN(NewFile file, NewFile::create(flags.output));
  TANDEM_TRY(file.write(plan->bytes().data(), plan->bytes().size()));
  TANDEM_TRY(file.commit());
  InspectOptions report;
  report.bubble = bubbleOf;
  if (!flags.printAnnotations)
    std::cout << (flags.json ? inspectJson(*plan, report)
                             : inspectText(*plan, report));
  return Status();
}

} // namespace

void addCompile(Program &program) {
  CLI::App *command = program.command(
      "compile", "Compile a model into a plan for a mesh",
      "tandem compile SmolLM2.gguf -o smol.plan --mesh pp=2,tp=2 "
      "--max-seq 512");
  auto flags = std::make_shared<CompileFlags>();
  addModelOptions(command, *flags);
  addCompileOptions(command, *flags);
  program.onRun(command, [flags] { return runCompile(*flags); });
}

} // namespace tandem

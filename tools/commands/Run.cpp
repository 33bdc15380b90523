#include "runtime/files/SafetensorsWriter.h"
#include "runtime/session/Inputs.h"
#include "tools/commands/World.h"

namespace tandem {
namespace {

Status writeOutputs(const std::string &path, const HostTensors &outputs) {
  std::vector<TensorToWrite> tensors;
  for (const auto &[name, tensor] : outputs)
    tensors.push_back({{name, tensor.dtype, tensor.shape}, tensor.data.data()});
  return writeSafetensors(path, tensors);
}

/// The plan's only entry, when none is named.
Result<std::string> entryOf(const Plan &plan, const std::string &asked) {
  if (!asked.empty()) {
    TANDEM_TRY(findEntry(plan, asked).status());
    return asked;
  }
  const auto *entries = plan.table().entries();
  if (entries->size() == 1)
    return entries->Get(0)->name()->str();
  std::string names;
  for (const fb::Entry *entry : *entries)
    names += (names.empty() ? "" : ", ") + entry->name()->str();
  return Status::usage("the plan has several entries; choose one by --entry: " +
                       names);
}

struct RunOptions {
  PlanRequest request;
  WorldOptions world;
  std::string inputs, outputs, entry;
};

} // namespace

void addRun(Program &program) {
  CLI::App *command =
      program.command("run", "Run an entry of a plan on named inputs",
                      "tandem run llama.plan --inputs in.safetensors --outputs "
                      "out.safetensors --entry logits");
  auto options = std::make_shared<RunOptions>();
  command->add_option("PLAN", options->request.path, "The plan")->required();
  command
      ->add_option("--inputs", options->inputs,
                   "A safetensors file with the entry's inputs by name")
      ->required();
  command
      ->add_option("--outputs", options->outputs,
                   "The safetensors file that the results go to")
      ->required();
  command->add_option("--entry", options->entry, "The entry to run");
  options->world.addTo(command);
  program.onRun(command, [&program, options] {
    return runInWorld(
        program, options->request, options->world,
        [&](Session &session) -> Status {
          TANDEM_ASSIGN(std::string entry,
                        entryOf(session.plan(), options->entry));
          TANDEM_ASSIGN(HostTensors inputs, readHostTensors(options->inputs));
          TANDEM_ASSIGN(HostTensors outputs, session.run(entry, inputs));
          return writeOutputs(options->outputs, outputs);
        });
  });
}

} // namespace tandem

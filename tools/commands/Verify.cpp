#include "runtime/plan/Verify.h"
#include "runtime/exec/Workspace.h"
#include "tools/commands/Command.h"

#include <iostream>

namespace tandem {

void addVerify(Program &program) {
  CLI::App *command = program.command("verify", "Prove that a plan can run",
                                      "tandem verify smol.plan --memory 8GiB");
  auto path = std::make_shared<std::string>();
  auto memory = std::make_shared<std::string>();
  auto threads = std::make_shared<int>(1);
  command->add_option("PLAN", *path, "The plan")->required();
  command->add_option("--memory", *memory, "What one rank may use");
  command
      ->add_option("--threads", *threads,
                   "Threads of each rank, for the workspace of its kernels")
      ->check(atLeast(1, 1024));
  program.onRun(command, [=]() -> Status {
    VerifyOptions options;
    if (!memory->empty()) {
      TANDEM_ASSIGN(options.memoryBytes, parseBytes(*memory));
    }
    TANDEM_ASSIGN(Plan plan, Plan::load(*path));
    if (options.memoryBytes)
      options.workspace = workspaceByStage(plan, *threads);
    TANDEM_TRY(verify(plan, options).withContext(*path));
    std::cout << *path << ": proved: " << plan.numRanks() << " ranks, "
              << plan.stages() << " stages\n";
    return Status();
  });
}

} // namespace tandem

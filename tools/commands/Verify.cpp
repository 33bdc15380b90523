#include "runtime/plan/Verify.h"
#include "tools/commands/Command.h"

#include <iostream>

namespace tandem {

void addVerify(Program &program) {
  CLI::App *command = program.command("verify", "Prove that a plan can run",
                                      "tandem verify smol.plan --memory 8GiB");
  auto path = std::make_shared<std::string>();
  auto memory = std::make_shared<std::string>();
  command->add_option("PLAN", *path, "The plan")->required();
  command->add_option("--memory", *memory, "What one rank may use");
  program.onRun(command, [=]() -> Status {
    VerifyOptions options;
    if (!memory->empty()) {
      TANDEM_ASSIGN(options.memoryBytes, parseBytes(*memory));
    }
    TANDEM_ASSIGN(Plan plan, Plan::load(*path));
    TANDEM_TRY(verify(plan, options).withContext(*path));
    std::cout << *path << ": proved: " << plan.numRanks() << " ranks, "
              << plan.stages() << " stages\n";
    return Status();
  });
}

} // namespace tandem

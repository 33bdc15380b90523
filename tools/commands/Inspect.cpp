#include "runtime/plan/Inspect.h"
#include "runtime/base/Log.h"
#include "tools/commands/Command.h"

#include <iostream>

namespace tandem {

void addInspect(Program &program) {
  CLI::App *command = program.command("inspect", "Print what a plan holds",
                                      "tandem inspect smol.plan --json");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  command->add_option("PLAN", *path, "The plan")->required();
  command->add_flag("--json", *json, "Print one JSON object");
  program.onRun(command, [=]() -> Status {
    TANDEM_ASSIGN(Plan plan, Plan::load(*path));
    InspectOptions options;
    options.instructions = logLevel() >= LogLevel::Debug;
    std::cout << (*json ? inspectJson(plan) : inspectText(plan, options));
    return Status();
  });
}

} // namespace tandem

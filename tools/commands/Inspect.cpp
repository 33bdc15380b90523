#include "runtime/plan/Inspect.h"
#include "runtime/base/Log.h"
#include "tools/commands/Command.h"
#include "tools/commands/PlanBubble.h"

#include <iostream>

namespace tandem {

void addInspect(Program &program) {
  CLI::App *command = program.command("inspect", "Print what a plan holds",
                                      "tandem inspect smol.plan --json");
  auto path = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  auto nodeRanks = std::make_shared<int64_t>(kNodeRanks);
  command->add_option("PLAN", *path, "The plan")->required();
  command->add_flag("--json", *json, "Print one JSON object");
  command
      ->add_option("--node-ranks", *nodeRanks,
                   "Ranks that share a node, for the bytes on each kind of "
                   "link (default 8)")
      ->check(atLeast(1, 0x1p31));
  program.onRun(command, [=]() -> Status {
    TANDEM_ASSIGN(Plan plan, Plan::load(*path));
    InspectOptions options;
    options.nodeRanks = *nodeRanks;
    options.bubble = bubbleOf;
    options.instructions = logLevel() >= LogLevel::Debug;
    std::cout << (*json ? inspectJson(plan, options)
                        : inspectText(plan, options));
    return Status();
  });
}

} // namespace tandem

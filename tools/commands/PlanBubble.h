//===- PlanBubble.h - What a plan's coordinates wait ------------*- C++ -*-===//

#ifndef TANDEM_TOOLS_COMMANDS_PLANBUBBLE_H
#define TANDEM_TOOLS_COMMANDS_PLANBUBBLE_H

#include "passes/strategy/PipelineSchedule.h"
#include "runtime/plan/Inspect.h"

#include <optional>

namespace tandem {

/// The schedule of an entry, as its programs have it; nothing where it has
/// none, or one that is no pipeline's.
std::optional<PipelineSchedule> scheduleOf(const Plan &plan,
                                           const fb::Entry &entry);

/// Its bubble where every coordinate takes 1 for forward and 2 for backward,
/// half of that for weights, its stages alike; and the closed form of the
/// known schedule that orders actions so.
std::optional<BubbleFigures> bubbleOf(const Plan &plan, const fb::Entry &entry);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_PLANBUBBLE_H

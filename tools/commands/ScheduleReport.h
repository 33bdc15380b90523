//===- ScheduleReport.h - A schedule's figures ------------------*- C++ -*-===//

#ifndef TANDEM_TOOLS_COMMANDS_SCHEDULEREPORT_H
#define TANDEM_TOOLS_COMMANDS_SCHEDULEREPORT_H

#include "passes/strategy/ClosedForms.h"
#include "passes/strategy/ScheduleTimeline.h"

namespace tandem {

/// What is known of a schedule; all of it outlives the call.
struct ScheduleReport {
  std::string title;
  const PipelineSchedule &pipeline;
  const Timeline &timeline;
  /// Of a known schedule with equal stages and free transfers.
  std::optional<ClosedForm> form;
  std::optional<double> formBubble;
};

/// Lines of figures, then a table of the coordinates.
std::string textOf(const ScheduleReport &report);
/// One object, actions and their times included.
std::string jsonOf(const ScheduleReport &report);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_SCHEDULEREPORT_H

#include "tools/commands/ScheduleReport.h"

#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tandem {
namespace {

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", share * 100);
  return text;
}

std::string number(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

std::string padded(std::string text, size_t width, bool left = false) {
  size_t blanks = width > text.size() ? width - text.size() : 0;
  return left ? text + std::string(blanks, ' ')
              : std::string(blanks, ' ') + text;
}

/// The stages of a coordinate and how many slots they have together.
struct Holding {
  std::vector<int64_t> stages;
  int64_t slots = 0;
};

Holding holdingOf(const PipelineSchedule &pipeline, int64_t coordinate) {
  Holding holding;
  for (int64_t stage = 0; stage < pipeline.problem.stages(); ++stage)
    if (pipeline.problem.coordinateOf[stage] == coordinate) {
      holding.stages.push_back(stage);
      holding.slots += pipeline.schedule.slots[stage];
    }
  return holding;
}

std::string bubbleLine(const ScheduleReport &report) {
  std::string line = "bubble    " + percent(report.timeline.bubble());
  if (report.formBubble)
    return line + ", closed form " + percent(*report.formBubble) +
           ": every coordinate waits " + report.form->idleFormula + " = " +
           number(*report.form->idle) + "\n";
  if (report.form)
    return line + "; the closed form " + report.form->idleFormula +
           " does not hold for these times\n";
  return line + "\n";
}

std::vector<std::string> cellsOf(const ScheduleReport &report, int64_t c,
                                 int64_t inFlight) {
  Holding holding = holdingOf(report.pipeline, c);
  std::string stages;
  for (int64_t stage : holding.stages)
    stages += (stages.empty() ? "" : ",") + std::to_string(stage);
  return {std::to_string(c),
          stages,
          number(report.timeline.busy[c]),
          number(report.timeline.idleOf(c)),
          number(report.timeline.idleWithin(c)),
          std::to_string(inFlight),
          report.form ? std::to_string(report.form->inFlight[c]) : "-",
          std::to_string(holding.slots)};
}

std::string tableOf(const ScheduleReport &report) {
  std::vector<std::vector<std::string>> rows = {{"coordinate", "stages", "busy",
                                                 "waits", "within", "in flight",
                                                 "closed form", "slots"}};
  std::vector<int64_t> inFlight =
      mostInFlight(report.pipeline.problem, report.pipeline.schedule);
  for (int64_t c = 0; c < report.pipeline.problem.coordinates; ++c)
    rows.push_back(cellsOf(report, c, inFlight[c]));
  std::vector<size_t> widths(rows[0].size(), 0);
  for (const auto &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto &row : rows) {
    for (size_t i = 0; i < row.size(); ++i)
      text += (i ? "  " : "") + padded(row[i], widths[i], i < 2);
    text += "\n";
  }
  return text;
}

nlohmann::json jsonOfAction(const ScheduleAction &action,
                            const TimedAction &time) {
  static const char *const names[] = {"forward", "backward", "weight"};
  return {{"kind", names[static_cast<int>(action.kind)]},
          {"stage", action.stage},
          {"microbatch", action.microbatch},
          {"slot", action.slot},
          {"start", time.start},
          {"end", time.end}};
}

nlohmann::json jsonOfCoordinate(const ScheduleReport &report, int64_t c,
                                int64_t inFlight) {
  Holding holding = holdingOf(report.pipeline, c);
  nlohmann::json object = {{"stages", holding.stages},
                           {"busy", report.timeline.busy[c]},
                           {"idle", report.timeline.idleOf(c)},
                           {"idle_within", report.timeline.idleWithin(c)},
                           {"slots", holding.slots},
                           {"in_flight", inFlight}};
  const ActionList &list = report.pipeline.schedule.actions[c];
  for (size_t i = 0; i < list.size(); ++i)
    object["actions"].push_back(
        jsonOfAction(list[i], report.timeline.actions[c][i]));
  return object;
}

} // namespace

std::string textOf(const ScheduleReport &report) {
  std::string text = bubbleLine(report);
  text += "makespan  " + number(report.timeline.makespan) +
          ", no order takes less than " + number(report.timeline.lowerBound) +
          "\n";
  if (report.form)
    text += "in flight " + report.form->inFlightFormula +
            " on coordinate c, by closed form\n";
  return text + "\n" + tableOf(report);
}

std::string jsonOf(const ScheduleReport &report) {
  const ScheduleProblem &problem = report.pipeline.problem;
  nlohmann::json object = {{"schedule", report.title},
                           {"stage_coordinates", problem.coordinateOf},
                           {"microbatches", problem.microbatches},
                           {"split_backward", problem.split},
                           {"makespan", report.timeline.makespan},
                           {"lower_bound", report.timeline.lowerBound},
                           {"bubble", report.timeline.bubble()}};
  if (report.form) {
    nlohmann::json &form = object["closed_form"];
    form["in_flight"] = report.form->inFlight;
    form["in_flight_formula"] = report.form->inFlightFormula;
    form["idle_formula"] = report.form->idleFormula;
    if (report.formBubble) {
      form["idle"] = *report.form->idle;
      form["bubble"] = *report.formBubble;
    }
  }
  std::vector<int64_t> inFlight =
      mostInFlight(problem, report.pipeline.schedule);
  for (int64_t c = 0; c < problem.coordinates; ++c)
    object["coordinates"].push_back(jsonOfCoordinate(report, c, inFlight[c]));
  return object.dump(2);
}

} // namespace tandem

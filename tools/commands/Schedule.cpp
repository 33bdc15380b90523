#include "passes/strategy/ScheduleText.h"
#include "runtime/base/Log.h"
#include "runtime/files/NewFile.h"
#include "tools/commands/Command.h"
#include "tools/commands/SchedulePicture.h"
#include "tools/commands/ScheduleReport.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace tandem {
namespace {

/// Beyond it a picture is no help and only long.
constexpr int64_t kMostActions = 1 << 18;

struct ScheduleFlags {
  ScheduleRequest request;
  std::string file, svg;
  double forward = 1, backward = 2, weight = -1; ///< A coordinate's times.
  double transfer = 0;
  int64_t slots = 0;
  bool json = false, table = false;

  double weightTime() const { return weight < 0 ? backward / 2 : weight; }
};

std::string numeral(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

Status mismatch(const ScheduleFlags &flags, const char *flag, int64_t given,
                int64_t found, const char *what) {
  return Status::usage(flags.file + " has " + std::to_string(found) + " " +
                       what + ", " + flag + " says " + std::to_string(given));
}

Result<PipelineSchedule> readFile(const ScheduleFlags &flags) {
  TANDEM_ASSIGN(std::string text, readText(flags.file));
  TANDEM_ASSIGN(PipelineSchedule read, parseSchedule(text, flags.file));
  int64_t stages = flags.request.coordinates;
  int64_t microbatches = flags.request.microbatches;
  if (stages && stages != read.problem.coordinates)
    return mismatch(flags, "--stages", stages, read.problem.coordinates,
                    "coordinates");
  if (microbatches && microbatches != read.problem.microbatches)
    return mismatch(flags, "--microbatches", microbatches,
                    read.problem.microbatches, "microbatches");
  return read;
}

Result<PipelineSchedule> makeNamed(const ScheduleFlags &flags) {
  const ScheduleRequest &request = flags.request;
  if (!request.coordinates || !request.microbatches)
    return Status::usage("schedule: expected --stages and --microbatches, or "
                         "--schedule-file");
  if (request.coordinates * std::max<int64_t>(request.virtualStages, 1) *
          request.microbatches >
      kMostActions)
    return Status::usage(
        "schedule: more than " + std::to_string(kMostActions) +
        " forward actions; expected fewer --stages, --virtual-stages or "
        "--microbatches");
  return makeSchedule(request);
}

/// A coordinate's times shared evenly by its stages.
void setTimes(const ScheduleFlags &flags, ScheduleProblem &problem) {
  problem.transfer = flags.transfer;
  for (int64_t holder : problem.coordinateOf) {
    auto stages = static_cast<double>(std::count(
        problem.coordinateOf.begin(), problem.coordinateOf.end(), holder));
    problem.times.push_back({flags.forward / stages,
                             (flags.backward - flags.weightTime()) / stages,
                             flags.weightTime() / stages});
  }
}

std::string titleOf(const ScheduleFlags &flags,
                    const ScheduleProblem &problem) {
  std::string title = flags.file.empty() ? flags.request.name : flags.file;
  title += ": " + std::to_string(problem.coordinates) + " coordinates";
  if (problem.stages() != problem.coordinates)
    title += ", " + std::to_string(problem.stages()) + " stages";
  title += ", " + std::to_string(problem.microbatches) +
           " microbatches; forward " + numeral(flags.forward) + ", backward " +
           numeral(flags.backward);
  if (problem.split)
    title += " (" + numeral(flags.weightTime()) + " of it weights)";
  if (flags.transfer > 0)
    title += ", transfer " + numeral(flags.transfer);
  return title;
}

/// The closed form, where there is one.
Status addForm(const ScheduleFlags &flags, ScheduleReport &report) {
  const ScheduleProblem &problem = report.pipeline.problem;
  if (!flags.file.empty())
    return Status();
  TANDEM_ASSIGN(report.form, closedFormOf(flags.request, problem.times[0]));
  if (flags.transfer > 0)
    report.form->idle.reset();
  report.formBubble = report.form->bubble(
      {problem.coordinates, problem.stages() / problem.coordinates,
       problem.microbatches, problem.times[0]});
  return Status();
}

std::string legendOf(const ScheduleProblem &problem) {
  std::string text = "F forward, B backward, ";
  if (problem.split)
    text += "W weight gradients, ";
  if (problem.stages() != problem.coordinates)
    text += "a and b a coordinate's first and second stage, ";
  return text + "dots waits\n";
}

PictureStyle styleOfTerminal() {
  PictureStyle style;
  winsize size{};
  if (!isatty(1))
    return style;
  style.colour = getenv("NO_COLOR") == nullptr;
  if (ioctl(1, TIOCGWINSZ, &size) == 0)
    style.width = size.ws_col;
  return style;
}

Status writeSvg(const ScheduleScene &scene, const std::string &path) {
  TANDEM_ASSIGN(NewFile file, NewFile::create(path));
  TANDEM_TRY(file.write(svgPicture(scene)));
  return file.commit();
}

Status runSchedule(const ScheduleFlags &flags) {
  if (flags.weightTime() > flags.backward)
    return Status::usage("--weight " + numeral(flags.weight) +
                         " is part of --backward " + numeral(flags.backward) +
                         " and cannot be more");
  TANDEM_ASSIGN(PipelineSchedule made,
                flags.file.empty() ? makeNamed(flags) : readFile(flags));
  if (flags.slots > 0)
    made.problem.slotLimit = flags.slots;
  setTimes(flags, made.problem);
  TANDEM_TRY(made.schedule.verify(made.problem));
  Timeline timeline = simulate(made.problem, made.schedule);
  ScheduleScene scene{titleOf(flags, made.problem), made, timeline};
  ScheduleReport report{scene.title, made, timeline, {}, {}};
  TANDEM_TRY(addForm(flags, report));
  if (!flags.svg.empty())
    TANDEM_TRY(writeSvg(scene, flags.svg));
  if (flags.table)
    std::cout << "# " << scene.title << "\n" << printSchedule(made);
  else if (flags.json)
    std::cout << jsonOf(report) << "\n";
  else
    std::cout << scene.title << "\n\n"
              << textPicture(scene, styleOfTerminal()) << "\n"
              << legendOf(made.problem) << "\n"
              << textOf(report);
  return Status();
}

void addTimes(CLI::App *command, ScheduleFlags &flags) {
  command
      ->add_option("--forward", flags.forward,
                   "Time of a coordinate's forward of a microbatch (default "
                   "1), which its stages share")
      ->check(atLeast(0));
  command
      ->add_option("--backward", flags.backward,
                   "Time of its whole backward (default 2)")
      ->check(atLeast(0));
  command
      ->add_option("--weight", flags.weight,
                   "What of the backward is for gradients of weights (default "
                   "half)")
      ->check(atLeast(0));
  command
      ->add_option("--transfer", flags.transfer,
                   "Time between two coordinates (default 0)")
      ->check(atLeast(0));
}

} // namespace

void addSchedule(Program &program) {
  CLI::App *command = program.command(
      "schedule", "Show a pipeline schedule and what it costs",
      "tandem schedule --stages 4 --microbatches 8 --schedule 1f1b");
  auto flags = std::make_shared<ScheduleFlags>();
  flags->request.coordinates = flags->request.microbatches = 0;
  command
      ->add_option("--stages", flags->request.coordinates,
                   "Coordinates of the pp axis")
      ->check(atLeast(1, 1024));
  command
      ->add_option("--microbatches", flags->request.microbatches,
                   "Microbatches of a step")
      ->check(atLeast(1, 65536));
  auto *name = command->add_option("--schedule", flags->request.name,
                                   "gpipe, 1f1b (default), interleaved, zb-h1 "
                                   "or zb-v");
  auto *stages =
      command
          ->add_option("--virtual-stages", flags->request.virtualStages,
                       "Stages of a coordinate (default 2 for interleaved)")
          ->check(atLeast(1, 1024));
  auto *file = command->add_option(
      "--schedule-file", flags->file,
      "A table of actions, one line a coordinate (docs/schedules.md); - for "
      "standard input");
  file->excludes(name)->excludes(stages);
  addTimes(command, *flags);
  command
      ->add_option("--slots", flags->slots,
                   "Refuse a schedule that needs more slots for activations on "
                   "a coordinate")
      ->check(atLeast(1, 1e9));
  command->add_option("--svg", flags->svg, "Write the picture to this file");
  auto *json =
      command->add_flag("--json", flags->json, "Print one JSON object");
  command
      ->add_flag("--table", flags->table,
                 "Print the table that --schedule-file reads")
      ->excludes(json);
  program.onRun(command, [flags] { return runSchedule(*flags); });
}

} // namespace tandem

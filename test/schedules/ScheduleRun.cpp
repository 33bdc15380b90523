//===- ScheduleRun.cpp - A training step of stages that take time ---------===//
//
//   schedule_run PLAN [FORWARD BACKWARD WEIGHT]     seconds, 0 if not given
//
// Runs the plan's only entry twice with all ranks as threads; the second run
// counts. Every forward, backward and weight action takes the seconds given.
// Prints
//
//   makespan 0.33              from the first action's begin to the last's end
//   0: F0.0 F1.0 B0.0 B1.0     what each pp coordinate ran, in its order
//
// as the trace has it, which knows nothing of the plan's schedule.
//
//===----------------------------------------------------------------------===//

#include "test/schedules/DelayDevice.h"
#include "test/unit/exec/LocalRanks.h"

#include <cstdio>
#include <cstdlib>
#include <map>

using namespace tandem;

namespace {

/// `forward.3` -> 'F' and `.3`; a blank for the prologue and the epilogue.
struct ActionName {
  explicit ActionName(const std::string &name) {
    size_t point = name.find('.');
    if (point == std::string::npos)
      return;
    letter = static_cast<char>(name[0] - 'a' + 'A');
    stage = name.substr(point);
  }
  char letter = ' ';
  std::string stage;
};

using Program = fb::Program;
using Instruction = fb::Instruction;

const Program &programOf(const Plan &plan, const Executor &executor) {
  return *plan.table().entries()->Get(0)->programs()->Get(executor.stage());
}

/// The piece of work of stream 0 that stands for an action: the last launch in
/// front of the last send, so that what is sent waits for it and it for what
/// is received; the last launch where nothing is sent.
uint32_t delayedOf(const Program &program, const fb::Action &action) {
  uint32_t last = kNone, found = kNone;
  for (uint32_t i = action.first(); i < action.first() + action.count(); ++i) {
    const Instruction &it = *program.instructions()->Get(i);
    if (it.op() == fb::Opcode::Launch && it.stream() == 0)
      last = i;
    if (it.op() == fb::Opcode::Send)
      found = last;
  }
  return found == kNone ? last : found;
}

/// For each work that a run enqueues on stream 0, how long it takes.
std::vector<double> delaysOf(const Plan &plan, const Program &program,
                             const std::map<char, double> &seconds) {
  std::vector<double> delays;
  for (const fb::ScheduleItem *item : *program.schedule()) {
    const fb::Action &action = *program.actions()->Get(item->action());
    ActionName name(plan.string(action.name()));
    uint32_t delayed = delayedOf(program, action);
    for (uint32_t i = action.first(); i < action.first() + action.count();
         ++i) {
      const Instruction &it = *program.instructions()->Get(i);
      if (it.stream() != 0 || it.op() == fb::Opcode::Record ||
          it.op() == fb::Opcode::Wait)
        continue;
      auto found = seconds.find(name.letter);
      delays.push_back(i == delayed && found != seconds.end() ? found->second
                                                              : 0);
    }
  }
  return delays;
}

/// The actions that launches of the trace belong to, one after another.
std::string orderOf(const Plan &plan, const Executor &executor) {
  const Program &program = programOf(plan, executor);
  std::string text, last;
  for (const TraceEvent &event : executor.traced()) {
    if (event.stream != 0)
      continue;
    for (const fb::Action *action : *program.actions()) {
      if (event.instruction < action->first() ||
          event.instruction >= action->first() + action->count())
        continue;
      ActionName name(plan.string(action->name()));
      std::string token =
          name.letter + std::to_string(event.microbatch) + name.stage;
      if (name.letter != ' ' && token != last)
        text += " " + token;
      last = token;
    }
  }
  return text;
}

[[noreturn]] void stop(const Status &status) {
  std::fprintf(stderr, "%s\n", status.toString().c_str());
  std::exit(1);
}

void runOnce(LocalRanks &ranks) {
  for (auto &device : ranks.devices)
    static_cast<DelayDevice &>(*device).startRun();
  for (const Status &status : ranks.run(0))
    if (!status.ok())
      stop(status);
}

double makespanOf(const LocalRanks &ranks) {
  using Clock = DelayDevice::Clock;
  Clock::time_point begin = Clock::time_point::max(), end;
  for (const auto &device : ranks.devices) {
    const auto &delay = static_cast<const DelayDevice &>(*device);
    begin = std::min(begin, delay.begin);
    end = std::max(end, delay.end);
  }
  return std::chrono::duration<double>(end - begin).count();
}

void runPlan(const Plan &plan, const std::map<char, double> &seconds) {
  LocalRanks ranks(plan, [] { return std::make_unique<DelayDevice>(); }, 60);
  for (const Status &status : ranks.created)
    if (!status.ok())
      stop(status);
  for (size_t r = 0; r < ranks.executors.size(); ++r)
    static_cast<DelayDevice &>(*ranks.devices[r]).delays =
        delaysOf(plan, programOf(plan, *ranks.executors[r]), seconds);
  runOnce(ranks);
  for (auto &executor : ranks.executors)
    executor->trace(1 << 18);
  runOnce(ranks);
  std::printf("makespan %.6f\n", makespanOf(ranks));
  for (const auto &executor : ranks.executors)
    std::printf("%u:%s\n", executor->stage(), orderOf(plan, *executor).c_str());
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2 && argc != 5)
    stop(Status::usage("expected PLAN [FORWARD BACKWARD WEIGHT]"));
  Result<Plan> plan = Plan::load(argv[1]);
  if (!plan.ok())
    stop(plan.status());
  std::map<char, double> seconds;
  for (int i = 2; i < argc; ++i)
    seconds["FBW"[i - 2]] = std::atof(argv[i]);
  runPlan(*plan, seconds);
  return 0;
}

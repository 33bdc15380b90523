#include "runtime/plan/Walk.h"
#include "runtime/plan/Structure.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <tuple>

namespace tandem {

static_assert(static_cast<int>(fb::Opcode::AllReduce) ==
                  static_cast<int>(CollectiveKind::AllReduce) &&
              static_cast<int>(fb::Opcode::Permute) ==
                  static_cast<int>(CollectiveKind::Permute) &&
              static_cast<int>(fb::Opcode::Recv) ==
                  static_cast<int>(CollectiveKind::Recv));

const char *Step::what() const {
  return op() == fb::Opcode::Launch ? plan_->kernel(instruction_->target())
                                    : name(op());
}

std::vector<int64_t> Step::numbers() const {
  std::vector<int64_t> result;
  for (uint32_t i = 0; i < instruction_->numbers_count(); ++i)
    result.push_back(
        plan_->table().numbers()->Get(instruction_->first_number() + i));
  return result;
}

uint32_t Step::workspace() const {
  return instruction_->workspaces() ? argument(inputs() + outputs()) : kNone;
}

std::optional<Collective> Step::collective() const {
  if (op() < fb::Opcode::AllReduce || op() > fb::Opcode::Recv)
    return std::nullopt;
  Collective result;
  result.kind = static_cast<CollectiveKind>(op());
  if (!isTransfer()) {
    result.axes = axes();
    result.dim = instruction_->dim();
  }
  result.fromDim = instruction_->from_dim();
  result.reduction = static_cast<ReductionKind>(instruction_->reduction());
  return result;
}

bool Step::crossesStages() const {
  if (isTransfer())
    return true;
  return op() >= fb::Opcode::AllReduce && op() <= fb::Opcode::Broadcast &&
         std::any_of(axes().begin(), axes().end(), [](const AxisRef &axis) {
           return axis.name == kStageAxis;
         });
}

namespace {

/// Whether an instruction runs only when its action is taken last.
bool isLast(const fb::Program &program, uint32_t index) {
  return program.last() && std::binary_search(program.last()->begin(),
                                              program.last()->end(), index);
}

} // namespace

uint32_t Step::scope() const {
  return pool() == kNone || isLast(*program_, index_) ? kNone : microbatch();
}

uint32_t Step::shownMicrobatch() const {
  return pool() != kNone && entry_->microbatches() > 1 ? microbatch() : kNone;
}

std::string Step::describe() const {
  return tandem::describe(*plan_, *entry_, stage_, index_, shownMicrobatch());
}

Status Step::refused(const std::string &why) const {
  Status status = Status::refused(describe() + ": " + why);
  status.instruction = instructionName(what(), index_, shownMicrobatch());
  status.location = location();
  return status;
}

Sequence::Sequence(const Plan &plan, const fb::Entry &entry, uint32_t stage)
    : plan(plan), entry(entry), program(*entry.programs()->Get(stage)),
      stage(stage) {
  findAlways();
  uint32_t end = 0;
  for (uint32_t run = 0; run < program.schedule()->size(); ++run) {
    uint32_t action = program.schedule()->Get(run)->action();
    ends.push_back(end += isWhole(run, action)
                              ? program.actions()->Get(action)->count()
                              : always[action]->size());
  }
  if (ends.empty())
    ends.push_back(program.instructions()->size());
}

void Sequence::findAlways() {
  always.resize(program.actions()->size());
  lastRuns.resize(program.actions()->size());
  for (uint32_t run = 0; run < program.schedule()->size(); ++run)
    lastRuns[program.schedule()->Get(run)->action()] = run;
  if (!program.last() || program.last()->size() == 0)
    return;
  for (uint32_t a = 0; a < always.size(); ++a) {
    const fb::Action &action = *program.actions()->Get(a);
    auto next = std::lower_bound(program.last()->begin(), program.last()->end(),
                                 action.first());
    if (next == program.last()->end() ||
        *next >= action.first() + action.count())
      continue;
    always[a].emplace();
    for (uint32_t i = action.first(); i < action.first() + action.count(); ++i)
      if (next != program.last()->end() && *next == i)
        ++next;
      else
        always[a]->push_back(i);
  }
}

uint32_t Sequence::indexOf(uint32_t run, uint32_t i) const {
  if (program.schedule()->size() == 0)
    return i;
  uint32_t action = program.schedule()->Get(run)->action();
  return isWhole(run, action) ? program.actions()->Get(action)->first() + i
                              : (*always[action])[i];
}

Step Sequence::step(uint32_t run, uint32_t index, uint32_t position) const {
  const fb::ScheduleItem *item =
      program.schedule()->size() ? program.schedule()->Get(run) : nullptr;
  return Step(plan, entry, stage, index, item, position);
}

Step Sequence::at(uint32_t position) const {
  auto it = std::upper_bound(ends.begin(), ends.end(), position);
  auto run = static_cast<uint32_t>(it - ends.begin());
  uint32_t begin = run ? ends[run - 1] : 0;
  return step(run, indexOf(run, position - begin), position);
}

uint32_t runsOf(const fb::Entry &entry, uint32_t stage, uint32_t instruction) {
  const fb::Program &program = *entry.programs()->Get(stage);
  if (isLast(program, instruction))
    return 1;
  for (const fb::Action *action : *program.actions())
    if (instruction - action->first() < action->count())
      return action->pool() == kNone ? 1 : entry.microbatches();
  return 1;
}

Status walkInstructions(const Plan &plan, const fb::Entry &entry,
                        uint32_t stage,
                        const std::function<Status(const Step &)> &visit) {
  uint32_t count = entry.programs()->Get(stage)->instructions()->size();
  for (uint32_t i = 0; i < count; ++i)
    TANDEM_TRY(visit(Step(plan, entry, stage, i)));
  return Status();
}

Status walkProgram(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                   const std::function<Status(const Step &)> &visit) {
  return Sequence(plan, entry, stage).each(visit);
}

std::vector<uint32_t> stagesOf(const Plan &plan, uint32_t stage,
                               const AxisList &axes) {
  AxisList along;
  for (const AxisRef &axis : axes)
    if (axis.name == kStageAxis)
      along.push_back(axis);
  std::vector<uint32_t> stages;
  for (int64_t rank : plan.mesh().groupRanks(plan.rankOfStage(stage), along))
    stages.push_back(plan.stageOf(rank));
  std::sort(stages.begin(), stages.end());
  return stages;
}

namespace {

/// One end of a lane: sends or receives, the other coordinate, the lane.
using LaneEnd = std::tuple<fb::Opcode, uint32_t, uint32_t>;

LaneEnd endOf(const Step &step) {
  return {step.op(), step.instruction().target(), step.instruction().dim()};
}

/// The end that a send or receive meets.
LaneEnd otherEndOf(const Step &step) {
  fb::Opcode op =
      step.op() == fb::Opcode::Send ? fb::Opcode::Recv : fb::Opcode::Send;
  return {op, step.stage(), step.instruction().dim()};
}

/// How far one program came. All numbers are positions in its sequence.
struct Progress {
  explicit Progress(Sequence sequence) : sequence(std::move(sequence)) {}

  Sequence sequence;
  /// Steps of each stream in order, and how many of them are done.
  std::vector<std::vector<uint32_t>> streams;
  std::vector<size_t> done;
  /// For each `wait` the `record` that it waits for.
  std::vector<uint32_t> recordOf;
  std::vector<bool> ran;
  /// The first step of each end of a lane.
  std::map<LaneEnd, uint32_t> lanes;

  /// The next step of a stream, kNone behind the last.
  uint32_t head(uint32_t stream) const {
    return stream < streams.size() && done[stream] < streams[stream].size()
               ? streams[stream][done[stream]]
               : kNone;
  }
};

class Together {
public:
  Together(const Plan &plan, const fb::Entry &entry,
           const std::function<Status(const std::vector<Step> &)> &visit)
      : plan(plan), visit(visit) {
    for (uint32_t stage = 0; stage < plan.stages(); ++stage)
      programs.emplace_back(Sequence(plan, entry, stage));
  }

  Status run() {
    for (uint32_t stage = 0; stage < programs.size(); ++stage) {
      TANDEM_TRY(prepare(programs[stage]));
      awake.push_back(stage);
    }
    while (!awake.empty()) {
      uint32_t stage = awake.front();
      awake.pop_front();
      TANDEM_TRY(advance(stage));
    }
    return checkEnded();
  }

private:
  Step step(uint32_t stage, uint32_t position) const {
    return programs[stage].sequence.at(position);
  }

  static Status prepare(Progress &progress) {
    std::map<uint32_t, uint32_t> latest; // record of an event
    progress.recordOf.assign(progress.sequence.size(), kNone);
    progress.ran.assign(progress.sequence.size(), false);
    TANDEM_TRY(progress.sequence.each([&](const Step &step) {
      const fb::Instruction &instruction = step.instruction();
      if (instruction.stream() >= progress.streams.size())
        progress.streams.resize(instruction.stream() + 1);
      progress.streams[instruction.stream()].push_back(step.position());
      if (instruction.op() == fb::Opcode::Record)
        latest[step.event()] = step.position();
      if (step.isTransfer())
        return joinLane(progress, step);
      if (instruction.op() != fb::Opcode::Wait)
        return Status();
      auto record = latest.find(step.event());
      if (record == latest.end())
        return step.refused("it waits for event " +
                            std::to_string(step.event()) +
                            ", which nothing before it records");
      progress.recordOf[step.position()] = record->second;
      return Status();
    }));
    progress.done.assign(progress.streams.size(), 0);
    return Status();
  }

  /// One end of a lane is on one stream: two would race for the order.
  static Status joinLane(Progress &progress, const Step &step) {
    auto [it, isNew] = progress.lanes.try_emplace(endOf(step), step.position());
    if (isNew)
      return Status();
    Step first = progress.sequence.at(it->second);
    if (first.instruction().stream() == step.instruction().stream())
      return Status();
    return step.refused("it is on stream " +
                        std::to_string(step.instruction().stream()) +
                        ", instruction " + std::to_string(first.index()) +
                        " of the same lane on stream " +
                        std::to_string(first.instruction().stream()));
  }

  /// Runs what a program can run alone or with partners that are ready.
  Status advance(uint32_t stage) {
    bool moved = true;
    while (moved) {
      moved = false;
      for (uint32_t s = 0; s < programs[stage].streams.size(); ++s)
        while (isReady(stage, s)) {
          TANDEM_ASSIGN(bool ran, tryHead(stage, s));
          if (!ran)
            break;
          moved = true;
        }
    }
    return Status();
  }

  /// Whether the device would have begun a stream's next instruction.
  bool isReady(uint32_t stage, uint32_t stream) const {
    const Progress &progress = programs[stage];
    uint32_t index = progress.head(stream);
    if (index == kNone)
      return false;
    if (stream != 0 && progress.head(0) < index)
      return false;
    uint32_t record = progress.recordOf[index];
    return record == kNone || progress.ran[record];
  }

  /// Runs a ready instruction; false where its partners are not ready.
  Result<bool> tryHead(uint32_t stage, uint32_t stream) {
    Step head = step(stage, programs[stage].head(stream));
    if (!head.crossesStages()) {
      TANDEM_TRY(finish({head}));
      return true;
    }
    TANDEM_ASSIGN(std::vector<uint32_t> partners, partnersOf(head));
    std::vector<Step> meeting;
    for (uint32_t partner : partners) {
      uint32_t theirs = partner == stage ? stream : streamOf(head, partner);
      if (theirs == kNone || !isReady(partner, theirs))
        return false;
      meeting.push_back(step(partner, programs[partner].head(theirs)));
    }
    if (!meets(head, meeting))
      return false;
    TANDEM_TRY(checkMatch(meeting));
    TANDEM_TRY(finish(meeting));
    for (uint32_t partner : partners)
      if (partner != stage)
        awake.push_back(partner);
    return true;
  }

  /// The stream on which `partner` comes to meet `head`, kNone for none.
  uint32_t streamOf(const Step &head, uint32_t partner) const {
    if (!head.isTransfer())
      return head.instruction().stream();
    const Progress &progress = programs[partner];
    auto lane = progress.lanes.find(otherEndOf(head));
    if (lane == progress.lanes.end())
      return kNone;
    return progress.sequence.at(lane->second).instruction().stream();
  }

  Result<std::vector<uint32_t>> partnersOf(const Step &head) const {
    if (!head.isTransfer())
      return stagesOf(plan, head.stage(), head.axes());
    uint32_t peer = head.instruction().target();
    if (peer == head.stage())
      return head.refused("its peer is its own stage");
    return head.op() == fb::Opcode::Send
               ? std::vector<uint32_t>{head.stage(), peer}
               : std::vector<uint32_t>{peer, head.stage()};
  }

  /// Whether what its partners do now is what `head` waits for.
  static bool meets(const Step &head, const std::vector<Step> &meeting) {
    if (head.isTransfer())
      return meeting[0].op() == fb::Opcode::Send && meeting[1].isTransfer() &&
             endOf(meeting[1]) == otherEndOf(meeting[0]) &&
             endOf(meeting[0]) == otherEndOf(meeting[1]);
    return std::all_of(meeting.begin(), meeting.end(), [&](const Step &other) {
      return other.op() == head.op() && other.axes() == head.axes();
    });
  }

  static Status checkMatch(const std::vector<Step> &meeting) {
    const Step &first = meeting[0];
    for (const Step &other : meeting) {
      const fb::Instruction &a = first.instruction(), &b = other.instruction();
      bool alike = a.reduction() == b.reduction() && a.dim() == b.dim() &&
                   a.from_dim() == b.from_dim();
      if (first.op() == fb::Opcode::Broadcast)
        alike = alike && a.target() == b.target();
      if (!alike)
        return other.refused("it does not match " + first.describe());
      bool hasArguments = first.inputs() + first.outputs() > 0 &&
                          other.inputs() + other.outputs() > 0;
      if (!hasArguments || first.movedType() != other.movedType())
        return other.refused("it moves " + typeText(other) + ", its partner " +
                             first.describe() + " " + typeText(first));
      if (first.microbatch() != other.microbatch())
        return other.refused("it meets " + first.describe() +
                             ", of another microbatch");
      TANDEM_TRY(checkNotCrossed(first, other));
    }
    return Status();
  }

  /// Partners need not come from one place; but where another instruction of
  /// this program would be the partner that does, the two are exchanged.
  static Status checkNotCrossed(const Step &first, const Step &other) {
    if (std::strcmp(first.location(), other.location()) == 0)
      return Status();
    const auto &instructions = *other.program().instructions();
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      Step rival(other.plan(), other.entry(), other.stage(), i);
      if (rival.op() == other.op() && isAlike(rival, other) &&
          std::strcmp(rival.location(), first.location()) == 0)
        return other.refused("it meets " + first.describe() +
                             ", which instruction " + std::to_string(i) +
                             " here is the partner of");
    }
    return Status();
  }

  static bool isAlike(const Step &a, const Step &b) {
    return (a.isTransfer()
                ? a.instruction().dim() == b.instruction().dim()
                : a.instruction().stream() == b.instruction().stream()) &&
           a.instruction().target() == b.instruction().target() &&
           a.axes() == b.axes() && a.inputs() + a.outputs() > 0 &&
           a.movedType() == b.movedType();
  }

  static std::string typeText(const Step &step) {
    return step.inputs() + step.outputs() == 0
               ? "nothing"
               : step.movedType().toString(step.plan().mesh());
  }

  Status finish(const std::vector<Step> &steps) {
    for (const Step &step : steps) {
      Progress &progress = programs[step.stage()];
      progress.ran[step.position()] = true;
      ++progress.done[step.instruction().stream()];
    }
    return visit(steps);
  }

  /// The step that a program cannot get past, kNone if it ended: what waits for
  /// partners before what merely stands behind something else.
  uint32_t firstWaiting(uint32_t stage) const {
    uint32_t ready = kNone, any = kNone;
    for (uint32_t s = 0; s < programs[stage].streams.size(); ++s) {
      any = std::min(any, programs[stage].head(s));
      if (isReady(stage, s))
        ready = std::min(ready, programs[stage].head(s));
    }
    return ready == kNone ? any : ready;
  }

  Status checkEnded() const {
    for (uint32_t stage = 0; stage < programs.size(); ++stage) {
      uint32_t index = firstWaiting(stage);
      if (index == kNone)
        continue;
      Step waiting = step(stage, index);
      std::string others;
      for (uint32_t other = 0; other < programs.size(); ++other)
        if (other != stage && (others.empty() || firstWaiting(other) != kNone))
          others = whatStageDoes(other, waiting, others);
      return waiting.refused("it never completes: " + request(waiting) +
                             others);
    }
    return Status();
  }

  static std::string request(const Step &step) {
    if (step.isTransfer())
      return std::string(name(step.op())) + " on stream " +
             std::to_string(step.instruction().stream()) + " with pp " +
             std::to_string(step.instruction().target()) +
             (step.instruction().dim()
                  ? ", lane " + std::to_string(step.instruction().dim())
                  : "");
    if (step.op() == fb::Opcode::Wait)
      return "event " + std::to_string(step.event());
    return std::string(name(step.op())) + " on stream " +
           std::to_string(step.instruction().stream());
  }

  /// What a stage that the waiting one needs does meanwhile.
  std::string whatStageDoes(uint32_t other, const Step &waiting,
                            const std::string &before) const {
    if (waiting.isTransfer() && waiting.instruction().target() != other)
      return before;
    uint32_t index = firstWaiting(other);
    std::string text = before + "; meanwhile pp " + std::to_string(other);
    if (index == kNone)
      return text + " has ended";
    Step step = this->step(other, index);
    return text + " is at instruction " + std::to_string(step.index()) + " (" +
           step.what() + "), " + request(step);
  }

  const Plan &plan;
  const std::function<Status(const std::vector<Step> &)> &visit;
  std::vector<Progress> programs;
  std::deque<uint32_t> awake;
};

} // namespace

Status
walkTogether(const Plan &plan, const fb::Entry &entry,
             const std::function<Status(const std::vector<Step> &)> &visit) {
  return Together(plan, entry, visit).run();
}

} // namespace tandem

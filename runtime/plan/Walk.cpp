#include "runtime/plan/Walk.h"
#include "runtime/plan/Structure.h"

#include <algorithm>
#include <cstring>
#include <deque>

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
  if (op() != fb::Opcode::Send && op() != fb::Opcode::Recv)
    result.axes = axes();
  result.dim = instruction_->dim();
  result.fromDim = instruction_->from_dim();
  result.reduction = static_cast<ReductionKind>(instruction_->reduction());
  return result;
}

bool Step::crossesStages() const {
  if (op() == fb::Opcode::Send || op() == fb::Opcode::Recv)
    return true;
  return op() >= fb::Opcode::AllReduce && op() <= fb::Opcode::Broadcast &&
         std::any_of(axes().begin(), axes().end(), [](const AxisRef &axis) {
           return axis.name == kStageAxis;
         });
}

std::string Step::describe() const {
  return tandem::describe(*plan_, *entry_, stage_, index_);
}

Status Step::refused(const std::string &why) const {
  Status status = Status::refused(describe() + ": " + why);
  status.instruction = std::string(what()) + " #" + std::to_string(index_);
  status.location = location();
  return status;
}

Status walkProgram(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                   const std::function<Status(const Step &)> &visit) {
  uint32_t count = entry.programs()->Get(stage)->instructions()->size();
  for (uint32_t i = 0; i < count; ++i)
    TANDEM_TRY(visit(Step(plan, entry, stage, i)));
  return Status();
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

/// How far one program came.
struct Progress {
  /// Instructions of each stream in order, and how many of them are done.
  std::vector<std::vector<uint32_t>> streams;
  std::vector<size_t> done;
  /// For each `wait` the `record` that it waits for.
  std::vector<uint32_t> recordOf;
  std::vector<bool> ran;

  /// The next instruction of a stream, kNone behind the last.
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
      : plan(plan), entry(entry), visit(visit), programs(plan.stages()) {}

  Status run() {
    for (uint32_t stage = 0; stage < programs.size(); ++stage) {
      TANDEM_TRY(prepare(stage));
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
  Step step(uint32_t stage, uint32_t index) const {
    return Step(plan, entry, stage, index);
  }

  Status prepare(uint32_t stage) {
    Progress &progress = programs[stage];
    const auto &instructions = *entry.programs()->Get(stage)->instructions();
    std::vector<uint32_t> latest(instructions.size(), kNone);
    progress.recordOf.assign(instructions.size(), kNone);
    progress.ran.assign(instructions.size(), false);
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      const fb::Instruction &instruction = *instructions.Get(i);
      if (instruction.stream() >= progress.streams.size())
        progress.streams.resize(instruction.stream() + 1);
      progress.streams[instruction.stream()].push_back(i);
      if (instruction.op() == fb::Opcode::Record)
        latest[instruction.target()] = i;
      if (instruction.op() == fb::Opcode::Wait) {
        progress.recordOf[i] = latest[instruction.target()];
        if (progress.recordOf[i] == kNone)
          return step(stage, i).refused("it waits for event " +
                                        std::to_string(instruction.target()) +
                                        ", which nothing before it records");
      }
    }
    progress.done.assign(progress.streams.size(), 0);
    return Status();
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
      if (!isReady(partner, stream))
        return false;
      meeting.push_back(step(partner, programs[partner].head(stream)));
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

  Result<std::vector<uint32_t>> partnersOf(const Step &head) const {
    if (head.op() != fb::Opcode::Send && head.op() != fb::Opcode::Recv)
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
    if (head.op() == fb::Opcode::Send || head.op() == fb::Opcode::Recv)
      return meeting[0].op() == fb::Opcode::Send &&
             meeting[1].op() == fb::Opcode::Recv &&
             meeting[0].instruction().target() == meeting[1].stage() &&
             meeting[1].instruction().target() == meeting[0].stage();
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
    return a.instruction().stream() == b.instruction().stream() &&
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
      progress.ran[step.index()] = true;
      ++progress.done[step.instruction().stream()];
    }
    return visit(steps);
  }

  /// What a program cannot get past, kNone if it ended: what waits for
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
    if (step.op() == fb::Opcode::Send || step.op() == fb::Opcode::Recv)
      return std::string(name(step.op())) + " on stream " +
             std::to_string(step.instruction().stream()) + " with pp " +
             std::to_string(step.instruction().target());
    if (step.op() == fb::Opcode::Wait)
      return "event " + std::to_string(step.instruction().target());
    return std::string(name(step.op())) + " on stream " +
           std::to_string(step.instruction().stream());
  }

  /// What a stage that the waiting one needs does meanwhile.
  std::string whatStageDoes(uint32_t other, const Step &waiting,
                            const std::string &before) const {
    bool isPeer =
        waiting.op() == fb::Opcode::Send || waiting.op() == fb::Opcode::Recv;
    if (isPeer && waiting.instruction().target() != other)
      return before;
    uint32_t index = firstWaiting(other);
    std::string text = before + "; meanwhile pp " + std::to_string(other);
    if (index == kNone)
      return text + " has ended";
    Step step = this->step(other, index);
    return text + " is at instruction " + std::to_string(index) + " (" +
           step.what() + "), " + request(step);
  }

  const Plan &plan;
  const fb::Entry &entry;
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

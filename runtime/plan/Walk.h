//===- Walk.h - Steps through a plan ----------------------------*- C++ -*-===//
//
// What it is: the one way to go through a plan's programs. A Step is an
// instruction with what its indices stand for; verify, inspect and the
// simulator are visitors.
//
//   walkProgram(plan, entry, stage, [&](const Step &step) -> Status {
//     if (std::optional<Collective> c = step.collective()) ...
//   });
//
// One representative for each `pp` coordinate is enough: the ranks of a
// program run the same instructions on the same capacities, so a collective
// among them is one event. What joins programs is met in `walkTogether`,
// which goes through all of them at once, in an order that could happen:
//
//   pp 0:  embedding   send ------.        all_reduce over {"pp"}
//   pp 1:              recv <-----'  norm  all_reduce over {"pp"}
//
//   visits  {0 embedding} {0 send, 1 recv} {1 norm} {0 and 1 all_reduce}
//
// or says which instructions wait for each other. The rules of waiting:
//   - a stream runs its instructions in order; `wait` holds it until the
//     latest `record` of that event before it in the program
//   - stream 0 holds back what stands behind it in the program, on any
//     stream, as a device does that runs it on the rank's own thread
//   - `send` completes when it is received: no buffer is assumed
//   - partners in a collective meet on equal streams, in order; sends and
//     receives of one lane between two coordinates in order, each end on one
//     stream, which need not be the same
//
// A program with a schedule is gone through as the schedule says: the same
// instruction is met once for each microbatch, with another slot. Nothing is
// unrolled but while it is looked at.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_WALK_H
#define TANDEM_RUNTIME_PLAN_WALK_H

#include "runtime/mesh/Collectives.h"
#include "runtime/plan/Plan.h"

#include <functional>

namespace tandem {

/// One instruction of one program. Cheap to copy; the plan outlives it.
class Step {
public:
  /// `item`: of the program's schedule, null where it has none or each
  /// instruction is looked at once; `position`: how many steps come before.
  Step(const Plan &plan, const fb::Entry &entry, uint32_t stage, uint32_t index,
       const fb::ScheduleItem *item, uint32_t position)
      : plan_(&plan), entry_(&entry), program_(entry.programs()->Get(stage)),
        instruction_(program_->instructions()->Get(index)), item_(item),
        stage_(stage), index_(index), position_(position) {}
  Step(const Plan &plan, const fb::Entry &entry, uint32_t stage, uint32_t index)
      : Step(plan, entry, stage, index, nullptr, index) {}

  const Plan &plan() const { return *plan_; }
  const fb::Entry &entry() const { return *entry_; }
  const fb::Program &program() const { return *program_; }
  const fb::Instruction &instruction() const { return *instruction_; }
  uint32_t stage() const { return stage_; }
  uint32_t index() const { return index_; }
  uint32_t position() const { return position_; }
  uint32_t microbatch() const { return item_ ? item_->microbatch() : 0; }
  uint32_t slot() const { return item_ ? item_->slot() : 0; }
  /// kNone where the program has no actions.
  uint32_t action() const { return item_ ? item_->action() : kNone; }
  /// The pool of its action, kNone where it runs once.
  uint32_t pool() const {
    return item_ ? program_->actions()->Get(item_->action())->pool() : kNone;
  }
  /// The microbatch that it belongs to, kNone where it is for all of them: its
  /// action runs once, or it runs only with the last.
  uint32_t scope() const;
  fb::Opcode op() const { return instruction_->op(); }
  /// The kernel's name, or the operation's (`all_reduce`).
  const char *what() const;
  const AxisList &axes() const { return plan_->axisList(instruction_->axes()); }
  const ShardingRule &rule() const { return plan_->rule(instruction_->rule()); }
  /// Empty where the plan says none.
  const char *cause() const { return plan_->string(instruction_->cause()); }
  const char *location() const {
    return plan_->string(instruction_->location());
  }
  std::vector<int64_t> numbers() const;

  uint32_t inputs() const { return instruction_->inputs(); }
  uint32_t outputs() const { return instruction_->outputs(); }
  /// Indices of values in the program.
  uint32_t input(uint32_t i) const { return argument(i); }
  uint32_t output(uint32_t i) const { return argument(inputs() + i); }
  /// kNone where there is none.
  uint32_t workspace() const;
  const fb::Value &value(uint32_t index) const {
    return *program_->values()->Get(index);
  }
  const TensorType &typeOf(uint32_t value) const {
    return plan_->type(this->value(value).type());
  }
  const TensorType &inputType(uint32_t i) const { return typeOf(input(i)); }
  const TensorType &outputType(uint32_t i) const { return typeOf(output(i)); }

  /// What it is as a collective; nothing for launch, record and wait.
  std::optional<Collective> collective() const;
  /// The type whose bytes move: the operand's, the result's where there is no
  /// operand. Of collectives with arguments.
  const TensorType &movedType() const {
    return inputs() ? inputType(0) : outputType(0);
  }
  /// The event of a record or wait, of its slot where it says so.
  uint32_t event() const {
    return instruction_->target() + (instruction_->dim() ? slot() : 0);
  }
  bool isTransfer() const {
    return op() == fb::Opcode::Send || op() == fb::Opcode::Recv;
  }
  /// Whether ranks of other stages take part.
  bool crossesStages() const;
  /// The microbatch for messages: kNone where there is only one.
  uint32_t shownMicrobatch() const;
  /// `entry 'next', pp 1, instruction 12 (all_reduce) at layers.3.mlp`
  std::string describe() const;
  /// A failure here, with instruction and location filled in.
  Status refused(const std::string &why) const;

private:
  uint32_t argument(uint32_t position) const {
    return program_->args()->Get(instruction_->first_arg() + position);
  }

  const Plan *plan_;
  const fb::Entry *entry_;
  const fb::Program *program_;
  const fb::Instruction *instruction_;
  const fb::ScheduleItem *item_;
  uint32_t stage_, index_, position_;
};

/// The steps of a program in the order in which they are issued.
class Sequence {
public:
  Sequence(const Plan &plan, const fb::Entry &entry, uint32_t stage);

  uint32_t size() const { return ends.empty() ? 0 : ends.back(); }
  Step at(uint32_t position) const;
  /// Visits all steps in order, until one fails.
  template <typename Visit> Status each(const Visit &visit) const {
    uint32_t position = 0;
    for (uint32_t run = 0; run < ends.size(); ++run)
      for (uint32_t i = 0; position < ends[run]; ++i)
        TANDEM_TRY(visit(step(run, indexOf(run, i), position++)));
    return Status();
  }

private:
  /// Finds for each action what runs whenever the schedule takes it.
  void findAlways();
  /// Whether an item of the schedule runs all of its action.
  bool isWhole(uint32_t run, uint32_t action) const {
    return !always[action] || run == lastRuns[action];
  }
  /// The `i`-th instruction that the `run`-th item of the schedule runs.
  uint32_t indexOf(uint32_t run, uint32_t i) const;
  Step step(uint32_t run, uint32_t index, uint32_t position) const;

  const Plan &plan;
  const fb::Entry &entry;
  const fb::Program &program;
  uint32_t stage;
  /// By item of the schedule: the position behind its last step.
  std::vector<uint32_t> ends;
  /// By action, where not all of its instructions run every time: those that
  /// do.
  std::vector<std::optional<std::vector<uint32_t>>> always;
  /// By action: the last item of the schedule that takes it.
  std::vector<uint32_t> lastRuns;
};

/// How often an instruction runs: once, or once for each microbatch.
uint32_t runsOf(const fb::Entry &entry, uint32_t stage, uint32_t instruction);

/// Visits each instruction of a program once, in order, until one fails.
Status walkInstructions(const Plan &plan, const fb::Entry &entry,
                        uint32_t stage,
                        const std::function<Status(const Step &)> &visit);

/// Visits the steps of one program in the order of its schedule, until one
/// fails.
Status walkProgram(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                   const std::function<Status(const Step &)> &visit);

/// The stages whose ranks meet in a collective over `axes` that a rank of
/// `stage` joins, ascending.
std::vector<uint32_t> stagesOf(const Plan &plan, uint32_t stage,
                               const AxisList &axes);

/// Visits all programs of an entry at once, in the order of this file's
/// comment: single steps, a send with its recv (in this order), or the steps
/// of a collective across stages (by stage). Fails where programs cannot go
/// on, or where what meets does not match.
Status
walkTogether(const Plan &plan, const fb::Entry &entry,
             const std::function<Status(const std::vector<Step> &)> &visit);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_WALK_H

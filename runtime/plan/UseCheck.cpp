#include "runtime/plan/UseCheck.h"
#include "runtime/plan/Walk.h"

#include <algorithm>

namespace tandem {
namespace {

/// What one stage uses of what all entries share, and of one entry's values.
class UseCheck {
public:
  UseCheck(const Plan &plan, uint32_t stage)
      : plan(plan), stage(stage),
        parameters(plan.table().parameters()->size(), false),
        states(plan.table().states()->size(), false),
        isWritten(plan.table().parameters()->size(), false) {}

  Status run() {
    for (const fb::Entry *entry : *plan.table().entries()) {
      TANDEM_TRY(collect(*entry));
      TANDEM_TRY(walkInstructions(plan, *entry, stage, [&](const Step &step) {
        return checkResults(step);
      }));
    }
    TANDEM_TRY(checkHeld(*plan.table().parameters(), parameters, "parameter"));
    TANDEM_TRY(checkTrained());
    return checkHeld(*plan.table().states(), states, "state");
  }

private:
  Status collect(const fb::Entry &entry) {
    const fb::Program &program = *entry.programs()->Get(stage);
    isRead.assign(program.values()->size(), false);
    TANDEM_TRY(walkInstructions(plan, entry, stage, [&](const Step &step) {
      for (uint32_t i = 0; i < step.inputs(); ++i)
        if (!isUpdated(step, step.input(i)))
          read(program, step.input(i));
      for (uint32_t i = 0; i < step.outputs(); ++i)
        write(step.value(step.output(i)));
      return Status();
    }));
    for (const fb::Port *port : *entry.outputs())
      if (port->values()->Get(stage) != kNone)
        read(program, port->values()->Get(stage));
    return Status();
  }

  /// A value that is only carried on has no reader yet.
  static bool isUpdated(const Step &step, uint32_t v) {
    for (uint32_t i = 0; i < step.outputs(); ++i)
      if (step.output(i) == v)
        return true;
    return false;
  }

  void read(const fb::Program &program, uint32_t v) {
    const fb::Value &value = *program.values()->Get(v);
    isRead[v] = true;
    if (value.region() == fb::Region::Microbatch)
      isRead[value.index()] = true;
    use(value);
  }

  void write(const fb::Value &value) {
    use(value);
    if (value.region() == fb::Region::Parameter)
      isWritten[value.index()] = true;
  }

  void use(const fb::Value &value) {
    if (value.region() == fb::Region::Parameter)
      parameters[value.index()] = true;
    if (value.region() == fb::Region::State)
      states[value.index()] = true;
  }

  static bool livesOn(const fb::Value &value) {
    return value.region() == fb::Region::Parameter ||
           value.region() == fb::Region::State;
  }

  /// One result of several is enough; a state is for the next call, and what
  /// stages do together may be for the others.
  Status checkResults(const Step &step) const {
    if (stagesOf(plan, stage, step.axes()).size() > 1)
      return Status();
    for (uint32_t i = 0; i < step.outputs(); ++i)
      if (isRead[step.output(i)] || livesOn(step.value(step.output(i))))
        return Status();
    if (step.outputs() == 0)
      return Status();
    return step.refused("nothing reads what it writes, value " +
                        std::to_string(step.output(0)));
  }

  template <typename Tables>
  Status checkHeld(const Tables &tables, const std::vector<bool> &used,
                   const char *kind) const {
    for (uint32_t i = 0; i < tables.size(); ++i) {
      const auto &stages = *tables.Get(i)->stages();
      if (!used[i] && std::count(stages.begin(), stages.end(), stage))
        return Status::refused(std::string(kind) + " '" +
                               tables.Get(i)->name()->str() +
                               "' is held on pp " + std::to_string(stage) +
                               ", where no instruction uses it");
    }
    return Status();
  }

  Status checkTrained() const {
    const auto &table = *plan.table().parameters();
    for (uint32_t i = 0; i < table.size(); ++i)
      if (table.Get(i)->trained() && parameters[i] && !isWritten[i])
        return Status::refused("parameter '" + table.Get(i)->name()->str() +
                               "' is trained, but nothing on pp " +
                               std::to_string(stage) + " writes it");
    return Status();
  }

  const Plan &plan;
  uint32_t stage;
  std::vector<bool> parameters, states;
  std::vector<bool> isWritten; ///< By parameter.
  std::vector<bool> isRead;    ///< By value of the present entry.
};

} // namespace

Status checkUses(const Plan &plan) {
  for (uint32_t stage = 0; stage < plan.stages(); ++stage)
    TANDEM_TRY(UseCheck(plan, stage).run());
  return Status();
}

} // namespace tandem

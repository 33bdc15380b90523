#include "runtime/plan/LivePeak.h"
#include "runtime/plan/Inspect.h"
#include "runtime/plan/Places.h"
#include "runtime/plan/Structure.h"

#include <algorithm>
#include <map>

namespace tandem {
namespace {

/// What lies in some bytes of the arena from one step to another.
struct Life {
  uint64_t bytes = 0;
  std::string input;            ///< Its port's name where it is one.
  uint32_t writer = kNone;      ///< Instructions; kNone: none.
  uint32_t reader = kNone;      ///< The last.
  uint32_t first = 0, last = 0; ///< Steps, both included.
  bool isOutput = false;
};

class Lives {
public:
  Lives(const Plan &plan, const fb::Entry &entry, uint32_t stage)
      : plan(plan), entry(entry), stage(stage),
        program(*entry.programs()->Get(stage)), sequence(plan, entry, stage) {}

  LivePeak peak() {
    takeInputs();
    for (uint32_t at = 0; at < sequence.size(); ++at)
      visit(sequence.at(at));
    keepOutputs();
    LivePeak result;
    uint32_t step = fullest(result.arenaBytes);
    result.at = sequence.size() ? sequence.at(step).describe()
                                : "entry '" + entry.name()->str() + "'";
    list(step, result.tensors);
    return result;
  }

private:
  void takeInputs() {
    for (const fb::Port *port : *entry.inputs())
      if (uint32_t v = port->values()->Get(stage); v != kNone) {
        begin(placeOf(program, *program.values()->Get(v), 0, 0), kNone, 0);
        lives.back().input = port->name()->str();
      }
  }

  void keepOutputs() {
    for (const fb::Port *port : *entry.outputs())
      if (uint32_t v = port->values()->Get(stage); v != kNone)
        if (Life *life =
                lifeIn(placeOf(program, *program.values()->Get(v), 0, 0))) {
          life->isOutput = true;
          life->last = std::max(sequence.size(), 1u) - 1;
        }
  }

  void visit(const Step &step) {
    const fb::Instruction &it = step.instruction();
    for (uint32_t a = 0; a < step.inputs(); ++a)
      if (Life *life = lifeIn(placeOfArgument(step, a))) {
        life->last = step.position();
        life->reader = step.index();
      }
    uint32_t written = uint32_t(it.outputs()) + it.workspaces();
    for (uint32_t a = 0; a < written; ++a)
      write(step, step.inputs() + a);
  }

  Place placeOfArgument(const Step &step, uint32_t argument) const {
    const fb::Value &value =
        plan.argument(program, step.instruction(), argument);
    // A slice keeps its whole alive.
    return value.region() == fb::Region::Microbatch
               ? placeOf(program, *program.values()->Get(value.index()), 0, 0)
               : placeOf(program, value, step.microbatch(), step.slot());
  }

  uint32_t valueOf(const Step &step, uint32_t argument) const {
    return program.args()->Get(step.instruction().first_arg() + argument);
  }

  void write(const Step &step, uint32_t argument) {
    Place place = placeOfArgument(step, argument);
    Life *before = lifeIn(place);
    bool inPlace = false;
    uint32_t v = valueOf(step, argument);
    for (uint32_t a = 0; a < step.inputs(); ++a) {
      if (before && step.input(a) == v)
        return; // What several steps add to.
      inPlace |= placeOfArgument(step, a) == place;
    }
    if (before && inPlace) // Its bytes go on living under another name.
      before->last = std::max(before->first, step.position() - 1);
    begin(place, step.index(), step.position());
  }

  void begin(const Place &place, uint32_t writer, uint32_t position) {
    if (place.region != fb::Region::Arena)
      return;
    current[place.begin] = lives.size();
    lives.push_back(
        {place.bytes, "", writer, kNone, position, position, false});
  }

  Life *lifeIn(const Place &place) {
    if (place.region != fb::Region::Arena)
      return nullptr;
    auto found = current.find(place.begin);
    return found == current.end() ? nullptr : &lives[found->second];
  }

  /// The step with the most bytes, and those.
  uint32_t fullest(uint64_t &most) const {
    std::vector<int64_t> change(sequence.size() + 1, 0);
    for (const Life &life : lives) {
      change[life.first] += static_cast<int64_t>(life.bytes);
      if (life.last + 1 < change.size())
        change[life.last + 1] -= static_cast<int64_t>(life.bytes);
    }
    uint32_t step = 0;
    int64_t sum = 0;
    most = 0;
    for (uint32_t at = 0; at < change.size(); ++at)
      if ((sum += change[at]) > static_cast<int64_t>(most)) {
        most = static_cast<uint64_t>(sum);
        step = at;
      }
    return step;
  }

  /// One row for each instruction, whatever microbatches it ran for.
  void list(uint32_t step, std::vector<LiveTensor> &tensors) const {
    std::map<std::pair<uint32_t, std::string>, LiveTensor> rows;
    for (const Life &life : lives) {
      if (life.first > step || life.last < step || life.bytes == 0)
        continue;
      auto [it, isNew] = rows.try_emplace({life.writer, life.input});
      LiveTensor &row = it->second;
      row.bytes += life.bytes;
      row.count += isNew ? 0 : 1;
      row.name =
          life.writer == kNone ? "input '" + life.input + "'" : nameOf(life);
      row.why = life.isOutput          ? "an output"
                : life.reader != kNone ? "for " + nameOf(life.reader)
                                       : "";
    }
    for (auto &[key, row] : rows)
      tensors.push_back(std::move(row));
  }

  std::string nameOf(const Life &life) const { return nameOf(life.writer); }
  std::string nameOf(uint32_t instruction) const {
    Step step(plan, entry, stage, instruction);
    std::string text = instructionName(step.what(), instruction, kNone);
    return *step.location() ? text + " at " + step.location() : text;
  }

  const Plan &plan;
  const fb::Entry &entry;
  uint32_t stage;
  const fb::Program &program;
  Sequence sequence;
  std::vector<Life> lives;
  std::map<uint64_t, size_t> current; ///< By first byte: the last life there.
};

/// Parameters or states that `stage` holds.
template <typename Tables>
void addKept(const Plan &plan, uint32_t stage, const Tables &tables,
             const char *what, std::vector<LiveTensor> &tensors) {
  for (const auto *table : tables) {
    const auto *stages = table->stages();
    if (std::find(stages->begin(), stages->end(), stage) == stages->end())
      continue;
    LiveTensor tensor;
    tensor.name = std::string(what) + " '" + table->name()->str() + "'";
    tensor.bytes = static_cast<uint64_t>(plan.type(table->type()).localBytes());
    tensors.push_back(std::move(tensor));
  }
}

} // namespace

LivePeak livePeak(const Plan &plan, uint32_t stage) {
  LivePeak most;
  for (const fb::Entry *entry : *plan.table().entries()) {
    LivePeak peak = Lives(plan, *entry, stage).peak();
    if (most.at.empty() || peak.arenaBytes > most.arenaBytes)
      most = std::move(peak);
  }
  const fb::Plan &table = plan.table();
  addKept(plan, stage, *table.parameters(), "parameter", most.tensors);
  addKept(plan, stage, *table.states(), "state", most.tensors);
  std::stable_sort(most.tensors.begin(), most.tensors.end(),
                   [](const LiveTensor &a, const LiveTensor &b) {
                     return a.bytes > b.bytes;
                   });
  return most;
}

std::string LivePeak::largest(size_t most) const {
  std::string text;
  uint64_t others = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const LiveTensor &tensor = tensors[i];
    if (i >= most) {
      others += tensor.bytes;
      continue;
    }
    text += (text.empty() ? "" : ", ") + bytesText(tensor.bytes) + " " +
            tensor.name;
    if (tensor.count > 1)
      text += " of " + std::to_string(tensor.count) + " microbatches";
    if (!tensor.why.empty())
      text += " (" + tensor.why + ")";
  }
  if (tensors.size() > most)
    text += (text.empty() ? "" : ", and ") + bytesText(others) + " in " +
            std::to_string(tensors.size() - most) + " others";
  return text;
}

} // namespace tandem

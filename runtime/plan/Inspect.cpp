#include "runtime/plan/Inspect.h"
#include "runtime/plan/MemoryLimit.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

namespace tandem {
namespace {

bool isRow(fb::Opcode op) {
  return op >= fb::Opcode::AllReduce && op <= fb::Opcode::Send &&
         op != fb::Opcode::AllSlice;
}

std::string format(const char *pattern, ...)
    __attribute__((format(printf, 1, 2)));
std::string format(const char *pattern, ...) {
  char text[256];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

std::string padded(std::string text, size_t width) {
  if (text.size() < width)
    text.resize(width, ' ');
  return text;
}

std::string axesText(const AxisList &axes, const Mesh &mesh) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : ",") + axisText(axis, mesh);
  return text;
}

std::string flopsText(uint64_t flops) {
  static const char *const units[] = {"", " K", " M", " G", " T", " P", " E"};
  double value = static_cast<double>(flops);
  size_t unit = 0;
  for (; value >= 1000 && unit < 6; ++unit)
    value /= 1000;
  return unit ? format("%.2f%s", value, units[unit]) : std::to_string(flops);
}

std::string portText(const Plan &plan, const fb::Port &port) {
  const TensorType &type = plan.type(port.type());
  std::string text =
      port.name()->str() + " " + std::string(name(type.dtype)) + "[";
  for (size_t d = 0; d < type.shape.size(); ++d)
    text += (d ? "x" : "") + std::to_string(type.shape[d]);
  text += "]";
  if (!type.sharding.isReplicated())
    text += " " + toString(type.sharding, plan.mesh());
  return text;
}

using Ports = flatbuffers::Vector<flatbuffers::Offset<fb::Port>>;

std::string portsText(const Plan &plan, const Ports &ports) {
  std::string text;
  for (const fb::Port *port : ports)
    text += (text.empty() ? "" : "\n           ") + portText(plan, *port);
  return text.empty() ? "none" : text;
}

std::string headText(const Plan &plan) {
  const fb::Plan &table = plan.table();
  std::string text = "plan of " + table.model()->str() + ", by " +
                     table.producer()->str() + ", schema " +
                     std::to_string(table.schema()) + "\n";
  std::string mesh = plan.mesh().toString();
  text += format("mesh       %s: %" PRId64 " rank%s, %u stage%s\n",
                 mesh.empty() ? "none" : mesh.c_str(), plan.numRanks(),
                 plan.numRanks() == 1 ? "" : "s", plan.stages(),
                 plan.stages() == 1 ? "" : "s");
  for (const fb::Source *source : *table.sources())
    text += "weights    " + source->path()->str() + " (" +
            bytesText(source->size()) + ")\n";
  text += format("holds      %u parameters, %u states\n",
                 table.parameters()->size(), table.states()->size());
  return text;
}

/// Of the entry that has most.
uint64_t slotBytesOf(const Plan &plan, uint32_t stage) {
  uint64_t most = 0;
  for (const fb::Entry *entry : *plan.table().entries())
    most = std::max(most, slotBytes(*entry->programs()->Get(stage)));
  return most;
}

bool isTrained(const Plan &plan) {
  for (const fb::Parameter *parameter : *plan.table().parameters())
    if (parameter->trained())
      return true;
  return false;
}

/// What microbatches in flight keep for their backward passes. One alone has
/// no slots: its activations make room for gradients as they die, and are
/// counted with them.
uint64_t activationBytes(const Plan &plan, uint32_t stage) {
  uint64_t slots = slotBytesOf(plan, stage);
  return slots ? slots : plan.table().memory()->Get(stage)->arena_peak();
}

std::string bytesCell(uint64_t bytes) {
  return format(" %11s", bytesText(bytes).c_str());
}

std::string memoryText(const Plan &plan) {
  bool trains = isTrained(plan);
  std::string text = "\nmemory of the fullest rank\n         parameters";
  text += trains ? "   optimizer activations" : "       state";
  text += "       arena  (at least)        peak\n";
  for (uint32_t stage = 0; stage < plan.stages(); ++stage) {
    const fb::Memory &memory = *plan.table().memory()->Get(stage);
    text += format("  pp %-3u", stage) + bytesCell(memory.parameters()) +
            bytesCell(memory.state());
    if (trains)
      text += bytesCell(activationBytes(plan, stage));
    text += bytesCell(memory.arena_peak()) +
            bytesCell(memory.arena_lower_bound()) +
            bytesCell(arenaBytes(plan, stage)) + "\n";
  }
  return text;
}

std::string tableText(const Plan &plan, const fb::Entry &entry) {
  std::vector<CollectiveRow> rows = collectivesOf(plan, entry);
  if (rows.empty())
    return "  no collectives\n";
  size_t width = 4;
  for (const CollectiveRow &row : rows)
    width = std::max(width, axesText(row.axes, plan.mesh()).size());
  std::string text = "  collectives      " + padded("axes", width) +
                     "  pp  count       bytes     on wire  cause\n";
  for (const CollectiveRow &row : rows) {
    text += "    " + padded(name(row.kind), 15) +
            padded(axesText(row.axes, plan.mesh()), width);
    text += format("%4u %6" PRId64 " %11s %11s  ", row.stage, row.count,
                   bytesText(row.traffic.bytes).c_str(),
                   bytesText(row.traffic.wireBytes).c_str());
    text += row.cause;
    if (!row.location.empty())
      text += (row.cause.empty() ? "at " : ", at ") + row.location;
    text += "\n";
  }
  return text;
}

std::string stepText(const Step &step) {
  std::string text = format("    #%-4u ", step.index());
  std::string call = step.what();
  call += "(";
  for (uint32_t i = 0; i < step.inputs(); ++i)
    call += (i ? ", %" : "%") + std::to_string(step.input(i));
  call += ")";
  if (step.outputs())
    call += " ->";
  for (uint32_t i = 0; i < step.outputs(); ++i)
    call += (i ? ", %" : " %") + std::to_string(step.output(i));
  text += padded(call, 30);
  std::optional<Collective> collective = step.collective();
  if (collective && !collective->axes.empty())
    text += " over " + axesText(collective->axes, step.plan().mesh());
  if (step.isTransfer())
    text += " pp " + std::to_string(step.instruction().target());
  if (step.isTransfer() && step.instruction().dim())
    text += " lane " + std::to_string(step.instruction().dim());
  if (step.op() == fb::Opcode::Record || step.op() == fb::Opcode::Wait)
    text += " event " + std::to_string(step.instruction().target()) +
            (step.instruction().dim() ? " of the slot" : "");
  if (step.scope() != step.microbatch() && step.pool() != kNone)
    text += " with the last microbatch";
  if (step.instruction().stream())
    text += " stream " + std::to_string(step.instruction().stream());
  for (uint32_t i = 0; i < step.outputs(); ++i)
    text += (i ? ", " : " ") + step.outputType(i).toString(step.plan().mesh());
  if (*step.location())
    text += std::string("  at ") + step.location();
  return text + "\n";
}

std::string valueText(const Plan &plan, const fb::Value &value) {
  if (value.region() == fb::Region::Arena)
    return format("arena %" PRIu64 "+%" PRIu64, value.offset(), value.bytes());
  if (value.region() == fb::Region::Slot)
    return format("slot of %u %" PRIu64 "+%" PRIu64, value.index(),
                  value.offset(), value.bytes());
  if (value.region() == fb::Region::Microbatch)
    return format("slice of %%%u", value.index());
  if (value.region() == fb::Region::State)
    return "state " + plan.table().states()->Get(value.index())->name()->str();
  return "parameter " +
         plan.table().parameters()->Get(value.index())->name()->str();
}

std::string programText(const Plan &plan, const fb::Entry &entry,
                        uint32_t stage) {
  const fb::Program &program = *entry.programs()->Get(stage);
  std::string text = format("  pp %u\n", stage);
  for (uint32_t v = 0; v < program.values()->size(); ++v) {
    const fb::Value &value = *program.values()->Get(v);
    text += "    %" + padded(std::to_string(v), 5) +
            padded(valueText(plan, value), 30) + " " +
            plan.type(value.type()).toString(plan.mesh()) + "\n";
  }
  for (uint32_t i = 0, a = 0; i < program.instructions()->size(); ++i) {
    for (; a < program.actions()->size() &&
           program.actions()->Get(a)->first() <= i;
         ++a)
      text += std::string("   ") +
              plan.string(program.actions()->Get(a)->name()) + "\n";
    text += stepText(Step(plan, entry, stage, i));
  }
  return text;
}

/// `2 slots of 1.5 MiB`, for each pool.
std::string poolsText(const fb::Program &program) {
  std::string text;
  for (const fb::SlotPool *pool : *program.pools())
    text +=
        (text.empty() ? "" : ", ") +
        format("%u slot%s of ", pool->count(), pool->count() == 1 ? "" : "s") +
        bytesText(pool->bytes());
  return text;
}

/// One line for each coordinate that has a schedule.
std::string schedulesText(const Plan &plan, const fb::Entry &entry) {
  std::string text;
  for (uint32_t stage = 0; stage < plan.stages(); ++stage) {
    const fb::Program &program = *entry.programs()->Get(stage);
    if (program.schedule()->size())
      text += format("    pp %-3u ", stage) + scheduleText(plan, program) +
              "; " + poolsText(program) + "\n";
  }
  return text.empty()
             ? ""
             : format("  schedule of %u microbatch%s\n", entry.microbatches(),
                      entry.microbatches() == 1 ? "" : "es") +
                   text;
}

std::string percent(double share) { return format("%.2f %%", 100 * share); }

std::string bubbleText(const BubbleFigures &figures) {
  std::string text = "  bubble   " + percent(figures.counted) + " counted";
  if (figures.closedForm)
    text += ", " + percent(*figures.closedForm) + " by the closed form of " +
            figures.schedule + ", " + figures.formula;
  return text + "\n";
}

/// Bytes by axes, and of each class of links together.
std::string linksText(const Plan &plan, const fb::Entry &entry,
                      int64_t nodeRanks) {
  std::vector<LinkBytes> links = linkBytesOf(plan, entry, nodeRanks);
  if (links.empty())
    return "";
  std::string text = format("  links of nodes of %" PRId64
                            " ranks    of the busiest rank   of all ranks\n",
                            nodeRanks);
  for (const LinkBytes &link : links)
    text += "    " + padded(axesText(link.axes, plan.mesh()), 10) +
            padded(link.inNode ? "in a node" : "between nodes", 18) +
            format("%19s   %12s\n",
                   bytesText(static_cast<uint64_t>(link.ofRank)).c_str(),
                   bytesText(static_cast<uint64_t>(link.ofAllRanks)).c_str());
  return text;
}

std::string entryText(const Plan &plan, const fb::Entry &entry,
                      const InspectOptions &options) {
  std::string text = "\nentry " + entry.name()->str() + "\n";
  text += "  inputs   " + portsText(plan, *entry.inputs()) + "\n";
  text += "  outputs  " + portsText(plan, *entry.outputs()) + "\n";
  text += format("  compute  %.3g x of unsharded: ", computeOf(entry)) +
          flopsText(entry.flops()) + " flops on all ranks, " +
          flopsText(entry.flops_unsharded()) + " unsharded\n";
  text += schedulesText(plan, entry);
  if (options.bubble)
    if (std::optional<BubbleFigures> figures = options.bubble(plan, entry))
      text += bubbleText(*figures);
  text += tableText(plan, entry);
  text += linksText(plan, entry, options.nodeRanks);
  for (uint32_t stage = 0; options.instructions && stage < plan.stages();
       ++stage)
    text += programText(plan, entry, stage);
  return text;
}

using Json = nlohmann::ordered_json;

Json portsJson(const Plan &plan, const Ports &ports) {
  Json list = Json::array();
  for (const fb::Port *port : ports) {
    const TensorType &type = plan.type(port->type());
    list.push_back({{"name", port->name()->str()},
                    {"dtype", std::string(name(type.dtype))},
                    {"shape", type.shape},
                    {"sharding", toString(type.sharding, plan.mesh())}});
  }
  return list;
}

Json axesJson(const Plan &plan, const AxisList &axes) {
  Json list = Json::array();
  for (const AxisRef &axis : axes)
    list.push_back(axisText(axis, plan.mesh()));
  return list;
}

Json rowsJson(const Plan &plan, const fb::Entry &entry) {
  Json list = Json::array();
  for (const CollectiveRow &row : collectivesOf(plan, entry)) {
    list.push_back({{"op", name(row.kind)},
                    {"axes", axesJson(plan, row.axes)},
                    {"stage", row.stage},
                    {"count", row.count},
                    {"bytes", row.traffic.bytes},
                    {"wire_bytes", row.traffic.wireBytes},
                    {"cause", row.cause},
                    {"location", row.location}});
  }
  return list;
}

/// Of a coordinate that has a schedule.
Json programJson(const Plan &plan, const fb::Program &program) {
  Json actions = Json::array(), pools = Json::array();
  for (const fb::Action *action : *program.actions())
    actions.push_back({{"name", plan.string(action->name())},
                       {"instructions", action->count()}});
  for (const fb::SlotPool *pool : *program.pools())
    pools.push_back({{"slots", pool->count()}, {"bytes", pool->bytes()}});
  return {{"actions", std::move(actions)},
          {"pools", std::move(pools)},
          {"schedule", scheduleText(plan, program)}};
}

Json programsJson(const Plan &plan, const fb::Entry &entry) {
  Json list = Json::array();
  for (const fb::Program *program : *entry.programs())
    if (program->schedule()->size())
      list.push_back(programJson(plan, *program));
  return list;
}

Json linksJson(const Plan &plan, const fb::Entry &entry, int64_t nodeRanks) {
  Json list = Json::array();
  for (const LinkBytes &link : linkBytesOf(plan, entry, nodeRanks))
    list.push_back({{"axes", axesJson(plan, link.axes)},
                    {"link", link.inNode ? "in_node" : "between_nodes"},
                    {"rank_bytes", link.ofRank},
                    {"all_bytes", link.ofAllRanks}});
  return list;
}

Json bubbleJson(const BubbleFigures &figures) {
  Json object = {{"counted", figures.counted}};
  if (!figures.schedule.empty())
    object["schedule"] = figures.schedule;
  if (figures.closedForm) {
    object["closed_form"] = *figures.closedForm;
    object["formula"] = figures.formula;
  }
  return object;
}

Json memoryJson(const Plan &plan) {
  Json list = Json::array();
  bool trains = isTrained(plan);
  uint32_t stage = 0;
  for (const fb::Memory *memory : *plan.table().memory()) {
    Json object = {{"parameters", memory->parameters()},
                   {"state", memory->state()},
                   {"slots", slotBytesOf(plan, stage)},
                   {"arena_peak", memory->arena_peak()},
                   {"arena_lower_bound", memory->arena_lower_bound()},
                   {"peak", arenaBytes(plan, stage)}};
    if (trains)
      object["activations"] = activationBytes(plan, stage);
    list.push_back(std::move(object));
    ++stage;
  }
  return list;
}

Json entryJson(const Plan &plan, const fb::Entry &entry,
               const InspectOptions &options) {
  Json object = {{"name", entry.name()->str()},
                 {"inputs", portsJson(plan, *entry.inputs())},
                 {"outputs", portsJson(plan, *entry.outputs())},
                 {"flops", entry.flops()},
                 {"flops_unsharded", entry.flops_unsharded()},
                 {"compute", computeOf(entry)},
                 {"microbatches", entry.microbatches()},
                 {"programs", programsJson(plan, entry)},
                 {"links", linksJson(plan, entry, options.nodeRanks)},
                 {"collectives", rowsJson(plan, entry)}};
  if (options.bubble)
    if (std::optional<BubbleFigures> figures = options.bubble(plan, entry))
      object["bubble"] = bubbleJson(*figures);
  return object;
}

Json sourcesJson(
    const flatbuffers::Vector<flatbuffers::Offset<fb::Source>> &sources) {
  Json list = Json::array();
  for (const fb::Source *source : sources)
    list.push_back({{"path", source->path()->str()}, {"size", source->size()}});
  return list;
}

Json factsJson(const Plan &plan) {
  Json facts = Json::object();
  for (const flatbuffers::String *fact : *plan.table().facts()) {
    std::string text = fact->str();
    size_t equals = text.find('=');
    if (equals != std::string::npos)
      facts[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return facts;
}

} // namespace

std::string axisText(const AxisRef &axis, const Mesh &mesh) {
  if (mesh.isWhole(axis))
    return axis.name;
  return axis.name + ":(" + std::to_string(axis.preSize) + ")" +
         std::to_string(axis.size);
}

std::string bytesText(uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024)
    return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.95 && unit < 5; ++unit)
    value /= 1024;
  return format("%.1f %s", value, units[unit]);
}

std::vector<CollectiveRow> collectivesOf(const Plan &plan,
                                         const fb::Entry &entry) {
  std::vector<CollectiveRow> rows;
  std::map<std::tuple<uint32_t, int, AxisList, int64_t, std::string>, size_t>
      known;
  auto visit = [&](const Step &step) -> Status {
    if (!isRow(step.op()) || step.inputs() + step.outputs() == 0)
      return Status();
    CollectiveRow row;
    Collective collective = *step.collective();
    row.kind = collective.kind;
    row.axes = collective.axes;
    if (step.op() == fb::Opcode::Send && plan.mesh().has(kStageAxis))
      row.axes = {plan.mesh().whole(kStageAxis)};
    row.stage = step.stage();
    row.traffic =
        trafficOf(row.kind, sizeOf(row.axes), step.movedType().localBytes());
    row.cause = step.cause();
    row.location = step.location();
    auto [it, isNew] = known.try_emplace(
        {row.stage, int(row.kind), row.axes, row.traffic.bytes, row.cause},
        rows.size());
    if (isNew)
      rows.push_back(std::move(row));
    rows[it->second].count += runsOf(entry, step.stage(), step.index());
    return Status();
  };
  for (uint32_t stage = 0; stage < plan.stages(); ++stage)
    (void)walkInstructions(plan, entry, stage, visit).ok();
  return rows;
}

std::string scheduleText(const Plan &plan, const fb::Program &program) {
  // The stage is said only where a coordinate has several.
  std::set<std::string> stages;
  for (const fb::Action *action : *program.actions())
    if (std::string name = plan.string(action->name());
        action->pool() != kNone && name.find('.') != std::string::npos)
      stages.insert(name.substr(name.find('.')));
  bool isOne = stages.size() <= 1;
  std::string text;
  for (const fb::ScheduleItem *item : *program.schedule()) {
    const fb::Action &action = *program.actions()->Get(item->action());
    std::string name = plan.string(action.name());
    size_t dot = name.find('.');
    std::string label(1, static_cast<char>(std::toupper(
                             static_cast<unsigned char>(name[0]))));
    if (action.pool() != kNone && !isOne && dot != std::string::npos)
      label += name.substr(dot + 1) + ":";
    if (action.pool() != kNone)
      label += std::to_string(item->microbatch());
    text += (text.empty() ? "" : " ") + label;
  }
  return text;
}

uint64_t slotBytes(const fb::Program &program) {
  uint64_t bytes = 0;
  for (const fb::SlotPool *pool : *program.pools())
    bytes += pool->bytes() * pool->count();
  return bytes;
}

double computeOf(const fb::Entry &entry) {
  return entry.flops_unsharded()
             ? static_cast<double>(entry.flops()) / entry.flops_unsharded()
             : 1;
}

std::string inspectText(const Plan &plan, const InspectOptions &options) {
  std::string text = headText(plan) + memoryText(plan);
  for (const fb::Entry *entry : *plan.table().entries())
    text += entryText(plan, *entry, options);
  return text;
}

std::string inspectJson(const Plan &plan, const InspectOptions &options) {
  const fb::Plan &table = plan.table();
  Json mesh = Json::object();
  for (const Axis &axis : plan.mesh().axes())
    mesh[axis.name] = axis.size;
  Json entries = Json::array();
  for (const fb::Entry *entry : *table.entries())
    entries.push_back(entryJson(plan, *entry, options));
  Json root = {{"schema", table.schema()},
               {"producer", table.producer()->str()},
               {"model", table.model()->str()},
               {"mesh", std::move(mesh)},
               {"ranks", plan.numRanks()},
               {"node_ranks", options.nodeRanks},
               {"stages", plan.stages()},
               {"sources", sourcesJson(*table.sources())},
               {"facts", factsJson(plan)},
               {"memory", memoryJson(plan)},
               {"entries", std::move(entries)}};
  return root.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace tandem

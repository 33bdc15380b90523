//===- PlanSketch.h - Plans drawn by hand, for tests ------------*- C++ -*-===//
//
// Writes a plan the way a test thinks of it: values by type, instructions in
// order, one program a stage. Arena values never share memory, except where
// `alias` says so.
//
//   PlanSketch sketch("tp=2");
//   uint32_t w = sketch.parameter("w", sketch.type({8, 4}, "[{\"tp\"}, {}]"));
//   sketch.entry("forward");
//   uint32_t x = sketch.input("x", type), y = sketch.value(0, type);
//   sketch.launch(0, "einsum", rule, {x, sketch.use(0, w)}, {y});
//   Plan plan = sketch.finish();
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_EXEC_PLANSKETCH_H
#define TANDEM_TEST_UNIT_EXEC_PLANSKETCH_H

#include "runtime/plan/PlanBuilder.h"

#include <gtest/gtest.h>

namespace tandem {

class PlanSketch {
public:
  explicit PlanSketch(const char *meshText)
      : mesh(*Mesh::parse(meshText)), builder(mesh),
        scratch(builder.plan.stages, 0), persistent(builder.plan.stages, 0) {}

  TensorType type(std::vector<int64_t> shape, const char *sharding,
                  DType dtype = DType::F32) const {
    Result<Sharding> parsed = parseSharding(sharding, mesh);
    EXPECT_TRUE(parsed.ok()) << parsed.status().message();
    return {dtype, std::move(shape), *parsed, ReductionKind::Sum};
  }

  /// A parameter on `stages`, stored whole and dense under its name.
  uint32_t parameter(const std::string &name, const TensorType &type,
                     std::vector<uint32_t> stages = {0}) {
    auto table = std::make_unique<fb::ParameterT>();
    table->name = table->key = name;
    table->stored_dtype = static_cast<uint8_t>(type.dtype);
    table->stored_shape = type.shape;
    table->view_strides.resize(type.shape.size());
    int64_t step = 1;
    for (size_t i = type.shape.size(); i-- > 0; step *= type.shape[i])
      table->view_strides[i] = step;
    table->type = builder.type(type);
    for (uint32_t stage : stages)
      table->offsets.push_back(keep(stage, type, false));
    table->stages = std::move(stages);
    builder.plan.parameters.push_back(std::move(table));
    return static_cast<uint32_t>(builder.plan.parameters.size() - 1);
  }

  uint32_t state(const std::string &name, const TensorType &type,
                 std::vector<uint32_t> stages = {0}) {
    auto table = std::make_unique<fb::StateT>();
    table->name = name;
    table->type = builder.type(type);
    for (uint32_t stage : stages)
      table->offsets.push_back(keep(stage, type, true));
    table->stages = std::move(stages);
    builder.plan.states.push_back(std::move(table));
    return static_cast<uint32_t>(builder.plan.states.size() - 1);
  }

  void entry(const std::string &name) {
    auto table = std::make_unique<fb::EntryT>();
    table->name = name;
    for (uint32_t stage = 0; stage < builder.plan.stages; ++stage)
      table->programs.push_back(std::make_unique<fb::ProgramT>());
    builder.plan.entries.push_back(std::move(table));
  }

  /// A value in the arena of `stage`.
  uint32_t value(uint32_t stage, const TensorType &type) {
    uint64_t bytes = static_cast<uint64_t>(type.localBytes());
    uint64_t offset = scratch[stage];
    scratch[stage] += (bytes + 63) / 64 * 64;
    return add(stage, builder.type(type), 0, offset, bytes, fb::Region::Arena);
  }
  /// The same bytes as `other`, under another type.
  uint32_t alias(uint32_t stage, uint32_t other, const TensorType &type) {
    uint64_t offset = program(stage).values[other].offset();
    return add(stage, builder.type(type), 0, offset,
               static_cast<uint64_t>(type.localBytes()), fb::Region::Arena);
  }
  uint32_t use(uint32_t stage, uint32_t parameter) {
    uint32_t index = builder.plan.parameters[parameter]->type;
    return add(stage, index, parameter, 0, bytesOf(index),
               fb::Region::Parameter);
  }
  uint32_t useState(uint32_t stage, uint32_t state) {
    uint32_t index = builder.plan.states[state]->type;
    return add(stage, index, state, 0, bytesOf(index), fb::Region::State);
  }

  //===--- Schedules ------------------------------------------------------===//

  void microbatches(uint32_t count) { entryTable().microbatches = count; }
  /// The running microbatch's slice of value `whole`.
  uint32_t slice(uint32_t stage, uint32_t whole, const TensorType &type) {
    return add(stage, builder.type(type), whole, 0,
               static_cast<uint64_t>(type.localBytes()),
               fb::Region::Microbatch);
  }
  /// A pool whose slots' values are added by `slotValue`, before any other
  /// value of the stage is; `placePool` ends it.
  uint32_t pool(uint32_t stage, uint32_t slots) {
    program(stage).pools.emplace_back(0, 0, slots);
    return static_cast<uint32_t>(program(stage).pools.size() - 1);
  }
  uint32_t slotValue(uint32_t stage, uint32_t pool, const TensorType &type) {
    fb::SlotPool &slots = program(stage).pools[pool];
    uint64_t bytes = static_cast<uint64_t>(type.localBytes());
    uint64_t offset = slots.bytes();
    slots.mutate_bytes(offset + (bytes + 63) / 64 * 64);
    return add(stage, builder.type(type), pool, offset, bytes,
               fb::Region::Slot);
  }
  void placePool(uint32_t stage, uint32_t pool) {
    fb::SlotPool &slots = program(stage).pools[pool];
    slots.mutate_base(scratch[stage]);
    scratch[stage] += slots.bytes() * slots.count();
  }
  /// Makes an action of what was added to the stage since its last one.
  void endAction(uint32_t stage, const std::string &name,
                 uint32_t pool = kNone) {
    builder.endAction(program(stage), name, pool);
  }
  void schedule(uint32_t stage, const std::vector<fb::ScheduleItem> &items) {
    program(stage).schedule = items;
  }

  /// An input of all stages; its value has the same number in each, so call
  /// this first. `stages` none: all.
  uint32_t input(const std::string &name, const TensorType &type) {
    std::vector<uint32_t> values;
    for (uint32_t stage = 0; stage < builder.plan.stages; ++stage)
      values.push_back(value(stage, type));
    entryTable().inputs.push_back(port(name, type, values));
    return values[0];
  }
  void output(const std::string &name, const TensorType &type,
              std::vector<uint32_t> values, uint32_t parameter = kNone) {
    entryTable().outputs.push_back(port(name, type, values));
    entryTable().outputs.back()->parameter = parameter;
  }

  struct Place {
    uint16_t stream = 0;
    const char *location = "here";
  };

  void launch(uint32_t stage, const std::string &kernel,
              const ShardingRule &rule, std::vector<uint32_t> inputs,
              std::vector<uint32_t> outputs,
              const std::vector<int64_t> &numbers = {},
              Place place = {0, "here"}) {
    Arguments args = push(stage, inputs, outputs, {});
    instruction(stage, fb::Opcode::Launch, 0, 0, place, builder.kernel(kernel),
                0, builder.rule(rule), args,
                static_cast<uint16_t>(numbers.size()),
                builder.numbers(numbers));
  }

  /// `workspaceBytes` 0: none.
  void collective(uint32_t stage, fb::Opcode op, const AxisList &axes,
                  uint32_t from, uint32_t to, uint8_t dim = 0,
                  uint8_t fromDim = 0, uint64_t workspaceBytes = 0,
                  Place place = {0, "here"}, uint32_t root = 0) {
    std::vector<uint32_t> workspace;
    if (workspaceBytes) {
      uint64_t offset = scratch[stage];
      scratch[stage] += (workspaceBytes + 63) / 64 * 64;
      workspace.push_back(add(stage, builder.bytesType(workspaceBytes), 0,
                              offset, workspaceBytes, fb::Region::Arena));
    }
    Arguments args = push(stage, {from}, {to}, workspace);
    instruction(stage, op, dim, fromDim, place, root, builder.axisList(axes), 0,
                args, 0, 0);
  }
  void send(uint32_t stage, uint32_t value, uint32_t peer,
            Place place = {0, "here"}, uint8_t lane = 0) {
    Arguments args = push(stage, {value}, {}, {});
    instruction(stage, fb::Opcode::Send, lane, 0, place, peer, 0, 0, args, 0,
                0);
  }
  void receive(uint32_t stage, uint32_t value, uint32_t peer,
               Place place = {0, "here"}, uint8_t lane = 0) {
    Arguments args = push(stage, {}, {value}, {});
    instruction(stage, fb::Opcode::Recv, lane, 0, place, peer, 0, 0, args, 0,
                0);
  }
  void order(uint32_t stage, fb::Opcode recordOrWait, uint16_t stream,
             uint32_t event) {
    Arguments args = push(stage, {}, {}, {});
    instruction(stage, recordOrWait, 0, 0, {stream, "here"}, event, 0, 0, args,
                0, 0);
  }

  AxisRef axis(const char *name) const { return mesh.whole(name); }

  Plan finish() {
    for (uint32_t stage = 0; stage < builder.plan.stages; ++stage) {
      fb::MemoryT &memory = *builder.plan.memory[stage];
      memory.parameters = persistent[stage] - memory.state;
      memory.arena_peak = memory.arena_lower_bound = scratch[stage];
    }
    Result<Plan> plan = Plan::fromNative(builder.plan);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    return std::move(*plan);
  }

  Mesh mesh;
  PlanBuilder builder;

private:
  struct Arguments {
    uint32_t first;
    uint16_t inputs, outputs, workspaces;
  };

  fb::EntryT &entryTable() { return *builder.plan.entries.back(); }
  fb::ProgramT &program(uint32_t stage) {
    return *entryTable().programs[stage];
  }

  uint64_t bytesOf(uint32_t type) {
    const fb::TypeT &table = *builder.plan.types[type];
    int64_t count = 1;
    for (size_t d = 0; d < table.shape.size(); ++d) {
      AxisList axes;
      for (const fb::AxisRef &ref :
           builder.plan.axis_lists[table.dim_axes[d]]->axes)
        axes.push_back(
            {mesh.axes()[ref.axis()].name, ref.pre_size(), ref.size()});
      count *= capacityOf(table.shape[d], axes);
    }
    return static_cast<uint64_t>(
        storageBytes(static_cast<DType>(table.dtype), count));
  }

  uint64_t keep(uint32_t stage, const TensorType &type, bool state) {
    uint64_t offset = persistent[stage];
    uint64_t bytes = (static_cast<uint64_t>(type.localBytes()) + 63) / 64 * 64;
    persistent[stage] += bytes;
    if (state)
      builder.plan.memory[stage]->state += bytes;
    return offset;
  }

  uint32_t add(uint32_t stage, uint32_t type, uint32_t index, uint64_t offset,
               uint64_t bytes, fb::Region region) {
    auto &values = program(stage).values;
    values.emplace_back(type, index, offset, bytes, region);
    return static_cast<uint32_t>(values.size() - 1);
  }

  std::unique_ptr<fb::PortT> port(const std::string &name,
                                  const TensorType &type,
                                  const std::vector<uint32_t> &values) {
    auto table = std::make_unique<fb::PortT>();
    table->name = name;
    table->type = builder.type(type);
    table->values = values;
    return table;
  }

  Arguments push(uint32_t stage, const std::vector<uint32_t> &inputs,
                 const std::vector<uint32_t> &outputs,
                 const std::vector<uint32_t> &workspaces) {
    std::vector<uint32_t> &args = program(stage).args;
    Arguments result{static_cast<uint32_t>(args.size()),
                     static_cast<uint16_t>(inputs.size()),
                     static_cast<uint16_t>(outputs.size()),
                     static_cast<uint16_t>(workspaces.size())};
    for (const auto *list : {&inputs, &outputs, &workspaces})
      args.insert(args.end(), list->begin(), list->end());
    return result;
  }

  void instruction(uint32_t stage, fb::Opcode op, uint8_t dim, uint8_t fromDim,
                   Place place, uint32_t target, uint32_t axes, uint32_t rule,
                   Arguments args, uint16_t numbersCount,
                   uint32_t firstNumber) {
    program(stage).instructions.emplace_back(
        op, fb::ReductionKind::Sum, dim, fromDim, place.stream, int16_t(0),
        target, axes, rule, args.first, args.inputs, args.outputs,
        args.workspaces, numbersCount, firstNumber, builder.string(""),
        builder.string(place.location));
  }

  std::vector<uint64_t> scratch, persistent;
};

} // namespace tandem

#endif // TANDEM_TEST_UNIT_EXEC_PLANSKETCH_H

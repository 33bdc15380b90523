#include "SmallPlans.h"

namespace tandem::test {

uint32_t ProgramWriter::arena(const TensorType &type, uint64_t offset) {
  program.values.emplace_back(builder.type(type), 0, offset,
                              static_cast<uint64_t>(type.localBytes()),
                              fb::Region::Arena);
  return static_cast<uint32_t>(program.values.size() - 1);
}

uint32_t ProgramWriter::parameter(uint32_t index, const TensorType &type) {
  program.values.emplace_back(builder.type(type), index, 0,
                              static_cast<uint64_t>(type.localBytes()),
                              fb::Region::Parameter);
  return static_cast<uint32_t>(program.values.size() - 1);
}

uint32_t ProgramWriter::state(uint32_t index, const TensorType &type) {
  program.values.emplace_back(builder.type(type), index, 0,
                              static_cast<uint64_t>(type.localBytes()),
                              fb::Region::State);
  return static_cast<uint32_t>(program.values.size() - 1);
}

uint32_t ProgramWriter::workspace(uint64_t bytes, uint64_t offset) {
  program.values.emplace_back(builder.bytesType(bytes), 0, offset, bytes,
                              fb::Region::Arena);
  return static_cast<uint32_t>(program.values.size() - 1);
}

void ProgramWriter::launch(const std::string &kernel, const ShardingRule &rule,
                           const std::vector<uint32_t> &inputs,
                           const std::vector<uint32_t> &outputs,
                           const std::string &location) {
  fb::Instruction &instruction = add(fb::Opcode::Launch, inputs, outputs);
  instruction.mutate_target(builder.kernel(kernel));
  instruction.mutate_rule(builder.rule(rule));
  if (!location.empty())
    instruction.mutate_location(builder.string(location));
}

fb::Instruction &ProgramWriter::add(fb::Opcode op,
                                    const std::vector<uint32_t> &inputs,
                                    const std::vector<uint32_t> &outputs,
                                    const std::vector<uint32_t> &workspaces,
                                    const AxisList &axes) {
  fb::Instruction instruction;
  instruction.mutate_op(op);
  instruction.mutate_axes(builder.axisList(axes));
  instruction.mutate_first_arg(static_cast<uint32_t>(program.args.size()));
  instruction.mutate_inputs(static_cast<uint16_t>(inputs.size()));
  instruction.mutate_outputs(static_cast<uint16_t>(outputs.size()));
  instruction.mutate_workspaces(static_cast<uint16_t>(workspaces.size()));
  instruction.mutate_cause(kNone);
  instruction.mutate_location(kNone);
  for (const auto *list : {&inputs, &outputs, &workspaces})
    program.args.insert(program.args.end(), list->begin(), list->end());
  program.instructions.push_back(instruction);
  return program.instructions.back();
}

Sharding sharding(const std::string &text, const Mesh &mesh) {
  return *parseSharding(text, mesh);
}

void addParameter(PlanBuilder &builder, const std::string &name,
                  const TensorType &type, const std::vector<uint32_t> &stages,
                  const std::vector<uint64_t> &offsets) {
  auto parameter = std::make_unique<fb::ParameterT>();
  parameter->name = parameter->key = name;
  parameter->stored_dtype = static_cast<uint8_t>(type.dtype);
  parameter->stored_shape = type.shape;
  parameter->view_strides.resize(type.shape.size());
  uint64_t stride = 1;
  for (size_t d = type.shape.size(); d-- > 0;) {
    parameter->view_strides[d] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(type.shape[d]);
  }
  parameter->type = builder.type(type);
  parameter->stages = stages;
  parameter->offsets = offsets;
  for (uint32_t stage : stages)
    builder.plan.memory[stage]->parameters +=
        static_cast<uint64_t>(type.localBytes());
  builder.plan.parameters.push_back(std::move(parameter));
}

void addPort(PlanBuilder &builder,
             std::vector<std::unique_ptr<fb::PortT>> &ports,
             const std::string &name, const TensorType &type,
             const std::vector<uint32_t> &values) {
  auto port = std::make_unique<fb::PortT>();
  port->name = name;
  port->type = builder.type(type);
  port->values = values;
  ports.push_back(std::move(port));
}

Mesh meshOf(const fb::PlanT &plan) {
  std::vector<Axis> axes;
  for (const auto &axis : plan.mesh)
    axes.push_back({axis->name, static_cast<int64_t>(axis->size)});
  return Mesh(std::move(axes));
}

fb::PlanT mlpPlan() {
  Mesh mesh = *Mesh::parse("tp=2");
  PlanBuilder builder(mesh);
  auto f32 = [&](std::vector<int64_t> shape, const char *text) {
    return TensorType{DType::F32, std::move(shape), sharding(text, mesh),
                      ReductionKind::Sum};
  };
  TensorType x = f32({4, 8}, "[{}, {}]");
  TensorType w1 = f32({8, 16}, "[{}, {\"tp\"}]");
  TensorType w2 = f32({16, 8}, "[{\"tp\"}, {}]");
  TensorType h = f32({4, 16}, "[{}, {\"tp\"}]");
  TensorType p = f32({4, 8}, "[{}, {}], unreduced={\"tp\"}");
  addParameter(builder, "w1", w1, {0}, {0});
  addParameter(builder, "w2", w2, {0}, {256});

  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "forward";
  entry->flops = entry->flops_unsharded = 2 * 2 * 4 * 8 * 16;
  entry->programs.push_back(std::make_unique<fb::ProgramT>());
  ProgramWriter writer(builder, *entry->programs[0]);
  uint32_t v0 = writer.arena(x, 0);
  uint32_t v1 = writer.parameter(0, w1);
  uint32_t v2 = writer.parameter(1, w2);
  uint32_t v3 = writer.arena(h, 128);
  uint32_t v4 = writer.arena(h, 128);
  uint32_t v5 = writer.arena(p, 0);
  uint32_t v6 = writer.arena(x, 0);
  uint32_t v7 = writer.workspace(128, 128);
  auto product = [](const char *equation, char over,
                    std::vector<std::vector<int64_t>> from,
                    std::vector<int64_t> to) {
    RuleBuilder rule(equation);
    rule.kind(over, FactorKind::Reduction).linear(0).linear(1);
    return rule.build(from, {to});
  };
  writer.launch("einsum", product("bd,df->bf", 'd', {{4, 8}, {8, 16}}, {4, 16}),
                {v0, v1}, {v3}, "mlp.c_fc");
  writer.launch("gelu", RuleBuilder("bf->bf").build({{4, 16}}, {{4, 16}}), {v3},
                {v4}, "mlp.act");
  writer.launch("einsum", product("bf,fd->bd", 'f', {{4, 16}, {16, 8}}, {4, 8}),
                {v4, v2}, {v5}, "mlp.c_proj");
  fb::Instruction &reduce =
      writer.add(fb::Opcode::AllReduce, {v5}, {v6}, {v7}, {mesh.whole("tp")});
  reduce.mutate_cause(builder.string("einsum"));
  reduce.mutate_location(builder.string("mlp.c_proj"));
  addPort(builder, entry->inputs, "x", x, {v0});
  addPort(builder, entry->outputs, "y", x, {v6});
  builder.plan.memory[0]->arena_peak = 256;
  builder.plan.memory[0]->arena_lower_bound = 256;
  builder.plan.entries.push_back(std::move(entry));
  builder.fact("max_seq", "4");
  builder.fact("batch", "1");
  return std::move(builder.plan);
}

fb::PlanT twoStagePlan() {
  Mesh mesh = *Mesh::parse("pp=2,tp=2");
  PlanBuilder builder(mesh);
  auto type = [&](DType dtype, std::vector<int64_t> shape, const char *text) {
    return TensorType{dtype, std::move(shape), sharding(text, mesh),
                      ReductionKind::Sum};
  };
  TensorType ids = type(DType::I32, {4}, "[{}]");
  TensorType table = type(DType::F32, {10, 8}, "[{}, {\"tp\"}]");
  TensorType rows = type(DType::F32, {4, 8}, "[{}, {\"tp\"}]");
  TensorType id = type(DType::I32, {1}, "[{}]");
  addParameter(builder, "table", table, {0}, {0});
  auto state = std::make_unique<fb::StateT>();
  state->name = "sum";
  state->type = builder.type(rows);
  state->stages = {1};
  state->offsets = {0};
  builder.plan.states.push_back(std::move(state));
  builder.plan.memory[1]->state = static_cast<uint64_t>(rows.localBytes());

  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "next";
  entry->programs.push_back(std::make_unique<fb::ProgramT>());
  entry->programs.push_back(std::make_unique<fb::ProgramT>());
  ProgramWriter first(builder, *entry->programs[0]);
  ProgramWriter second(builder, *entry->programs[1]);

  uint32_t in = first.arena(ids, 0);
  uint32_t weights = first.parameter(0, table);
  uint32_t embedded = first.arena(rows, 64);
  uint32_t got = first.arena(id, 0);
  first.launch("embedding",
               RuleBuilder("vd,s->sd")
                   .kind('v', FactorKind::Reduction)
                   .build({{10, 8}, {4}}, {{4, 8}}),
               {weights, in}, {embedded}, "embed");
  first.add(fb::Opcode::Send, {embedded}, {}).mutate_target(1);

  uint32_t received = second.arena(rows, 0);
  uint32_t before = second.state(0, rows);
  uint32_t after = second.state(0, rows);
  uint32_t best = second.arena(id, 64);
  second.add(fb::Opcode::Recv, {}, {received}).mutate_target(0);
  second.launch(
      "sum",
      RuleBuilder("sd,sd->sd").allLinear().build({{4, 8}, {4, 8}}, {{4, 8}}),
      {before, received}, {after}, "residual");
  uint32_t whole = second.arena(type(DType::F32, {4, 8}, "[{}, {}]"), 128);
  uint32_t workspace = second.workspace(128, 256);
  second
      .add(fb::Opcode::AllGather, {after}, {whole}, {workspace},
           {mesh.whole("tp")})
      .mutate_dim(1);
  second.launch("top_k",
                RuleBuilder("sd->k")
                    .kind('s', FactorKind::MustReplicate)
                    .kind('d', FactorKind::MustReplicate)
                    .build({{4, 8}}, {{1}}),
                {whole}, {best}, "sample");
  AxisList all = {mesh.whole("pp"), mesh.whole("tp")};
  first.add(fb::Opcode::Broadcast, {}, {got}, {}, all).mutate_target(2);
  uint32_t bestOut = second.arena(id, 64);
  second.add(fb::Opcode::Broadcast, {best}, {bestOut}, {}, all)
      .mutate_target(2);
  addPort(builder, entry->inputs, "ids", ids, {in, kNone});
  addPort(builder, entry->outputs, "next", id, {got, bestOut});
  builder.plan.memory[0]->arena_peak = 128;
  builder.plan.memory[1]->arena_peak = 384;
  builder.plan.entries.push_back(std::move(entry));
  return std::move(builder.plan);
}

fb::PlanT twoStreamPlan() {
  Mesh mesh = *Mesh::parse("tp=2");
  PlanBuilder builder(mesh);
  TensorType row{DType::F32, {16}, sharding("[{}]", mesh), ReductionKind::Sum};
  TensorType half{
      DType::F32, {16}, sharding("[{\"tp\"}]", mesh), ReductionKind::Sum};
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "forward";
  entry->programs.push_back(std::make_unique<fb::ProgramT>());
  ProgramWriter writer(builder, *entry->programs[0]);
  uint32_t v0 = writer.arena(half, 0);
  uint32_t v1 = writer.arena(half, 64);
  uint32_t v2 = writer.arena(row, 128);
  uint32_t v3 = writer.arena(row, 192);
  uint32_t v4 = writer.arena(row, 256);
  ShardingRule scale = RuleBuilder("i->i").allLinear().build({{16}}, {{16}});
  ShardingRule fill = RuleBuilder("->i").build({}, {{16}});
  fill.operands.clear();
  writer.launch("scale", scale, {v0}, {v1});
  writer.add(fb::Opcode::Record, {}, {}).mutate_target(0);
  fb::Instruction &wait = writer.add(fb::Opcode::Wait, {}, {});
  wait.mutate_target(0);
  wait.mutate_stream(1);
  writer.add(fb::Opcode::AllGather, {v1}, {v2}, {}, {mesh.whole("tp")})
      .mutate_stream(1);
  writer.launch("iota", fill, {}, {v3});
  fb::Instruction &record = writer.add(fb::Opcode::Record, {}, {});
  record.mutate_target(1);
  record.mutate_stream(1);
  writer.add(fb::Opcode::Wait, {}, {}).mutate_target(1);
  writer.launch("sum",
                RuleBuilder("i,i->i").allLinear().build({{16}, {16}}, {{16}}),
                {v2, v3}, {v4});
  addPort(builder, entry->inputs, "x", half, {v0});
  addPort(builder, entry->outputs, "y", row, {v4});
  builder.plan.memory[0]->arena_peak = 320;
  builder.plan.entries.push_back(std::move(entry));
  return std::move(builder.plan);
}

fb::PlanT exchangePlan(bool crossed) {
  Mesh mesh = *Mesh::parse("pp=2");
  PlanBuilder builder(mesh);
  TensorType row{DType::F32, {16}, sharding("[{}]", mesh), ReductionKind::Sum};
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "swap";
  std::vector<uint32_t> in, out;
  for (uint32_t stage : {0u, 1u}) {
    entry->programs.push_back(std::make_unique<fb::ProgramT>());
    ProgramWriter writer(builder, *entry->programs[stage]);
    uint32_t mine = writer.arena(row, 0), other = writer.arena(row, 64);
    bool sendsFirst = stage == 0 || crossed;
    if (!sendsFirst)
      writer.add(fb::Opcode::Recv, {}, {other}).mutate_target(1 - stage);
    writer.add(fb::Opcode::Send, {mine}, {}).mutate_target(1 - stage);
    if (sendsFirst)
      writer.add(fb::Opcode::Recv, {}, {other}).mutate_target(1 - stage);
    builder.plan.memory[stage]->arena_peak = 128;
  }
  addPort(builder, entry->inputs, "x", row, {0, 0});
  addPort(builder, entry->outputs, "y", row, {1, 1});
  builder.plan.entries.push_back(std::move(entry));
  return std::move(builder.plan);
}

fb::PlanT twoRowsPlan() {
  Mesh mesh = *Mesh::parse("pp=2");
  PlanBuilder builder(mesh);
  TensorType row{DType::F32, {16}, sharding("[{}]", mesh), ReductionKind::Sum};
  auto entry = std::make_unique<fb::EntryT>();
  entry->name = "rows";
  for (uint32_t stage : {0u, 1u}) {
    entry->programs.push_back(std::make_unique<fb::ProgramT>());
    ProgramWriter writer(builder, *entry->programs[stage]);
    for (const char *name : {"a", "b"}) {
      uint32_t value = writer.arena(row, *name == 'a' ? 0 : 64);
      fb::Instruction &it = stage == 0
                                ? writer.add(fb::Opcode::Send, {value}, {})
                                : writer.add(fb::Opcode::Recv, {}, {value});
      it.mutate_target(1 - stage);
      it.mutate_location(builder.string(name));
    }
    builder.plan.memory[stage]->arena_peak = 128;
  }
  for (uint32_t v : {0u, 1u}) {
    std::string name = v == 0 ? "a" : "b";
    addPort(builder, entry->inputs, name, row, {v, kNone});
    addPort(builder, entry->outputs, name, row, {kNone, v});
  }
  builder.plan.entries.push_back(std::move(entry));
  return std::move(builder.plan);
}

} // namespace tandem::test

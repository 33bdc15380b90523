#include "LayerPlan.h"

#include "runtime/mesh/Collectives.h"

#include <algorithm>

namespace tandem::test {
namespace {

/// The instructions that write a value and last read it; -1 before the first.
struct Life {
  int64_t written = -1;
  int64_t lastRead = -1;
};

/// One program being written; values get their offsets at the end.
class Tracer {
public:
  Tracer(PlanBuilder &builder, const Mesh &mesh, fb::ProgramT &program,
         bool twoStreams)
      : builder(builder), mesh(mesh), program(program), twoStreams(twoStreams) {
  }

  uint32_t value(const TensorType &type, fb::Region region = fb::Region::Arena,
                 uint32_t index = 0) {
    program.values.emplace_back(builder.type(type), index, 0,
                                static_cast<uint64_t>(type.localBytes()),
                                region);
    types.push_back(type);
    homes.push_back(static_cast<uint32_t>(types.size() - 1));
    return homes.back();
  }

  /// A value in the memory of `other`, which ends when this is written.
  uint32_t inPlaceOf(uint32_t other, const TensorType &type) {
    uint32_t made = value(type, program.values[other].region(),
                          program.values[other].index());
    homes[made] = homes[other];
    return made;
  }

  void input(uint32_t v) { at(v).written = -1; }

  void launch(const char *kernel, const ShardingRule &rule,
              const std::vector<uint32_t> &inputs, uint32_t output,
              const std::string &location) {
    join(location);
    fb::Instruction &i = add(fb::Opcode::Launch, inputs, {output}, location);
    i.mutate_target(builder.kernel(kernel));
    i.mutate_rule(builder.rule(rule));
  }

  /// A collective of one operand; returns its result.
  uint32_t collective(CollectiveKind kind, const char *axis, size_t dim,
                      uint32_t operand, const char *cause,
                      const std::string &location) {
    Collective c{kind, {mesh.whole(axis)}, dim, 0, ReductionKind::Sum};
    TensorType to = *resultType(c, types[operand], mesh);
    uint32_t result = value(to);
    std::vector<uint32_t> outputs = {result};
    int64_t bytes = workspaceBytes(c, types[operand], to);
    if (bytes)
      outputs.push_back(value({DType::U8,
                               {bytes},
                               Sharding::replicatedOver(1),
                               ReductionKind::Sum}));
    if (twoStreams)
      order(0, 1, location);
    fb::Instruction &i =
        add(static_cast<fb::Opcode>(kind), {operand}, outputs, location);
    i.mutate_stream(twoStreams ? 1 : 0);
    if (bytes) {
      i.mutate_outputs(1);
      i.mutate_workspaces(1);
    }
    i.mutate_axes(builder.axisList(c.axes));
    i.mutate_dim(static_cast<uint8_t>(dim));
    i.mutate_cause(builder.string(cause));
    isApart = twoStreams;
    return result;
  }

  /// Lets the main stream go on only behind the last collective.
  void join(const std::string &location) {
    if (isApart)
      order(1, 0, location);
    isApart = false;
  }

  /// Makes stream `second` wait for what stream `first` has so far.
  void order(uint16_t first, uint16_t second, const std::string &location) {
    fb::Instruction &record = add(fb::Opcode::Record, {}, {}, location);
    record.mutate_stream(first);
    record.mutate_target(events);
    fb::Instruction &wait = add(fb::Opcode::Wait, {}, {}, location);
    wait.mutate_stream(second);
    wait.mutate_target(events++);
  }

  fb::Instruction &add(fb::Opcode op, const std::vector<uint32_t> &inputs,
                       const std::vector<uint32_t> &outputs,
                       const std::string &location) {
    fb::Instruction i;
    auto index = static_cast<int64_t>(program.instructions.size());
    i.mutate_op(op);
    i.mutate_first_arg(static_cast<uint32_t>(program.args.size()));
    i.mutate_inputs(static_cast<uint16_t>(inputs.size()));
    i.mutate_outputs(static_cast<uint16_t>(outputs.size()));
    i.mutate_cause(kNone);
    i.mutate_location(builder.string(location));
    for (uint32_t v : inputs)
      at(v).lastRead = index;
    for (uint32_t v : outputs)
      at(v).written = at(v).lastRead = index;
    program.args.insert(program.args.end(), inputs.begin(), inputs.end());
    program.args.insert(program.args.end(), outputs.begin(), outputs.end());
    program.instructions.push_back(i);
    return program.instructions.back();
  }

  void output(uint32_t v) {
    at(v).lastRead = static_cast<int64_t>(program.instructions.size());
  }

  /// First fit; returns where the highest ends.
  uint64_t place() {
    std::vector<Life> memory(types.size()); // By home.
    for (Life &life : memory)
      life.written = INT64_MAX;
    for (size_t v = 0; v < types.size(); ++v) {
      Life &life = memory[homes[v]];
      life.written = std::min(life.written, at(v).written);
      life.lastRead = std::max(life.lastRead, at(v).lastRead);
    }
    uint64_t end = 0;
    for (size_t v = 0; v < types.size(); ++v) {
      if (program.values[v].region() != fb::Region::Arena)
        continue;
      if (homes[v] != v) {
        program.values[v].mutate_offset(program.values[homes[v]].offset());
        continue;
      }
      uint64_t offset = 0;
      for (bool moved = true; moved;) {
        moved = false;
        for (size_t o = 0; o < v; ++o) {
          const fb::Value &other = program.values[o];
          bool apart = memory[o].lastRead < memory[v].written ||
                       memory[v].lastRead < memory[o].written ||
                       offset + program.values[v].bytes() <= other.offset() ||
                       other.offset() + other.bytes() <= offset;
          if (homes[o] != o || other.region() != fb::Region::Arena || apart)
            continue;
          offset = (other.offset() + other.bytes() + 63) / 64 * 64;
          moved = true;
        }
      }
      program.values[v].mutate_offset(offset);
      end = std::max(end, offset + program.values[v].bytes());
    }
    return end;
  }

  std::vector<TensorType> types;

private:
  Life &at(uint32_t v) {
    lives.resize(std::max<size_t>(lives.size(), v + 1));
    return lives[v];
  }

  PlanBuilder &builder;
  const Mesh &mesh;
  fb::ProgramT &program;
  bool twoStreams;
  bool isApart = false; ///< A collective went to the other stream.
  uint32_t events = 0;
  std::vector<uint32_t> homes; ///< By value: whose memory it has.
  std::vector<Life> lives;
};

class Writer {
public:
  explicit Writer(const LayerOptions &options)
      : o(options), mesh(*Mesh::parse(options.mesh)), builder(mesh) {}

  fb::PlanT run() {
    auto stages = static_cast<int>(mesh.sizeOf("pp"));
    entry = std::make_unique<fb::EntryT>();
    entry->name = "decode";
    for (int stage = 0; stage < stages; ++stage) {
      entry->programs.push_back(std::make_unique<fb::ProgramT>());
      Tracer tracer(builder, mesh, *entry->programs.back(), o.twoStreams);
      program(tracer, stage, stages);
      fb::MemoryT &memory = *builder.plan.memory[stage];
      memory.arena_peak = tracer.place();
    }
    builder.plan.entries.push_back(std::move(entry));
    place();
    return std::move(builder.plan);
  }

private:
  TensorType type(std::vector<int64_t> shape, std::string text,
                  DType dtype = DType::F32) const {
    // Axes that the mesh lacks split nothing.
    for (const char *axis : {"dp", "tp"})
      if (!mesh.has(axis)) {
        std::string quoted = std::string("\"") + axis + "\"";
        for (size_t at; (at = text.find(quoted)) != std::string::npos;)
          text.erase(at, quoted.size());
      }
    for (size_t at; (at = text.find(", unreduced={}")) != std::string::npos;)
      text.erase(at, 14);
    return {dtype, std::move(shape), *parseSharding(text, mesh),
            ReductionKind::Sum};
  }

  uint32_t parameter(Tracer &t, const std::string &name, const TensorType &type,
                     uint32_t stage) {
    auto made = std::make_unique<fb::ParameterT>();
    made->name = made->key = name;
    made->stored_dtype = static_cast<uint8_t>(type.dtype);
    made->stored_shape = type.shape;
    int64_t stride = 1;
    for (size_t d = type.shape.size(); d-- > 0;) {
      made->view_strides.insert(made->view_strides.begin(), stride);
      stride *= type.shape[d];
    }
    made->type = builder.type(type);
    made->stages = {stage};
    builder.plan.parameters.push_back(std::move(made));
    return t.value(type, fb::Region::Parameter,
                   static_cast<uint32_t>(builder.plan.parameters.size() - 1));
  }

  void port(std::vector<std::unique_ptr<fb::PortT>> &ports, const char *name,
            const TensorType &type, uint32_t stage, uint32_t value) {
    if (std::none_of(ports.begin(), ports.end(),
                     [&](const auto &p) { return p->name == name; })) {
      ports.push_back(std::make_unique<fb::PortT>());
      ports.back()->name = name;
      ports.back()->type = builder.type(type);
      ports.back()->values.assign(builder.plan.memory.size(), kNone);
    }
    for (auto &p : ports)
      if (p->name == name)
        p->values[stage] = value;
  }

  ShardingRule product(const char *equation, char over, const TensorType &a,
                       const TensorType &b, const TensorType &to) {
    return RuleBuilder(equation)
        .kind(over, FactorKind::Reduction)
        .linear(0)
        .linear(1)
        .build({a.shape, b.shape}, {to.shape});
  }

  /// Brings a partial sum over tp to the layout of the residual stream.
  uint32_t reduce(Tracer &t, uint32_t partial, const std::string &where) {
    if (!mesh.has("tp"))
      return partial;
    return o.sequenceParallel ? t.collective(CollectiveKind::ReduceScatter,
                                             "tp", 1, partial, "einsum", where)
                              : t.collective(CollectiveKind::AllReduce, "tp", 0,
                                             partial, "einsum", where);
  }

  uint32_t whole(Tracer &t, uint32_t v, const std::string &where) {
    if (!mesh.has("tp") || !o.sequenceParallel)
      return v;
    return t.collective(CollectiveKind::AllGather, "tp", 1, v, "einsum", where);
  }

  uint32_t embedding(Tracer &t) {
    TensorType ids = type({o.batch, o.sequence}, R"([{"dp"}, {}])", DType::I32);
    uint32_t in = t.value(ids);
    t.input(in);
    port(entry->inputs, "ids", ids, 0, in);
    TensorType tableType = type({o.vocabulary, o.width}, R"([{"tp"}, {}])");
    uint32_t table = parameter(t, "embed", tableType, 0);
    TensorType rows = type({o.batch, o.sequence, o.width},
                           R"([{"dp"}, {}, {}], unreduced={"tp"})");
    uint32_t x = t.value(rows);
    t.launch("embedding",
             RuleBuilder("vd,bs->bsd")
                 .kind('v', FactorKind::Reduction)
                 .linear(0)
                 .build({tableType.shape, ids.shape}, {rows.shape}),
             {table, in}, x, "embed");
    return reduce(t, x, "embed");
  }

  TensorType stream() const {
    return type({o.batch, o.sequence, o.width}, o.sequenceParallel
                                                    ? R"([{"dp"}, {"tp"}, {}])"
                                                    : R"([{"dp"}, {}, {}])");
  }

  uint32_t layer(Tracer &t, uint32_t x, uint32_t stage, int number) {
    std::string where = "layers." + std::to_string(number);
    TensorType residual = stream();
    uint32_t n = t.value(residual);
    t.launch("rms_norm",
             RuleBuilder("bsd->bsd")
                 .kind('d', FactorKind::MustReplicate)
                 .build({residual.shape}, {residual.shape}),
             {x}, n, where + ".norm");
    cache(t, n, stage, where);
    n = whole(t, n, where + ".w1");
    TensorType w1 = type({o.width, o.hidden}, R"([{}, {"tp"}])");
    TensorType w2 = type({o.hidden, o.width}, R"([{"tp"}, {}])");
    TensorType hidden =
        type({o.batch, o.sequence, o.hidden}, R"([{"dp"}, {}, {"tp"}])");
    uint32_t up = parameter(t, where + ".w1", w1, stage);
    uint32_t f = t.value(hidden);
    t.launch("einsum", product("bsd,df->bsf", 'd', t.types[n], w1, hidden),
             {n, up}, f, where + ".w1");
    uint32_t g = t.inPlaceOf(f, hidden);
    t.launch("gelu",
             RuleBuilder("bsf->bsf").build({hidden.shape}, {hidden.shape}), {f},
             g, where + ".act");
    uint32_t down = parameter(t, where + ".w2", w2, stage);
    TensorType partialType = type({o.batch, o.sequence, o.width},
                                  R"([{"dp"}, {}, {}], unreduced={"tp"})");
    uint32_t partial = t.value(partialType);
    t.launch("einsum", product("bsf,fd->bsd", 'f', hidden, w2, partialType),
             {g, down}, partial, where + ".w2");
    uint32_t reduced = reduce(t, partial, where + ".w2");
    uint32_t sum = t.inPlaceOf(x, residual);
    t.launch("sum",
             RuleBuilder("bsd,bsd->bsd")
                 .allLinear()
                 .build({residual.shape, residual.shape}, {residual.shape}),
             {x, reduced}, sum, where + ".add");
    return sum;
  }

  void cache(Tracer &t, uint32_t n, uint32_t stage, const std::string &where) {
    auto state = std::make_unique<fb::StateT>();
    state->name = where + ".cache";
    state->type = builder.type(stream());
    state->stages = {stage};
    builder.plan.states.push_back(std::move(state));
    auto index = static_cast<uint32_t>(builder.plan.states.size() - 1);
    uint32_t old = t.value(stream(), fb::Region::State, index);
    uint32_t made = t.inPlaceOf(old, stream());
    t.launch("update_slice",
             RuleBuilder("bsd,bsd->bsd")
                 .allLinear()
                 .build({stream().shape, stream().shape}, {stream().shape}),
             {old, n}, made, where + ".cache");
  }

  /// Returns the best ids, where other stages want it.
  uint32_t head(Tracer &t, uint32_t x, uint32_t stage) {
    x = whole(t, x, "head");
    TensorType w = type({o.width, o.vocabulary}, R"([{}, {"tp"}])");
    TensorType logits =
        type({o.batch, o.sequence, o.vocabulary}, R"([{"dp"}, {}, {"tp"}])");
    uint32_t weights = parameter(t, "head", w, stage);
    uint32_t y = t.value(logits);
    t.launch("einsum", product("bsd,dv->bsv", 'd', t.types[x], w, logits),
             {x, weights}, y, "head");
    if (mesh.has("tp"))
      y = t.collective(CollectiveKind::AllGather, "tp", 2, y, "output", "head");
    port(entry->outputs, "logits", t.types[y], stage, y);
    t.output(y);
    if (mesh.sizeOf("pp") == 1)
      return kNone;
    uint32_t best = t.value(ids());
    t.launch("top_k",
             RuleBuilder("bsv->b")
                 .kind('s', FactorKind::MustReplicate)
                 .kind('v', FactorKind::MustReplicate)
                 .build({t.types[y].shape}, {ids().shape}),
             {y}, best, "head");
    return best;
  }

  void program(Tracer &t, int stage, int stages) {
    auto s = static_cast<uint32_t>(stage);
    uint32_t x;
    if (stage == 0) {
      x = embedding(t);
    } else {
      x = t.value(stream());
      t.add(fb::Opcode::Recv, {}, {x}, "stages").mutate_target(s - 1);
    }
    for (int l = stage; l < o.layers; l += stages)
      x = layer(t, x, s, l);
    t.join("stages");
    if (stage + 1 < stages)
      t.add(fb::Opcode::Send, {x}, {}, "stages").mutate_target(s + 1);
    uint32_t best = stage + 1 < stages ? kNone : head(t, x, s);
    if (stages > 1)
      tell(t, s, best);
  }

  /// The last stage tells the others the ids.
  void tell(Tracer &t, uint32_t stage, uint32_t best) {
    AxisList group = {mesh.whole("pp")};
    if (mesh.has("tp"))
      group.push_back(mesh.whole("tp"));
    uint32_t told = t.value(ids());
    std::vector<uint32_t> given;
    if (best != kNone)
      given = {best};
    fb::Instruction &i = t.add(fb::Opcode::Broadcast, given, {told}, "head");
    i.mutate_axes(builder.axisList(group));
    i.mutate_target(
        static_cast<uint32_t>(mesh.sizeOf("tp") * (mesh.sizeOf("pp") - 1)));
    port(entry->outputs, "ids", ids(), stage, told);
    t.output(told);
  }

  TensorType ids() const { return type({o.batch}, R"([{"dp"}])", DType::I32); }

  /// Parameters and states, one behind the other on their stage.
  void place() {
    std::vector<uint64_t> end(builder.plan.memory.size(), 0);
    auto lay = [&](auto &table, uint64_t fb::MemoryT::*sum) {
      uint64_t bytes = bytesOf(table->type);
      uint32_t stage = table->stages[0];
      table->offsets = {end[stage]};
      end[stage] += bytes;
      (*builder.plan.memory[stage]).*sum += bytes;
    };
    for (auto &p : builder.plan.parameters)
      lay(p, &fb::MemoryT::parameters);
    for (auto &s : builder.plan.states)
      lay(s, &fb::MemoryT::state);
  }

  uint64_t bytesOf(uint32_t type) const {
    for (const auto &entry : builder.plan.entries)
      for (const auto &program : entry->programs)
        for (const fb::Value &value : program->values)
          if (value.type() == type)
            return value.bytes();
    return 0;
  }

  const LayerOptions &o;
  Mesh mesh;
  PlanBuilder builder;
  std::unique_ptr<fb::EntryT> entry;
};

} // namespace

fb::PlanT layerPlan(const LayerOptions &options) {
  return Writer(options).run();
}

} // namespace tandem::test

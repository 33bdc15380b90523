#include "Mutations.h"

#include "runtime/plan/Verify.h"

#include <algorithm>
#include <set>

namespace tandem::test {
namespace {

/// The instructions that write a value and last read it; -1 before the first.
struct Life {
  int64_t written = -1;
  int64_t lastRead = -1;
};

fb::ProgramT &programOf(fb::PlanT &plan, size_t p) {
  return *plan.entries.back()->programs[p];
}

/// Takes an instruction out of the list and of its action.
void erase(fb::ProgramT &program, size_t i) {
  program.instructions.erase(program.instructions.begin() +
                             static_cast<long>(i));
  for (fb::Action &action : program.actions)
    if (action.first() > i)
      action.mutate_first(action.first() - 1);
    else if (action.first() + action.count() > i)
      action.mutate_count(action.count() - 1);
}

/// Puts an instruction behind instruction `i`, into its action.
void insertBehind(fb::ProgramT &program, size_t i, fb::Instruction it) {
  program.instructions.insert(
      program.instructions.begin() + static_cast<long>(i) + 1, it);
  for (fb::Action &action : program.actions)
    if (action.first() > i)
      action.mutate_first(action.first() + 1);
    else if (action.first() + action.count() > i)
      action.mutate_count(action.count() + 1);
}

bool isCollective(fb::Opcode op) {
  return op >= fb::Opcode::AllReduce && op <= fb::Opcode::Broadcast;
}

/// Collects the mutations of one plan.
class Mutator {
public:
  Mutator(const fb::PlanT &plan, bool isMinimal)
      : plan(plan), isMinimal(isMinimal) {
    for (size_t p = 0; p < plan.entries.back()->programs.size(); ++p)
      lives.push_back(livesOf(p));
  }

  std::vector<Mutation> run() {
    for (size_t p = 0; p < plan.entries.back()->programs.size(); ++p) {
      const fb::ProgramT &program = *plan.entries.back()->programs[p];
      for (size_t i = 0; i < program.instructions.size(); ++i)
        instruction(p, i);
      for (size_t v = 0; v < program.values.size(); ++v)
        value(p, v);
    }
    memory();
    parameters();
    ports();
    for (size_t p = 0; p < plan.entries.back()->programs.size(); ++p)
      schedule(p);
    return std::move(mutations);
  }

private:
  void add(const std::string &kind, const std::string &where,
           std::function<void(fb::PlanT &)> apply) {
    mutations.push_back({kind, kind + " " + where, std::move(apply)});
  }

  std::vector<Life> livesOf(size_t p) const {
    const fb::ProgramT &program = *plan.entries.back()->programs[p];
    std::vector<Life> lives(program.values.size());
    for (size_t i = 0; i < program.instructions.size(); ++i) {
      auto index = static_cast<int64_t>(i);
      for (uint32_t v : args(p, i, false))
        lives[v].lastRead = index;
      const fb::Instruction &it = program.instructions[i];
      size_t written = size_t(it.first_arg()) + it.inputs();
      for (size_t a = 0; a < size_t(it.outputs()) + it.workspaces(); ++a)
        lives[program.args[written + a]] = {index, index};
    }
    for (const auto &port : plan.entries.back()->outputs)
      if (port->values[p] != kNone)
        lives[port->values[p]].lastRead =
            static_cast<int64_t>(program.instructions.size());
    return lives;
  }

  const fb::Instruction &at(size_t p, size_t i) const {
    return plan.entries.back()->programs[p]->instructions[i];
  }
  std::vector<uint32_t> args(size_t p, size_t i, bool outputs) const {
    const fb::Instruction &it = at(p, i);
    const auto &all = plan.entries.back()->programs[p]->args;
    size_t begin = it.first_arg() + (outputs ? it.inputs() : 0);
    size_t count = outputs ? it.outputs() : it.inputs();
    return {all.begin() + static_cast<long>(begin),
            all.begin() + static_cast<long>(begin + count)};
  }
  static std::string place(size_t p, size_t i) {
    return "pp " + std::to_string(p) + " #" + std::to_string(i);
  }

  /// Changes one field of one instruction.
  void change(const std::string &kind, size_t p, size_t i,
              const std::function<void(fb::Instruction &)> &edit,
              const std::string &to = "") {
    add(kind, place(p, i) + to,
        [=](fb::PlanT &plan) { edit(programOf(plan, p).instructions[i]); });
  }

  void instruction(size_t p, size_t i) {
    fb::Opcode op = at(p, i).op();
    bool isEvent = op == fb::Opcode::Record || op == fb::Opcode::Wait;
    if (isEvent && !isMinimal)
      return outOfRange(p, i);
    dropped(p, i);
    swapped(p, i);
    // A reshape may move nothing, and where there are two streams already,
    // their events may be enough.
    if (!isReshape(p, i) && !hasEvents(p))
      change("other stream", p, i,
             [](fb::Instruction &it) { it.mutate_stream(1); });
    if (isEvent)
      event(p, i);
    outOfRange(p, i);
    if (isCollective(op))
      collective(p, i);
    if (op == fb::Opcode::Send || op == fb::Opcode::Recv)
      transfer(p, i);
  }

  bool hasEvents(size_t p) const {
    const auto &list = plan.entries.back()->programs[p]->instructions;
    return std::any_of(list.begin(), list.end(), [](const fb::Instruction &it) {
      return it.op() == fb::Opcode::Record;
    });
  }

  bool isReshape(size_t p, size_t i) const {
    return at(p, i).op() == fb::Opcode::Launch &&
           plan.kernels[at(p, i).target()] == "reshape";
  }

  /// A sum that lacks a term is a plan still.
  bool addsToSum(size_t p, size_t i) const {
    for (uint32_t v : args(p, i, true)) {
      fb::Region region = plan.entries.back()->programs[p]->values[v].region();
      std::vector<uint32_t> read = args(p, i, false);
      if ((region == fb::Region::Arena || region == fb::Region::Slot) &&
          std::count(read.begin(), read.end(), v))
        return true;
    }
    return false;
  }

  void dropped(size_t p, size_t i) {
    if (addsToSum(p, i))
      return;
    add("dropped", place(p, i),
        [=](fb::PlanT &plan) { erase(programOf(plan, p), i); });
  }

  void swapped(size_t p, size_t i) {
    if (i + 1 == plan.entries.back()->programs[p]->instructions.size())
      return;
    std::set<uint32_t> made;
    for (uint32_t v : args(p, i, true))
      made.insert(v);
    // What stands behind a wait is what waits.
    bool depends = at(p, i).op() == fb::Opcode::Wait &&
                   at(p, i).stream() == at(p, i + 1).stream();
    bool isEvent = at(p, i + 1).op() == fb::Opcode::Record ||
                   at(p, i + 1).op() == fb::Opcode::Wait;
    if (isEvent && !isMinimal)
      return;
    depends |= isEvent && at(p, i).op() == fb::Opcode::Record;
    // A record for the one behind the wait that follows it.
    size_t reader = at(p, i + 1).op() == fb::Opcode::Record ? i + 3 : i + 1;
    if (reader < plan.entries.back()->programs[p]->instructions.size())
      for (uint32_t v : args(p, reader, false))
        depends |= made.count(v) > 0;
    if (depends)
      add("swapped", place(p, i), [=](fb::PlanT &plan) {
        auto &list = programOf(plan, p).instructions;
        std::swap(list[i], list[i + 1]);
      });
  }

  /// Another event is recorded earlier, or never.
  void event(size_t p, size_t i) {
    for (uint32_t event = 0; event < 2 * at(p, i).target() + 2; ++event)
      if (event != at(p, i).target())
        change(
            "other event", p, i,
            [=](fb::Instruction &it) { it.mutate_target(event); },
            " to " + std::to_string(event));
  }

  void outOfRange(size_t p, size_t i) {
    change("first argument out of range", p, i,
           [](fb::Instruction &it) { it.mutate_first_arg(1u << 30); });
    change("axes out of range", p, i,
           [](fb::Instruction &it) { it.mutate_axes(999); });
    change("location out of range", p, i,
           [](fb::Instruction &it) { it.mutate_location(99999); });
    change("operation out of range", p, i, [](fb::Instruction &it) {
      it.mutate_op(static_cast<fb::Opcode>(40));
    });
    if (at(p, i).op() == fb::Opcode::Launch) {
      change("kernel out of range", p, i,
             [](fb::Instruction &it) { it.mutate_target(999); });
      change("rule out of range", p, i,
             [](fb::Instruction &it) { it.mutate_rule(999); });
      change("one input less", p, i, [](fb::Instruction &it) {
        it.mutate_inputs(static_cast<uint16_t>(it.inputs() - 1));
        it.mutate_first_arg(it.first_arg() + 1);
      });
    }
    if (at(p, i).inputs() + at(p, i).outputs() == 0)
      return;
    add("argument out of range", place(p, i), [=](fb::PlanT &plan) {
      fb::ProgramT &program = programOf(plan, p);
      program.args[program.instructions[i].first_arg()] = 1u << 20;
    });
  }

  /// Lets everything behind instruction i that reads `from` read `to`.
  static void rewire(fb::PlanT &plan, size_t p, size_t i, uint32_t from,
                     uint32_t to) {
    fb::ProgramT &program = programOf(plan, p);
    for (size_t k = i; k < program.instructions.size(); ++k) {
      const fb::Instruction &it = program.instructions[k];
      for (uint32_t a = 0; a < it.inputs(); ++a)
        if (program.args[it.first_arg() + a] == from)
          program.args[it.first_arg() + a] = to;
    }
    for (auto &port : plan.entries.back()->outputs)
      if (port->values[p] == from)
        port->values[p] = to;
  }

  void collective(size_t p, size_t i) {
    fb::Opcode op = at(p, i).op();
    if (at(p, i).inputs() > 0) {
      uint32_t in = args(p, i, false)[0], out = args(p, i, true)[0];
      add("skipped", place(p, i), [=](fb::PlanT &plan) {
        erase(programOf(plan, p), i);
        rewire(plan, p, i, out, in);
      });
      // A broadcast of what all have by now changes nothing.
      if (op != fb::Opcode::Broadcast || plan.stages > 1)
        add("doubled", place(p, i),
            [=](fb::PlanT &plan) { doubled(plan, p, i); });
    }
    for (uint32_t axes = 0; axes < plan.axis_lists.size(); ++axes)
      if (axes != at(p, i).axes())
        change(
            "other axes", p, i,
            [=](fb::Instruction &it) { it.mutate_axes(axes); },
            " to " + std::to_string(axes));
    for (int other = 1; other <= 9; ++other)
      if (other != static_cast<int>(op))
        change(
            "other operation", p, i,
            [=](fb::Instruction &it) {
              it.mutate_op(static_cast<fb::Opcode>(other));
            },
            " to " + std::to_string(other));
    if (op == fb::Opcode::AllReduce || op == fb::Opcode::ReduceScatter)
      change("other reduction", p, i, [](fb::Instruction &it) {
        it.mutate_reduction(it.reduction() == fb::ReductionKind::Max
                                ? fb::ReductionKind::Sum
                                : fb::ReductionKind::Max);
      });
    if (op == fb::Opcode::Broadcast)
      root(p, i);
    else if (op != fb::Opcode::AllReduce && op != fb::Opcode::Permute)
      dimensions(p, i);
    if (at(p, i).workspaces())
      change("no workspace", p, i,
             [](fb::Instruction &it) { it.mutate_workspaces(0); });
  }

  void dimensions(size_t p, size_t i) {
    for (uint8_t dim = 0; dim < 4; ++dim) {
      std::string to = " to " + std::to_string(dim);
      if (dim != at(p, i).dim())
        change(
            "other dimension", p, i,
            [=](fb::Instruction &it) { it.mutate_dim(dim); }, to);
      if (at(p, i).op() == fb::Opcode::AllToAll && dim != at(p, i).from_dim())
        change(
            "other dimension", p, i,
            [=](fb::Instruction &it) { it.mutate_from_dim(dim); },
            " from" + to);
    }
  }

  /// A root on another stage has nothing to give; ranks of one stage do have
  /// the same.
  void root(size_t p, size_t i) {
    Result<Plan> loaded = Plan::fromNative(plan);
    const AxisList &axes = loaded->axisList(at(p, i).axes());
    auto stageOf = [&](int64_t position) {
      int64_t member = loaded->rankOfStage(static_cast<uint32_t>(p));
      return loaded->stageOf(
          loaded->mesh().withCoordinate(member, axes, position));
    };
    for (uint32_t other = 0; other <= sizeOf(axes); ++other)
      if (other == sizeOf(axes) || stageOf(other) != stageOf(at(p, i).target()))
        change(
            "other root", p, i,
            [=](fb::Instruction &it) { it.mutate_target(other); },
            " to " + std::to_string(other));
  }

  /// Repeats a collective on its own result, into fresh memory.
  static void doubled(fb::PlanT &plan, size_t p, size_t i) {
    fb::ProgramT &program = programOf(plan, p);
    fb::Instruction again = program.instructions[i];
    uint32_t first = again.first_arg(), out = program.args[first + 1];
    auto fresh = [&](uint32_t v) {
      fb::Value value = program.values[v];
      uint64_t &peak = plan.memory[p]->arena_peak;
      value.mutate_offset((peak + 63) / 64 * 64);
      peak = value.offset() + value.bytes();
      program.values.push_back(value);
      return static_cast<uint32_t>(program.values.size() - 1);
    };
    std::vector<uint32_t> args = {out, fresh(out)};
    for (uint32_t w = 0; w < again.workspaces(); ++w)
      args.push_back(fresh(program.args[first + 2]));
    rewire(plan, p, i + 1, out, args[1]);
    again.mutate_first_arg(static_cast<uint32_t>(program.args.size()));
    program.args.insert(program.args.end(), args.begin(), args.end());
    insertBehind(program, i, again);
  }

  void transfer(size_t p, size_t i) {
    for (uint32_t peer = 0; peer < plan.stages + 1; ++peer)
      if (peer != at(p, i).target())
        change(
            "other peer", p, i,
            [=](fb::Instruction &it) { it.mutate_target(peer); },
            " to " + std::to_string(peer));
    if (at(p, i).op() == fb::Opcode::Send)
      add("sent twice", place(p, i), [=](fb::PlanT &plan) {
        fb::ProgramT &program = programOf(plan, p);
        insertBehind(program, i, program.instructions[i]);
      });
    add("turned round", place(p, i), [=](fb::PlanT &plan) {
      fb::Instruction &it = programOf(plan, p).instructions[i];
      bool sends = it.op() == fb::Opcode::Send;
      it.mutate_op(sends ? fb::Opcode::Recv : fb::Opcode::Send);
      it.mutate_inputs(sends ? 0 : 1);
      it.mutate_outputs(sends ? 1 : 0);
    });
  }

  void value(size_t p, size_t v) {
    const fb::Value &value = plan.entries.back()->programs[p]->values[v];
    for (int64_t by : {-4, 4})
      edit("resized", p, v, [=](fb::Value &it) {
        it.mutate_bytes(it.bytes() + static_cast<uint64_t>(by));
      });
    edit("type out of range", p, v,
         [](fb::Value &it) { it.mutate_type(9999); });
    if (value.region() != fb::Region::Arena) {
      edit("index out of range", p, v,
           [](fb::Value &it) { it.mutate_index(9999); });
      return;
    }
    edit("far away", p, v,
         [](fb::Value &it) { it.mutate_offset(uint64_t(1) << 50); });
    overlapping(p, v);
    shifted(p, v);
    const Life &life = lives[p][v];
    if (life.lastRead > life.written)
      otherTypes(p, v);
  }

  void edit(const std::string &kind, size_t p, size_t v,
            const std::function<void(fb::Value &)> &edit,
            const std::string &to = "") {
    add(kind, "pp " + std::to_string(p) + " %" + std::to_string(v) + to,
        [=](fb::PlanT &plan) { edit(programOf(plan, p).values[v]); });
  }

  /// Moves a value a little, into another that lives at the same time.
  void shifted(size_t p, size_t v) {
    const auto &values = plan.entries.back()->programs[p]->values;
    for (int64_t by : {-64, -8, 8, 64}) {
      int64_t begin = static_cast<int64_t>(values[v].offset()) + by;
      auto end = begin + static_cast<int64_t>(values[v].bytes());
      bool hurts = false;
      for (size_t o = 0; o < values.size() && begin >= 0; ++o) {
        auto from = static_cast<int64_t>(values[o].offset());
        auto to = from + static_cast<int64_t>(values[o].bytes());
        hurts |= o != v && values[o].region() == fb::Region::Arena &&
                 from < end && begin < to && liveTogether(p, v, o);
      }
      if (hurts)
        edit(
            "shifted", p, v,
            [=](fb::Value &it) {
              it.mutate_offset(static_cast<uint64_t>(begin));
            },
            " by " + std::to_string(by));
    }
  }

  bool liveTogether(size_t p, size_t a, size_t b) const {
    const Life &left = lives[p][a], &right = lives[p][b];
    return left.written < right.lastRead && right.written < left.lastRead;
  }

  /// Puts a value over another that is written before this one's last read
  /// and read after this one is written.
  void overlapping(size_t p, size_t v) {
    const auto &values = plan.entries.back()->programs[p]->values;
    for (size_t o = 0; o < values.size(); ++o) {
      if (o == v || values[o].region() != fb::Region::Arena ||
          values[o].offset() == values[v].offset() || !liveTogether(p, v, o))
        continue;
      uint64_t offset = values[o].offset();
      edit(
          "overlapping", p, v, [=](fb::Value &it) { it.mutate_offset(offset); },
          " over %" + std::to_string(o));
    }
  }

  /// Declares another type, with the bytes that go with it.
  void otherTypes(size_t p, size_t v) {
    const auto &values = plan.entries.back()->programs[p]->values;
    std::set<uint32_t> tried = {values[v].type()};
    for (const fb::Value &other : values) {
      if (!tried.insert(other.type()).second ||
          differOnlyInElements(values[v].type(), other.type()))
        continue;
      uint32_t type = other.type();
      uint64_t bytes = other.bytes();
      edit(
          "other type", p, v,
          [=](fb::Value &it) {
            it.mutate_type(type);
            it.mutate_bytes(bytes);
          },
          " to " + std::to_string(type));
    }
  }

  /// What elements are is for kernels to check.
  bool differOnlyInElements(uint32_t a, uint32_t b) const {
    const fb::TypeT &left = *plan.types[a], &right = *plan.types[b];
    return left.shape == right.shape && left.dim_axes == right.dim_axes &&
           left.unreduced == right.unreduced;
  }

  void memory() {
    for (size_t p = 0; p < plan.memory.size(); ++p) {
      auto lie = [&](const char *what, uint64_t fb::MemoryT::*field,
                     int64_t by) {
        add(what, "pp " + std::to_string(p), [=](fb::PlanT &plan) {
          (*plan.memory[p]).*field += static_cast<uint64_t>(by);
        });
      };
      auto half = [](uint64_t bytes) {
        return -static_cast<int64_t>(bytes / 2);
      };
      lie("less arena", &fb::MemoryT::arena_peak,
          half(plan.memory[p]->arena_peak));
      lie("much more arena", &fb::MemoryT::arena_peak, 1 << 20);
      lie("lower bound", &fb::MemoryT::arena_lower_bound, 1 << 20);
      if (plan.memory[p]->parameters)
        lie("less parameters", &fb::MemoryT::parameters,
            half(plan.memory[p]->parameters));
      lie("much more parameters", &fb::MemoryT::parameters, 1 << 20);
      if (plan.memory[p]->state)
        lie("less state", &fb::MemoryT::state, half(plan.memory[p]->state));
      lie("endless state", &fb::MemoryT::state, int64_t(1) << 62);
    }
  }

  void parameters() {
    for (size_t k = 0; k < plan.parameters.size(); ++k) {
      auto on = [&](const char *what,
                    const std::function<void(fb::ParameterT &)> &edit) {
        add(std::string("parameter ") + what, plan.parameters[k]->name,
            [=](fb::PlanT &plan) { edit(*plan.parameters[k]); });
      };
      on("behind its tensor", [](fb::ParameterT &it) { it.view_offset += 1; });
      on("stretched", [](fb::ParameterT &it) { it.view_strides[0] *= 2; });
      on("repeated", [](fb::ParameterT &it) { it.view_strides[0] = 0; });
      on("shifted", [](fb::ParameterT &it) { it.offsets[0] += 1 << 20; });
      on("misaligned", [](fb::ParameterT &it) { it.offsets[0] += 2; });
      on("nowhere", [](fb::ParameterT &it) {
        it.stages.clear();
        it.offsets.clear();
      });
      on("other rank", [](fb::ParameterT &it) { it.view_strides.pop_back(); });
      for (size_t o = 0; o < k; ++o)
        if (plan.parameters[o]->stages == plan.parameters[k]->stages) {
          uint64_t offset = plan.parameters[o]->offsets[0];
          on("over another",
             [=](fb::ParameterT &it) { it.offsets[0] = offset; });
          break;
        }
      if (plan.stages > 1)
        on("on another stage", [stages = plan.stages](fb::ParameterT &it) {
          it.stages[0] = (it.stages[0] + 1) % stages;
        });
    }
    if (plan.stages > 1)
      add("programs exchanged", "", [](fb::PlanT &plan) {
        std::swap(plan.entries.back()->programs[0],
                  plan.entries.back()->programs[1]);
      });
  }

  void ports() {
    for (bool isInput : {true, false}) {
      const auto &list =
          isInput ? plan.entries.back()->inputs : plan.entries.back()->outputs;
      for (size_t k = 0; k < list.size(); ++k)
        for (size_t p = 0; p < list[k]->values.size(); ++p) {
          uint32_t v = list[k]->values[p];
          if (v == kNone)
            continue;
          auto on = [&](const std::string &kind,
                        const std::function<void(fb::PortT &)> &edit) {
            add("port with " + kind, list[k]->name, [=](fb::PlanT &plan) {
              edit(isInput ? *plan.entries.back()->inputs[k]
                           : *plan.entries.back()->outputs[k]);
            });
          };
          // An input that a stage never reads is not missed there, and an
          // output that another stage gives too is there.
          const std::vector<uint32_t> &read =
              plan.entries.back()->programs[p]->args;
          bool missed =
              isInput ? std::count(read.begin(), read.end(), v) > 0
                      : std::count_if(
                            list[k]->values.begin(), list[k]->values.end(),
                            [](uint32_t other) { return other != kNone; }) == 1;
          if (missed)
            on("no value", [=](fb::PortT &it) { it.values[p] = kNone; });
          on("value out of range", [=](fb::PortT &it) { it.values[p] = 9999; });
          const auto &values = plan.entries.back()->programs[p]->values;
          for (uint32_t o = 0; o < values.size(); ++o)
            if (values[o].type() != values[v].type())
              on("another value", [=](fb::PortT &it) { it.values[p] = o; });
        }
    }
  }

  //===--- Schedules ------------------------------------------------------===//

  void schedule(size_t p) {
    const fb::ProgramT &program = *plan.entries.back()->programs[p];
    for (size_t k = 0; k < program.schedule.size(); ++k)
      scheduled(p, k);
    for (size_t a = 0; a < program.actions.size(); ++a) {
      auto on = [&](const char *kind,
                    const std::function<void(fb::Action &)> &edit) {
        add(kind, "pp " + std::to_string(p) + " action " + std::to_string(a),
            [=](fb::PlanT &plan) { edit(programOf(plan, p).actions[a]); });
      };
      on("action moved",
         [](fb::Action &it) { it.mutate_first(it.first() + 1); });
      on("action cut", [](fb::Action &it) { it.mutate_count(it.count() - 1); });
      on("action without its pool", [](fb::Action &it) {
        it.mutate_pool(it.pool() == kNone ? 0 : kNone);
      });
    }
    for (size_t k = 0; k < program.pools.size(); ++k)
      pool(p, k);
  }

  void scheduled(size_t p, size_t k) {
    std::string where = "pp " + std::to_string(p) + " run " + std::to_string(k);
    const fb::ProgramT &program = *plan.entries.back()->programs[p];
    const fb::ScheduleItem &item = program.schedule[k];
    auto on = [&](const char *kind, const std::string &to,
                  const std::function<void(fb::ScheduleItem &)> &edit) {
      add(kind, where + to,
          [=](fb::PlanT &plan) { edit(programOf(plan, p).schedule[k]); });
    };
    auto edit = [&](const char *kind,
                    const std::function<void(std::vector<fb::ScheduleItem> &)>
                        &change) {
      add(kind, where,
          [=](fb::PlanT &plan) { change(programOf(plan, p).schedule); });
    };
    edit("run skipped",
         [=](auto &list) { list.erase(list.begin() + static_cast<long>(k)); });
    edit("run repeated", [=](auto &list) {
      list.insert(list.begin() + static_cast<long>(k),
                  fb::ScheduleItem(list[k]));
    });
    on("run of another action", "", [=](fb::ScheduleItem &it) {
      it.mutate_action(it.action() ? it.action() - 1 : 1);
    });
    on("run of another microbatch", "",
       [](fb::ScheduleItem &it) { it.mutate_microbatch(it.microbatch() + 1); });
    on("run in another slot", "",
       [](fb::ScheduleItem &it) { it.mutate_slot(it.slot() + 1); });
    if (k + 1 == program.schedule.size())
      return;
    const fb::ScheduleItem &next = program.schedule[k + 1];
    // A stage's actions for one microbatch need each other; the epilogue needs
    // all.
    bool isLast = k + 2 == program.schedule.size() && isOnce(program, next);
    bool isPair = !isOnce(program, item) && !isOnce(program, next) &&
                  item.microbatch() == next.microbatch();
    if (isLast || isPair)
      edit("runs exchanged",
           [=](auto &list) { std::swap(list[k], list[k + 1]); });
  }

  static bool isOnce(const fb::ProgramT &program,
                     const fb::ScheduleItem &item) {
    return program.actions[item.action()].pool() == kNone;
  }

  void pool(size_t p, size_t k) {
    auto on = [&](const char *kind,
                  const std::function<void(fb::SlotPool &)> &edit) {
      add(kind, "pp " + std::to_string(p) + " pool " + std::to_string(k),
          [=](fb::PlanT &plan) { edit(programOf(plan, p).pools[k]); });
    };
    on("pool far away",
       [](fb::SlotPool &it) { it.mutate_base(uint64_t(1) << 40); });
    on("pool of small slots",
       [](fb::SlotPool &it) { it.mutate_bytes(it.bytes() / 2); });
    on("pool of large slots",
       [](fb::SlotPool &it) { it.mutate_bytes(it.bytes() + (1 << 20)); });
    on("pool of more slots",
       [](fb::SlotPool &it) { it.mutate_count(it.count() + 1); });
    on("pool of fewer slots",
       [](fb::SlotPool &it) { it.mutate_count(it.count() - 1); });
  }

  const fb::PlanT &plan;
  bool isMinimal;
  std::vector<std::vector<Life>> lives; // By program, by value.
  std::vector<Mutation> mutations;
};

} // namespace

std::vector<Mutation> mutationsOf(const fb::PlanT &plan, bool isMinimal) {
  return Mutator(plan, isMinimal).run();
}

std::string verdict(const fb::PlanT &native) {
  Result<Plan> plan = Plan::fromNative(native);
  if (!plan.ok())
    return plan.status().message();
  Status status = verify(*plan);
  return status.ok() ? "fine" : status.message();
}

} // namespace tandem::test

#include "PlanFields.h"

namespace tandem::test {
namespace {

/// Where something lies, from a plan that may be another copy.
template <typename T> using Path = std::function<T &(fb::PlanT &)>;

/// Tables stand in their lists by pointer, structs by value.
template <typename T> T &at(std::vector<T> &list, size_t i) { return list[i]; }
template <typename T> T &at(std::vector<std::unique_ptr<T>> &list, size_t i) {
  return *list[i];
}
template <typename T> T copyOf(const T &item) { return item; }
template <typename T>
std::unique_ptr<T> copyOf(const std::unique_ptr<T> &item) {
  return std::make_unique<T>(*item);
}

class Collector {
public:
  explicit Collector(fb::PlanT &plan) : plan(plan) {}

  void run() {
    shared();
    for (size_t e = 0; e < plan.entries.size(); ++e) {
      Path<fb::EntryT> entry = [e](fb::PlanT &p) -> fb::EntryT & {
        return *p.entries[e];
      };
      where = entry(plan).name;
      number("entry.flops", entry, &fb::EntryT::flops);
      number("entry.flops_unsharded", entry, &fb::EntryT::flops_unsharded);
      number("entry.microbatches", entry, &fb::EntryT::microbatches);
      ports("input", member(entry, &fb::EntryT::inputs));
      ports("output", member(entry, &fb::EntryT::outputs));
      auto programs = member(entry, &fb::EntryT::programs);
      list("entry.programs", programs);
      each(programs, [&](size_t i, Path<fb::ProgramT> program) {
        std::string outer = where;
        where += " pp " + std::to_string(i);
        this->program(program);
        where = outer;
      });
    }
  }

  std::vector<PlanField> fields;
  std::vector<PlanList> lists;

private:
  template <typename Table, typename T>
  static Path<T> member(Path<Table> table, T Table::*field) {
    return [=](fb::PlanT &p) -> T & { return table(p).*field; };
  }

  template <typename Item, typename Body>
  void each(Path<std::vector<Item>> items, const Body &body) {
    using T = std::remove_reference_t<decltype(at(items(plan), 0))>;
    for (size_t i = 0; i < items(plan).size(); ++i)
      body(i, Path<T>([=](fb::PlanT &p) -> T & { return at(items(p), i); }));
  }

  void add(const char *name, int64_t value,
           std::function<void(fb::PlanT &, int64_t)> set) {
    fields.push_back({name, where, value, std::move(set)});
  }

  template <typename Table, typename T>
  void number(const char *name, Path<Table> table, T Table::*field) {
    add(name, static_cast<int64_t>(table(plan).*field),
        [=](fb::PlanT &p, int64_t value) {
          table(p).*field = static_cast<T>(value);
        });
  }

  /// A field of a struct, by its accessor and its mutator.
  template <typename Struct, typename T, typename Result>
  void number(const char *name, Path<Struct> item, T (Struct::*get)() const,
              Result (Struct::*set)(T)) {
    add(name, static_cast<int64_t>((item(plan).*get)()),
        [=](fb::PlanT &p, int64_t value) {
          (item(p).*set)(static_cast<T>(value));
        });
  }

  template <typename T>
  void numbers(const char *name, Path<std::vector<T>> items) {
    list(name, items);
    each(items, [&](size_t i, Path<T> item) {
      std::string outer = where;
      where += " [" + std::to_string(i) + "]";
      add(name, static_cast<int64_t>(item(plan)),
          [=](fb::PlanT &p, int64_t value) {
            item(p) = static_cast<T>(value);
          });
      where = outer;
    });
  }

  template <typename Item>
  void list(const char *name, Path<std::vector<Item>> items) {
    size_t size = items(plan).size();
    if (size < 2)
      return;
    lists.push_back({name, where, size,
                     [=](fb::PlanT &p, size_t i, size_t j) {
                       std::swap(items(p)[i], items(p)[j]);
                     },
                     [=](fb::PlanT &p, size_t i) {
                       items(p).erase(items(p).begin() + static_cast<long>(i));
                     },
                     [=](fb::PlanT &p, size_t i) {
                       Item again = copyOf(items(p)[i]);
                       items(p).insert(items(p).begin() + static_cast<long>(i),
                                       std::move(again));
                     }});
  }

  template <typename T>
  Path<std::vector<T>> of(std::vector<T> fb::PlanT::*field) {
    return [=](fb::PlanT &p) -> std::vector<T> & { return p.*field; };
  }

  /// Goes through a list of tables, each called `what` and its number.
  template <typename T, typename Body>
  void tables(const char *name, std::vector<std::unique_ptr<T>> fb::PlanT::*own,
              const Body &body) {
    where = name;
    list(name, of(own));
    each(of(own), [&](size_t i, Path<T> item) {
      where = std::string(name) + " " + std::to_string(i);
      body(item);
    });
  }

  void shared() {
    Path<fb::PlanT> root = [](fb::PlanT &p) -> fb::PlanT & { return p; };
    where = "plan";
    number("stages", root, &fb::PlanT::stages);
    list("strings", of(&fb::PlanT::strings));
    list("kernels", of(&fb::PlanT::kernels));
    list("facts", of(&fb::PlanT::facts));
    list("entries", of(&fb::PlanT::entries));
    numbers("numbers", of(&fb::PlanT::numbers));
    tables("mesh", &fb::PlanT::mesh, [&](Path<fb::AxisT> axis) {
      number("axis.size", axis, &fb::AxisT::size);
    });
    tables("axis_lists", &fb::PlanT::axis_lists,
           [&](Path<fb::AxisListT> axes) { axisList(axes); });
    tables("types", &fb::PlanT::types,
           [&](Path<fb::TypeT> type) { this->type(type); });
    tables("rules", &fb::PlanT::rules,
           [&](Path<fb::RuleT> rule) { this->rule(rule); });
    tables("parameters", &fb::PlanT::parameters,
           [&](Path<fb::ParameterT> parameter) { held(parameter); });
    tables("states", &fb::PlanT::states,
           [&](Path<fb::StateT> state) { placed("state", state); });
    tables("memory", &fb::PlanT::memory,
           [&](Path<fb::MemoryT> memory) { this->memory(memory); });
  }

  void axisList(Path<fb::AxisListT> table) {
    auto axes = member(table, &fb::AxisListT::axes);
    list("axis_list.axes", axes);
    each(axes, [&](size_t, Path<fb::AxisRef> axis) {
      using A = fb::AxisRef;
      number("axis_ref.axis", axis, &A::axis, &A::mutate_axis);
      number("axis_ref.pre_size", axis, &A::pre_size, &A::mutate_pre_size);
      number("axis_ref.size", axis, &A::size, &A::mutate_size);
    });
  }

  void type(Path<fb::TypeT> type) {
    number("type.dtype", type, &fb::TypeT::dtype);
    numbers("type.shape", member(type, &fb::TypeT::shape));
    numbers("type.dim_axes", member(type, &fb::TypeT::dim_axes));
    number("type.unreduced", type, &fb::TypeT::unreduced);
    number("type.reduction", type, &fb::TypeT::reduction);
  }

  void rule(Path<fb::RuleT> rule) {
    number("rule.additive", rule, &fb::RuleT::additive);
    auto factors = member(rule, &fb::RuleT::factors);
    list("rule.factors", factors);
    each(factors, [&](size_t, Path<fb::Factor> factor) {
      using F = fb::Factor;
      number("factor.size", factor, &F::size, &F::mutate_size);
      number("factor.kind", factor, &F::kind, &F::mutate_kind);
      number("factor.reduction", factor, &F::reduction, &F::mutate_reduction);
    });
    for (auto field : {&fb::RuleT::operands, &fb::RuleT::results}) {
      auto mappings = member(rule, field);
      list("rule.mappings", mappings);
      each(mappings, [&](size_t, Path<fb::MappingT> mapping) {
        number("mapping.linear", mapping, &fb::MappingT::linear);
        numbers("mapping.dims", member(mapping, &fb::MappingT::dims));
      });
    }
  }

  template <typename T> void placed(const std::string &name, Path<T> table) {
    number((name + ".type").c_str(), table, &T::type);
    numbers((name + ".stages").c_str(), member(table, &T::stages));
    numbers((name + ".offsets").c_str(), member(table, &T::offsets));
  }

  void held(Path<fb::ParameterT> parameter) {
    using P = fb::ParameterT;
    placed("parameter", parameter);
    number("parameter.stored_dtype", parameter, &P::stored_dtype);
    numbers("parameter.stored_shape", member(parameter, &P::stored_shape));
    number("parameter.view_offset", parameter, &P::view_offset);
    numbers("parameter.view_strides", member(parameter, &P::view_strides));
    number("parameter.trained", parameter, &P::trained);
  }

  void memory(Path<fb::MemoryT> memory) {
    using M = fb::MemoryT;
    number("memory.parameters", memory, &M::parameters);
    number("memory.state", memory, &M::state);
    number("memory.arena_peak", memory, &M::arena_peak);
    number("memory.arena_lower_bound", memory, &M::arena_lower_bound);
  }

  void ports(const std::string &kind,
             Path<std::vector<std::unique_ptr<fb::PortT>>> ports) {
    list((kind + "s").c_str(), ports);
    each(ports, [&](size_t, Path<fb::PortT> port) {
      std::string outer = where;
      where += " " + kind + " " + port(plan).name;
      number((kind + ".type").c_str(), port, &fb::PortT::type);
      numbers((kind + ".values").c_str(), member(port, &fb::PortT::values));
      number((kind + ".parameter").c_str(), port, &fb::PortT::parameter);
      where = outer;
    });
  }

  void program(Path<fb::ProgramT> program) {
    list("program.instructions", member(program, &fb::ProgramT::instructions));
    list("program.values", member(program, &fb::ProgramT::values));
    numbers("program.args", member(program, &fb::ProgramT::args));
    std::string outer = where;
    each(member(program, &fb::ProgramT::instructions),
         [&](size_t i, Path<fb::Instruction> instruction) {
           where = outer + " #" + std::to_string(i);
           this->instruction(instruction);
         });
    each(member(program, &fb::ProgramT::values),
         [&](size_t i, Path<fb::Value> value) {
           where = outer + " %" + std::to_string(i);
           this->value(value);
         });
    where = outer;
    schedule(program);
  }

  void schedule(Path<fb::ProgramT> program) {
    list("program.actions", member(program, &fb::ProgramT::actions));
    list("program.schedule", member(program, &fb::ProgramT::schedule));
    list("program.pools", member(program, &fb::ProgramT::pools));
    each(member(program, &fb::ProgramT::actions),
         [&](size_t, Path<fb::Action> action) {
           using A = fb::Action;
           number("action.first", action, &A::first, &A::mutate_first);
           number("action.count", action, &A::count, &A::mutate_count);
           number("action.name", action, &A::name, &A::mutate_name);
           number("action.pool", action, &A::pool, &A::mutate_pool);
         });
    each(member(program, &fb::ProgramT::schedule),
         [&](size_t, Path<fb::ScheduleItem> item) {
           using I = fb::ScheduleItem;
           number("schedule.action", item, &I::action, &I::mutate_action);
           number("schedule.microbatch", item, &I::microbatch,
                  &I::mutate_microbatch);
           number("schedule.slot", item, &I::slot, &I::mutate_slot);
         });
    each(member(program, &fb::ProgramT::pools),
         [&](size_t, Path<fb::SlotPool> pool) {
           using S = fb::SlotPool;
           number("pool.base", pool, &S::base, &S::mutate_base);
           number("pool.bytes", pool, &S::bytes, &S::mutate_bytes);
           number("pool.count", pool, &S::count, &S::mutate_count);
         });
  }

  void instruction(Path<fb::Instruction> it) {
    using I = fb::Instruction;
    number("instruction.op", it, &I::op, &I::mutate_op);
    number("instruction.reduction", it, &I::reduction, &I::mutate_reduction);
    number("instruction.dim", it, &I::dim, &I::mutate_dim);
    number("instruction.from_dim", it, &I::from_dim, &I::mutate_from_dim);
    number("instruction.stream", it, &I::stream, &I::mutate_stream);
    number("instruction.layer", it, &I::layer, &I::mutate_layer);
    number("instruction.target", it, &I::target, &I::mutate_target);
    number("instruction.axes", it, &I::axes, &I::mutate_axes);
    number("instruction.rule", it, &I::rule, &I::mutate_rule);
    number("instruction.first_arg", it, &I::first_arg, &I::mutate_first_arg);
    number("instruction.inputs", it, &I::inputs, &I::mutate_inputs);
    number("instruction.outputs", it, &I::outputs, &I::mutate_outputs);
    number("instruction.workspaces", it, &I::workspaces, &I::mutate_workspaces);
    number("instruction.numbers_count", it, &I::numbers_count,
           &I::mutate_numbers_count);
    number("instruction.first_number", it, &I::first_number,
           &I::mutate_first_number);
    number("instruction.cause", it, &I::cause, &I::mutate_cause);
    number("instruction.location", it, &I::location, &I::mutate_location);
  }

  void value(Path<fb::Value> value) {
    using V = fb::Value;
    number("value.type", value, &V::type, &V::mutate_type);
    number("value.index", value, &V::index, &V::mutate_index);
    number("value.offset", value, &V::offset, &V::mutate_offset);
    number("value.bytes", value, &V::bytes, &V::mutate_bytes);
    number("value.region", value, &V::region, &V::mutate_region);
  }

  fb::PlanT &plan;
  std::string where;
};

Collector collected(const fb::PlanT &plan) {
  // Only looked at: what it returns writes to plans that it is given.
  Collector collector(const_cast<fb::PlanT &>(plan));
  collector.run();
  return collector;
}

} // namespace

std::vector<PlanField> fieldsOf(const fb::PlanT &plan) {
  return collected(plan).fields;
}

std::vector<PlanList> listsOf(const fb::PlanT &plan) {
  return collected(plan).lists;
}

} // namespace tandem::test

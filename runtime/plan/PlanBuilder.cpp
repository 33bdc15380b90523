#include "runtime/plan/PlanBuilder.h"

#include <algorithm>

namespace tandem {
namespace {

/// Returns `key`'s index, adding it by `add` at the end of `list` when new.
template <typename List, typename Add>
uint32_t intern(std::map<std::string, uint32_t> &known, List &list,
                const std::string &key, Add add) {
  auto [it, isNew] = known.try_emplace(key, static_cast<uint32_t>(list.size()));
  if (isNew)
    list.push_back(add());
  return it->second;
}

template <typename T> void append(std::string &key, const T &number) {
  key += std::to_string(static_cast<int64_t>(number)) + ",";
}

std::unique_ptr<fb::MappingT> toNative(const FactorMapping &mapping) {
  auto native = std::make_unique<fb::MappingT>();
  native->linear = mapping.linear;
  for (const std::vector<int32_t> &dim : mapping.dims) {
    native->dims.push_back(static_cast<uint32_t>(dim.size()));
    for (int32_t factor : dim)
      native->dims.push_back(static_cast<uint32_t>(factor));
  }
  return native;
}

std::unique_ptr<fb::RuleT> toNative(const ShardingRule &rule) {
  auto native = std::make_unique<fb::RuleT>();
  for (const Factor &factor : rule.factors)
    native->factors.emplace_back(
        factor.size, static_cast<fb::FactorKind>(factor.kind),
        static_cast<fb::ReductionKind>(factor.reduction));
  for (const FactorMapping &operand : rule.operands)
    native->operands.push_back(toNative(operand));
  for (const FactorMapping &result : rule.results)
    native->results.push_back(toNative(result));
  native->additive = rule.additive;
  return native;
}

void appendMappings(std::string &key, const std::vector<FactorMapping> &list) {
  for (const FactorMapping &mapping : list) {
    key += mapping.linear ? "L" : "M";
    for (const std::vector<int32_t> &dim : mapping.dims) {
      for (int32_t factor : dim)
        append(key, factor);
      key += ";";
    }
  }
  key += "|";
}

std::string keyOf(const ShardingRule &rule) {
  std::string key = rule.additive ? "+" : "*";
  for (const Factor &factor : rule.factors) {
    append(key, factor.size);
    append(key, factor.kind);
    append(key, factor.reduction);
  }
  key += "|";
  appendMappings(key, rule.operands);
  appendMappings(key, rule.results);
  return key;
}

} // namespace

PlanBuilder::PlanBuilder(const Mesh &mesh) : mesh(mesh) {
  plan.schema = kSchemaVersion;
  plan.producer = "tandem 0.1.0";
  for (const Axis &axis : mesh.axes()) {
    auto native = std::make_unique<fb::AxisT>();
    native->name = axis.name;
    native->size = static_cast<uint64_t>(axis.size);
    plan.mesh.push_back(std::move(native));
  }
  plan.stages = static_cast<uint32_t>(mesh.sizeOf(kStageAxis));
  for (uint32_t stage = 0; stage < plan.stages; ++stage)
    plan.memory.push_back(std::make_unique<fb::MemoryT>());
  axisList({});
}

uint32_t PlanBuilder::string(const std::string &text) {
  return intern(strings, plan.strings, text, [&] { return text; });
}

uint32_t PlanBuilder::kernel(const std::string &name) {
  return intern(kernels, plan.kernels, name, [&] { return name; });
}

uint32_t PlanBuilder::axisIndex(const std::string &axis) const {
  for (size_t i = 0; i < mesh.axes().size(); ++i)
    if (mesh.axes()[i].name == axis)
      return static_cast<uint32_t>(i);
  return kNone; // Refused when the plan is loaded.
}

uint32_t PlanBuilder::axisList(const AxisList &axes) {
  std::string key;
  for (const AxisRef &axis : axes)
    key += toString(axis, mesh) + ",";
  return intern(axisLists, plan.axis_lists, key, [&] {
    auto list = std::make_unique<fb::AxisListT>();
    for (const AxisRef &axis : axes)
      list->axes.emplace_back(axisIndex(axis.name),
                              static_cast<uint32_t>(axis.preSize),
                              static_cast<uint32_t>(axis.size));
    return list;
  });
}

uint32_t PlanBuilder::type(const TensorType &type) {
  auto native = std::make_unique<fb::TypeT>();
  native->dtype = static_cast<uint8_t>(type.dtype);
  native->shape = type.shape;
  for (const DimSharding &dim : type.sharding.dims)
    native->dim_axes.push_back(axisList(dim.axes));
  // The order of unreduced axes says nothing.
  AxisList unreduced = type.sharding.unreduced;
  std::sort(unreduced.begin(), unreduced.end());
  native->unreduced = axisList(unreduced);
  native->reduction = unreduced.empty()
                          ? fb::ReductionKind::Sum
                          : static_cast<fb::ReductionKind>(type.reduction);
  std::string key;
  append(key, native->dtype);
  append(key, native->reduction);
  append(key, native->unreduced);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    append(key, type.shape[d]);
    append(key, native->dim_axes[d]);
  }
  return intern(types, plan.types, key, [&] { return std::move(native); });
}

uint32_t PlanBuilder::bytesType(uint64_t bytes) {
  return type({DType::U8,
               {static_cast<int64_t>(bytes)},
               Sharding::replicatedOver(1),
               ReductionKind::Sum});
}

uint32_t PlanBuilder::rule(const ShardingRule &rule) {
  return intern(rules, plan.rules, keyOf(rule), [&] { return toNative(rule); });
}

uint32_t PlanBuilder::numbers(const std::vector<int64_t> &values) {
  if (values.empty())
    return 0;
  auto first = static_cast<uint32_t>(plan.numbers.size());
  plan.numbers.insert(plan.numbers.end(), values.begin(), values.end());
  return first;
}

void PlanBuilder::endAction(fb::ProgramT &program, const std::string &name,
                            uint32_t pool) {
  const auto &actions = program.actions;
  uint32_t first =
      actions.empty() ? 0 : actions.back().first() + actions.back().count();
  auto end = static_cast<uint32_t>(program.instructions.size());
  program.actions.emplace_back(first, end - first, string(name), pool);
}

void PlanBuilder::fact(const std::string &name, const std::string &value) {
  auto nameOf = [](const std::string &fact) {
    return fact.substr(0, fact.find('='));
  };
  auto it =
      std::lower_bound(plan.facts.begin(), plan.facts.end(), name,
                       [&](const std::string &fact, const std::string &name) {
                         return nameOf(fact) < name;
                       });
  std::string text = name + "=" + value;
  if (it != plan.facts.end() && nameOf(*it) == name)
    *it = text;
  else
    plan.facts.insert(it, text);
}

} // namespace tandem

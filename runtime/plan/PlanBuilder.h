//===- PlanBuilder.h - Filling the tables of a plan -------------*- C++ -*-===//
//
// Interns what instructions refer to by index. Indices follow the order of
// first use, so that a deterministic caller gets deterministic bytes.
//
//   PlanBuilder builder(mesh);
//   uint32_t type = builder.type({DType::F32, {8, 64}, sharding});
//   builder.plan.entries.push_back(...);          // the rest is filled by hand
//   TANDEM_TRY(Plan::save(builder.plan, path));
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_PLANBUILDER_H
#define TANDEM_RUNTIME_PLAN_PLANBUILDER_H

#include "runtime/plan/Plan.h"

#include <map>

namespace tandem {

class PlanBuilder {
public:
  /// Sets schema, producer, mesh, stages (the size of `pp`) and one Memory
  /// for each stage; axis list 0 is the empty one.
  explicit PlanBuilder(const Mesh &mesh);

  uint32_t string(const std::string &text);
  /// Axes of the mesh, as spelled: parts that follow each other are not
  /// joined, since that changes uneven pieces.
  uint32_t axisList(const AxisList &axes);
  uint32_t type(const TensorType &type);
  /// A rank's private bytes, such as a workspace: ui8[bytes], replicated.
  uint32_t bytesType(uint64_t bytes);
  uint32_t rule(const ShardingRule &rule);
  uint32_t kernel(const std::string &name);
  /// Where these numbers stand in a row (not interned); 0 for none.
  uint32_t numbers(const std::vector<int64_t> &values);
  /// Makes an action of what was added to `program` since its last action.
  void endAction(fb::ProgramT &program, const std::string &name,
                 uint32_t pool = kNone);
  /// Sets a fact; the list stays sorted by name, a later value wins.
  void fact(const std::string &name, const std::string &value);

  /// What is being filled.
  fb::PlanT plan;

private:
  uint32_t axisIndex(const std::string &axis) const;
  Mesh mesh;
  std::map<std::string, uint32_t> strings, kernels;
  /// By a text that says all of it.
  std::map<std::string, uint32_t> axisLists, types, rules;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_PLANBUILDER_H

//===- Propagation.h - Shardings spread over factor rules -------*- C++ -*-===//
//
// What it is: a graph of tensors and operations that only knows shapes,
// shardings and rules, and the fixed point over it. No MLIR: the pass
// `propagate-shardings` fills it and reads it.
//
// One step at one operation: each tensor's axes are projected onto the rule's
// factors; for each factor the axes that its tensors agree on are extended to
// all tensors that hold the factor and are open there.
//
//   ([b, s, d], [d, f]) -> ([b, s, f])
//     [{"dp"}, {}, {?}], [{?}, {"tp"}]   gives   [{"dp"}, {}, {"tp"}]
//
// Rungs, each on top of those below (as in Shardy, whose users know them):
//   basic       a factor takes no axis that another factor of the operation
//               has, so that what is ambiguous stays undecided
//   aggressive  it takes one that is free in the tensor at hand
//   priorities  operations that only move elements go first; of the user's
//               annotations those of priority 0 spread before those of 1
//
// A sharding grows by axes behind those it has and nothing is taken back, so
// the fixed point exists and does not depend on anything but text order.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_PROPAGATION_H
#define TANDEM_PASSES_PROPAGATE_PROPAGATION_H

#include "runtime/mesh/Rule.h"

namespace tandem {

/// The axes of each factor of a rule.
using FactorAxes = std::vector<AxisList>;

/// Projects one tensor's sharding onto the factors of `rule`. A dimension of
/// several factors is projected as far as its axes divide them evenly.
FactorAxes projectToFactors(const ShardingRule &rule,
                            const FactorMapping &mapping,
                            const Sharding &sharding);
/// The axes of each dimension that `axes` of factors make; a dimension of
/// several factors takes a minor factor's only where the major ones are full.
std::vector<AxisList> projectToDims(const ShardingRule &rule,
                                    const FactorMapping &mapping,
                                    const FactorAxes &axes);

struct PropagationOptions {
  bool userPriorities = true;
  bool opPriorities = true;
  bool aggressive = true;
};

/// Two tensors of an operation that want one factor split otherwise.
struct PropagationConflict {
  int op = 0;
  int32_t factor = 0;
  int first = 0, second = 0; ///< Tensors.
  AxisList firstAxes, secondAxes;
};

class PropagationGraph {
public:
  explicit PropagationGraph(Mesh mesh) : mesh(std::move(mesh)) {}

  /// A tensor with its annotation; all dimensions open where there is none.
  int addTensor(std::vector<int64_t> shape);
  void annotate(int tensor, const Sharding &sharding);
  void addOp(ShardingRule rule, std::vector<int> operands,
             std::vector<int> results, bool passThrough);

  void run(const PropagationOptions &options = {});

  const Sharding &sharding(int tensor) const { return tensors[tensor].now; }
  /// What could not be agreed on, in text order, once for each factor.
  std::vector<PropagationConflict> conflicts() const;

private:
  struct TensorState {
    std::vector<int64_t> shape;
    Sharding now;
    Sharding annotation;
    bool annotated = false;
    int64_t version = 1;
  };
  struct OpState {
    ShardingRule rule;
    std::vector<int> tensors; ///< Operands, then results.
    bool passThrough = false;
    int64_t seen = 0; ///< The sum of versions after the last visit.
  };

  const FactorMapping &mapping(const OpState &op, size_t index) const;
  void activate(int32_t priority);
  void fixedPoint(bool passThroughOnly, bool aggressive);
  bool visit(OpState &op, bool aggressive);
  bool extend(TensorState &tensor, const OpState &op, size_t index,
              const FactorAxes &wanted);
  int64_t versions(const OpState &op) const;

  Mesh mesh;
  std::vector<TensorState> tensors;
  std::vector<OpState> ops;
};

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_PROPAGATION_H

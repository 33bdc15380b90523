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
// Rungs, each on top of those below (most as in Shardy, whose users know them):
//   basic       a factor takes no axis that another factor of the operation
//               has, so that what is ambiguous stays undecided
//   aggressive  it takes one that is free in the tensor at hand
//   priorities  operations that only move elements go first; of the user's
//               annotations those of priority 0 spread before those of 1
//   open ops    where annotations of the last priority leave a choice it is
//               made for all operations together, by bytes: OpenOps.h
//
// A sharding grows by axes behind those it has and nothing is taken back, so
// the fixed point exists and does not depend on anything but text order.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_PROPAGATION_H
#define TANDEM_PASSES_PROPAGATE_PROPAGATION_H

#include "runtime/base/DType.h"
#include "runtime/mesh/Rule.h"

#include <functional>
#include <optional>

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
  /// Leaves what the weakest priority's annotations leave open to OpenOps.h.
  bool openOps = true;
};

/// A tensor of the graph.
struct PropagationTensor {
  DType dtype = DType::F32;
  std::vector<int64_t> shape;
  /// What is said of it; all dimensions open where nothing is.
  Sharding annotation;
  Sharding now; ///< The annotation and what propagation added.
  bool parameter = false;
  int64_t version = 1;
};

/// An operation of the graph.
struct PropagationOp {
  std::string name; ///< For messages: what it is and where it stands.
  ShardingRule rule;
  std::vector<int> operands, results; ///< Tensors.
  /// It only moves elements, and is visited first.
  bool passThrough = false;
  /// How often it runs in a step: once for each microbatch, or once.
  int64_t times = 1;
  /// Of the backward pass of a step.
  bool backward = false;
  /// How often its results are there: a sum over microbatches, once.
  int64_t resultTimes = 1;
  /// Of products, which no rank should repeat: axes that may split them do.
  uint64_t flops = 0;
  /// It looks up rows of a parameter: one that is split is not gathered for it,
  /// since nobody splits what each rank has room for.
  bool readsParameter = false;
  /// It is a sum, whose terms may be added in groups.
  bool sums = false;
  /// Its one result lies as the result's annotation says, whatever comes in:
  /// an argument (without operands), a constraint, a function's result. Its
  /// rule has one factor for each dimension.
  bool declares = false;
  /// Where it has a local form: what ranks exchange, as the bytes of an
  /// all_reduce over all of them, when `factor`, a selection, is split into
  /// `pieces`; nothing where it has none for that.
  std::function<std::optional<int64_t>(int32_t factor, int64_t pieces)>
      exchanged;
  int64_t seen = 0; ///< The sum of versions after the last visit.

  const FactorMapping &mapping(size_t index) const;
  int tensor(size_t index) const;
  size_t numTensors() const { return operands.size() + results.size(); }
  /// Whether axes may flow along factor `f`.
  bool spreads(int32_t f) const;
};

class PropagationGraph {
public:
  explicit PropagationGraph(Mesh mesh) : mesh_(std::move(mesh)) {}

  /// A tensor of which nothing is said yet.
  int addTensor(DType dtype, std::vector<int64_t> shape);
  void annotate(int tensor, const Sharding &sharding);
  void setParameter(int tensor) { tensors_[tensor].parameter = true; }
  int addOp(PropagationOp op);
  /// Says that `second` lies as `first` does, and is annotated so.
  void tie(int first, int second) { ties_.push_back({first, second}); }

  /// Spreads annotations as far as tensors agree, stronger priorities first.
  /// With open operations those of the weakest priority only become part of
  /// `now`, and nothing is spread from them.
  void run(const PropagationOptions &options = {});

  const Mesh &mesh() const { return mesh_; }
  const std::vector<PropagationTensor> &tensors() const { return tensors_; }
  const std::vector<PropagationOp> &ops() const { return ops_; }
  const std::vector<std::pair<int, int>> &ties() const { return ties_; }

private:
  void activate(int32_t priority);
  void fixedPoint(bool passThroughOnly, bool aggressive);
  bool visit(PropagationOp &op, bool aggressive);
  bool extend(PropagationTensor &tensor, const PropagationOp &op, size_t index,
              const FactorAxes &wanted);
  int64_t versions(const PropagationOp &op) const;
  bool agree(int first, int second);

  Mesh mesh_;
  std::vector<PropagationTensor> tensors_;
  std::vector<PropagationOp> ops_;
  std::vector<std::pair<int, int>> ties_;
};

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_PROPAGATION_H

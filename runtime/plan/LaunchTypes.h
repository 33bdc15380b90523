//===- LaunchTypes.h - Types through a launch, by its rule ------*- C++ -*-===//
//
// What it is: whether the results of an operation can have the types that
// they declare, given its operands' types and its sharding rule. Every
// dimension's axes are handed out to its factors; all tensors must agree on
// each factor's axes.
//
//   ([b, d], [d, f]) -> ([b, f]), d a reduction, linear in both
//     f32[4x8] [{}, {"tp"}], f32[8x16] [{"tp"}, {}]
//       -> f32[4x16] [{}, {}], unreduced={"tp"}        nothing else
//
// So an all_reduce too many, too few or over other axes shows as a type that
// no rule derives, although all ranks agree on it.
//
// Handing out: a dimension of factors (f0, f1, ...) gives f0 its first axes
// while they divide what is left of f0's size; only the last factor may be
// split unevenly, because only then do pieces of the dimension end where
// pieces of the factor end.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_LAUNCHTYPES_H
#define TANDEM_RUNTIME_PLAN_LAUNCHTYPES_H

#include "runtime/mesh/TensorType.h"

namespace tandem {

/// Checks the types of one launch. `stageTerms`: a part of these axes may be
/// unreduced in a result beyond what the rule derives (each stage's own term
/// of a sum over `pp`, which no rule of one program sees).
Status checkLaunch(const ShardingRule &rule,
                   const std::vector<const TensorType *> &operands,
                   const std::vector<const TensorType *> &results,
                   const AxisList &stageTerms, const Mesh &mesh);

/// The axes that a dimension split by `axes` gives to each of its factors of
/// `sizes`. Refuses pieces that do not end at boundaries of factors.
Result<std::vector<AxisList>> handOut(const AxisList &axes,
                                      const std::vector<int64_t> &sizes,
                                      const Mesh &mesh);

/// Whether both tensors hold the same elements in the same order, so that a
/// kernel may write one over the other.
bool sameOrder(const FactorMapping &a, const FactorMapping &b);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_LAUNCHTYPES_H

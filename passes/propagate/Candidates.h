//===- Candidates.h - The ways in which operations may run ------*- C++ -*-===//
//
// What it is: for each operation of a PropagationGraph the list of its
// *choices*: which factor has which axes, and which operands come unreduced.
// OpenOps.h decides among them; an operation with more than one is open.
//
//   ids [{"dp"}, {}], table [{"dp"}, {}]:  embedding ([v, d], [b, s]) -> bsd
//     b={"dp"}   the table is gathered
//     v={"dp"}   ids are gathered, the result is unreduced over "dp"
//
// First the *claims*: axes of annotations flow along factors through all
// operations, forward and backward, whether or not they agree, until nothing
// new arises. So each dimension has the lists of axes that somebody wants it
// split by; dimensions that an annotation closes have that one.
//
// Then the choices of one operation: each factor takes one of the lists that
// its dimensions claim, or part of it, no axis twice, and nothing is left out
// that could be added. An operation that computes products keeps of these only
// those with the most ranks at work: no compute is repeated to save bytes.
//
// Last, whether a reduction waits: where an operand that the operation is
// linear in may arrive unreduced there is a choice in which it does. Terms of
// a sum that are unreduced may be added first and reduced together (`first`).
//
// Invariants: choices are in the order of factors, then of claims, so that
// among equals the batch goes before the sequence and before what follows;
// nothing depends on anything but the order of the text. Numbers are capped
// (kMost... in the source), in that order, so that no graph makes them grow
// without bound.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_CANDIDATES_H
#define TANDEM_PASSES_PROPAGATE_CANDIDATES_H

#include "passes/propagate/Propagation.h"
#include "runtime/mesh/TensorType.h"

namespace tandem {

/// One way in which an operation may run.
struct OpChoice {
  FactorAxes axes;
  /// For each operand the axes over which it comes unreduced.
  std::vector<AxisList> unreduced;
  /// Operands of a sum that are added before the rest, those that come
  /// unreduced over the same axes together, and each such sum is reduced.
  std::vector<int32_t> first;

  bool operator==(const OpChoice &other) const {
    return axes == other.axes && unreduced == other.unreduced &&
           first == other.first;
  }
};

/// The operands of `choice.first` that are added together, by their lowest.
std::vector<std::vector<int32_t>> groupsOf(const OpChoice &choice);
/// How operand `index` must lie.
Sharding operandSharding(const ShardingRule &rule, const OpChoice &choice,
                         size_t index);
/// How result `index` lies then, unreduced axes included.
Sharding resultSharding(const ShardingRule &rule, const OpChoice &choice,
                        size_t index);
/// How what the ranks hold of an unreduced result combines.
ReductionKind reductionKind(const ShardingRule &rule, const OpChoice &choice);

/// Shortens factors' axes until every dimension of several factors can be
/// split so: evenly, and a minor factor only where the major ones are full.
void legalise(const ShardingRule &rule, FactorAxes &axes);

/// The choices of each operation of `graph`; each has at least one.
/// Without `flow` claims stay where propagation left them.
std::vector<std::vector<OpChoice>> candidates(const PropagationGraph &graph,
                                              bool flow = true);

/// The choices that claims alone make, without waiting reductions:
/// `claims[f]` are the lists of axes that factor f may take. `mayIdle`: of a
/// product too those that leave more ranks without work than others do.
std::vector<FactorAxes>
factorChoices(const PropagationOp &op,
              const std::vector<std::vector<AxisList>> &claims,
              bool mayIdle = false);

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_CANDIDATES_H

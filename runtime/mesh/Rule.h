//===- Rule.h - An operation's sharding rule over factors -------*- C++ -*-===//
//
// What it is: an einsum-like description of which dimensions of operands and
// results belong together. A *factor* is a letter with a size; each dimension
// lists its factors, major to minor (more than one where a reshape splits or
// merges).
//
//   einsum "bsd,df->bsf"      ([b, s, d], [d, f]) -> ([b, s, f])
//                             b, s, f pass through; d is a reduction
//   reshape 6x8 -> 48         ([i, j]) -> ([ij])
//   embedding                 ([v, d], [b, s]) -> ([b, s, d]), v a reduction
//                             that gives zeros for what the rank lacks
//
// Splitting a pass-through factor splits every dimension that holds it; a
// result without it, of an operation whose other results have it, is unreduced
// over its axes (a norm's gradients: dx has the rows, dw is their sum).
// Splitting a reduction factor leaves the results unreduced over its axes.
// A selection factor (the dimension of a norm, softmax, top_k) is split only by
// the op's own local form, which other operations make up: a launch has it
// whole. A must-replicate factor is never split.
//
// `linear` says that the op is linear in that operand while the others stay
// fixed: an unreduced operand then gives an unreduced result and its
// reduction can wait. With several linear operands it matters which way:
//   a product (einsum)           unreduced over different axes each; the
//                                result over all of them
//   a sum (`additive`; select,   unreduced over the same axes all; a term
//   concat, update_slice too)    that is already reduced would count twice
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_MESH_RULE_H
#define TANDEM_RUNTIME_MESH_RULE_H

#include "runtime/mesh/Sharding.h"

namespace tandem {

enum class FactorKind : uint8_t {
  PassThrough = 0,
  Reduction = 1,
  Selection = 2,
  MustReplicate = 3,
};

/// How values that ranks hold apart are brought together.
enum class ReductionKind : uint8_t { Sum = 0, Max = 1, Min = 2 };

struct Factor {
  int64_t size = 1;
  FactorKind kind = FactorKind::PassThrough;
  /// How partial results of a reduction factor combine; only sums may stay
  /// unreduced.
  ReductionKind reduction = ReductionKind::Sum;

  bool operator==(const Factor &other) const {
    return size == other.size && kind == other.kind &&
           reduction == other.reduction;
  }
};

/// One tensor of the rule: for each dimension its factors, major to minor.
struct FactorMapping {
  std::vector<std::vector<int32_t>> dims;
  bool linear = false; ///< Operands only; see the file's comment.

  bool operator==(const FactorMapping &other) const {
    return dims == other.dims && linear == other.linear;
  }
};

struct ShardingRule {
  std::vector<Factor> factors;
  std::vector<FactorMapping> operands;
  std::vector<FactorMapping> results;
  /// Linear in all linear operands taken together; see the file's comment.
  bool additive = false;

  bool operator==(const ShardingRule &other) const {
    return factors == other.factors && operands == other.operands &&
           results == other.results && additive == other.additive;
  }
  /// Whether splitting `factor` leaves result `result` unreduced.
  bool leavesUnreduced(size_t factor, size_t result) const;
  /// `(*[i, j], *[j, k]) -> ([i, k]) {i=4, j=8 reduction, k=2}`; a star marks
  /// an operand in which the op is linear, a plus one of an additive rule.
  std::string toString() const;
  /// Reads what toString() prints.
  static Result<ShardingRule> parse(std::string_view text);
};

/// Builds rules by naming dimensions with letters, as an einsum does:
///
///   RuleBuilder rule("bsd,df->bsf");   // one letter a dimension
///   rule.kind('d', FactorKind::Reduction).linear(0).linear(1);
///   return rule.build(operandShapes, resultShapes);
///
/// Sizes come from the shapes; a dimension of size 1 where the letter is
/// larger elsewhere is not allowed (broadcasts are explicit ops).
class RuleBuilder {
public:
  explicit RuleBuilder(std::string_view equation);
  RuleBuilder &kind(char letter, FactorKind kind,
                    ReductionKind reduction = ReductionKind::Sum);
  RuleBuilder &linear(size_t operand);
  /// Linear in all operands taken together, as a sum is.
  RuleBuilder &allLinear();
  /// Linear in the operands named by `linear` taken together.
  RuleBuilder &additive();
  ShardingRule build(const std::vector<std::vector<int64_t>> &operandShapes,
                     const std::vector<std::vector<int64_t>> &resultShapes);

private:
  int32_t factorOf(char letter) const;
  std::vector<std::string> operands, results;
  std::string letters;
  ShardingRule rule;
};

/// The rule of a reshape: the finest grouping of dimensions whose products
/// agree, split at common divisors: (6,8)->(48), (48)->(6,8), (4,6)->(8,3)
/// shares factor 4 only where boundaries agree.
ShardingRule reshapeRule(const std::vector<int64_t> &from,
                         const std::vector<int64_t> &to);

/// An einsum equation `ab,bc->ac` taken apart; letters a-z and A-Z.
struct EinsumEquation {
  std::vector<std::string> operands;
  std::string result;

  static Result<EinsumEquation> parse(std::string_view text);
};

} // namespace tandem

#endif // TANDEM_RUNTIME_MESH_RULE_H

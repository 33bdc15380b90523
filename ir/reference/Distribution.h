//===- Distribution.h - Global tensors cut for ranks and joined -*- C++ -*-===//
//
// A rank's tensor of a local type: the lanes that `extentOf` gives it, NaN in
// the padding, so that whoever reads padding shows it.
//
//   10 over tp=4:   0 1 2 | 3 4 5 | 6 7 8 | 9 NaN NaN
//
// A tensor that is unreduced is cut so that its terms sum to it: the value on
// the first position of the unreduced axes, zeros on the others.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_REFERENCE_DISTRIBUTION_H
#define TANDEM_IR_REFERENCE_DISTRIBUTION_H

#include "ir/Dialect.h"

namespace tandem {

/// What `rank` holds of a tensor of `type`, local or global.
std::vector<LocalDim> dimsOf(mlir::Type type, const Mesh &mesh, int64_t rank);

/// `rank`'s part of `whole`, a tensor on one rank with the type's global shape.
Tensor cut(const Tensor &whole, mlir::Type type, const Mesh &mesh,
           int64_t rank);

/// Joins what ranks hold of one tensor. `add` each rank's, then `join`.
class Joiner {
public:
  /// `name` is how messages speak of the tensor.
  Joiner(std::string name, mlir::Type type, const Mesh &mesh);

  /// Refuses a lane on which two replicas disagree by more than 1e-9 (1 + |x|).
  Status add(const Tensor &part, int64_t rank);
  /// The tensor; refuses one of which no rank gave some lane.
  Result<Tensor> join() const;

private:
  struct Term {
    std::vector<double> values;
    std::vector<bool> known;
  };
  Status put(Term &term, size_t at, double value, int64_t rank);

  std::string name;
  std::vector<int64_t> shape;
  Sharding sharding;
  ReductionKind reduction = ReductionKind::Sum;
  const Mesh &mesh;
  /// One for each position over the unreduced axes.
  std::vector<Term> terms;
};

/// Two values, or two terms' lanes, brought together.
double combine(ReductionKind kind, double a, double b);
/// Whether they agree within `tolerance` (1 + |a|); NaN agrees with NaN.
bool agree(double a, double b, double tolerance);

} // namespace tandem

#endif // TANDEM_IR_REFERENCE_DISTRIBUTION_H

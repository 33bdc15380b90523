//===- Tensor.h - What one rank holds of a tensor, in float64 ---*- C++ -*-===//
//
// The value type of the reference evaluator. A dimension has a capacity (the
// memory), a valid extent (the lanes that mean something), the global index
// of its first lane and the global size. On one rank all of it is valid:
//
//   a dimension of 10 over tp=4, as rank 3 sees it:
//     capacity 3, valid 1, begin 9, global 10
//
// Lanes that are not valid hold NaN, so that whoever reads one shows it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_TENSOR_H
#define TANDEM_IR_TENSOR_H

#include <cstdint>
#include <functional>
#include <vector>

namespace tandem {

struct LocalDim {
  int64_t capacity = 1;
  int64_t valid = 1;
  int64_t begin = 0;
  int64_t global = 1;
};

class Tensor {
public:
  Tensor() = default;
  /// All lanes NaN.
  explicit Tensor(std::vector<LocalDim> dims);
  /// A tensor that lies on one rank, all of it valid.
  static Tensor whole(const std::vector<int64_t> &shape,
                      std::vector<double> data);

  const std::vector<LocalDim> &dims() const { return dims_; }
  const LocalDim &dim(size_t i) const { return dims_[i]; }
  size_t rank() const { return dims_.size(); }
  std::vector<double> &data() { return data_; }
  const std::vector<double> &data() const { return data_; }

  /// The element at local indices, one for each dimension.
  double &at(const std::vector<int64_t> &index) { return data_[offset(index)]; }
  double at(const std::vector<int64_t> &index) const {
    return data_[offset(index)];
  }
  size_t offset(const std::vector<int64_t> &index) const;

  /// Calls `body` with the local indices of every valid lane, row-major.
  void forEachValid(
      const std::function<void(const std::vector<int64_t> &)> &body) const;

private:
  std::vector<LocalDim> dims_;
  std::vector<double> data_;
};

/// Calls `body` with every index below `sizes`, row-major.
void forEachIndex(
    const std::vector<int64_t> &sizes,
    const std::function<void(const std::vector<int64_t> &)> &body);

} // namespace tandem

#endif // TANDEM_IR_TENSOR_H

//===- TestTensor.h - Random tensors with padding, and a runner -*- C++ -*-===//
//
// A tensor for kernel tests: valid lanes hold known values, padded lanes NaN
// or nonsense, so that a kernel that reads padding shows.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_KERNELS_TESTTENSOR_H
#define TANDEM_TEST_UNIT_KERNELS_TESTTENSOR_H

#include "runtime/kernels/Kernel.h"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tandem {

using Index = std::vector<int64_t>;

/// A dimension of `valid` lanes in memory for `padding` more.
TensorDim extent(int64_t valid, int64_t padding = 0, int64_t begin = 0,
                 int64_t global = -1);

class TestTensor {
public:
  TestTensor(DType type, std::vector<TensorDim> dims);

  /// Valid lanes from a function of their index, or random.
  TestTensor &fill(const std::function<double(const Index &)> &value);
  TestTensor &random(std::mt19937 &generator, double low, double high);

  double at(const Index &index) const;
  void set(const Index &index, double value);
  /// The element as stored, for comparing bits.
  int64_t bits(const Index &index) const;
  TensorArg arg();
  const std::vector<TensorDim> &dims() const { return dims_; }
  /// Valid extents.
  Index shape() const;

private:
  size_t offset(const Index &index) const;
  DType type_;
  std::vector<TensorDim> dims_;
  std::vector<std::byte> memory;
};

/// Calls body with every index of a shape, row-major.
void forEachIndex(const Index &shape,
                  const std::function<void(const Index &)> &body);

/// One kernel call on test tensors. run() checks, prepares and runs it with
/// 1, 2 and 3 threads, in poisoned workspace with guards, and expects the same
/// bits in all valid lanes of the outputs each time.
struct TestCall {
  std::string kernel;
  std::vector<TestTensor *> inputs, outputs;
  std::vector<int64_t> numbers;
  std::string equation; ///< The rule by letters, where the kernel needs one.

  Status run();
  Status check();

private:
  KernelCall call();
  Status runOnce(int threads);
};

/// Expects every valid lane of `tensor` within |got - want| <= tolerance * (1 +
/// |want|).
void expectLanes(const TestTensor &tensor,
                 const std::function<double(const Index &)> &want,
                 double tolerance);

/// A double as a kernel's number.
int64_t bitsOf(double value);

} // namespace tandem

#endif // TANDEM_TEST_UNIT_KERNELS_TESTTENSOR_H

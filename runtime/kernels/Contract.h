//===- Contract.h - Checks of a kernel call, and launches -------*- C++ -*-===//
//
// How a kernel states what it accepts; the first clause that fails is the
// message, such as `rope: input 1 has type f32, expected i32`:
//
//   return Contract(*this, call)
//       .inputs(2).outputs(1)
//       .minRank(in(0), 3).floating(in(0))
//       .rank(in(1), 1).type(in(1), {DType::I32})
//       .sameShape(in(0), out(0))
//       .status();
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_CONTRACT_H
#define TANDEM_RUNTIME_KERNELS_CONTRACT_H

#include "runtime/kernels/Kernel.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

namespace tandem {

/// An input or an output by number.
struct ArgRef {
  bool output = false;
  size_t index = 0;
};
inline ArgRef in(size_t index) { return {false, index}; }
inline ArgRef out(size_t index) { return {true, index}; }

class Contract {
public:
  /// Checks what every call must have: extents that are not negative, at most
  /// 16 dimensions, valid within capacity.
  Contract(const Kernel &kernel, const KernelCall &call);

  Contract &inputs(size_t least, size_t most);
  Contract &inputs(size_t count) { return inputs(count, count); }
  Contract &outputs(size_t least, size_t most);
  Contract &outputs(size_t count) { return outputs(count, count); }
  Contract &rank(ArgRef arg, size_t count);
  Contract &minRank(ArgRef arg, size_t least);
  Contract &type(ArgRef arg, std::initializer_list<DType> allowed);
  /// f64, f32, f16 or bf16.
  Contract &floating(ArgRef arg);
  /// Any type but quantised blocks.
  Contract &plain(ArgRef arg);
  Contract &sameType(ArgRef a, ArgRef b);
  /// Equal capacities of dimension `da` of a and `db` of b; negative numbers
  /// count from the end.
  Contract &sameDim(ArgRef a, int da, ArgRef b, int db);
  Contract &sameShape(ArgRef a, ArgRef b);
  Contract &numbers(size_t least, size_t most);
  Contract &numbers(size_t count) { return numbers(count, count); }
  Contract &require(bool condition, const std::string &message);

  /// Whether everything held so far: what follows may index freely.
  bool ok() const { return status_.ok(); }
  const Status &status() const { return status_; }

private:
  const TensorArg *find(ArgRef arg);
  const TensorDim *dim(ArgRef arg, int index);
  Contract &fail(const std::string &message);

  const Kernel &kernel;
  const KernelCall &call;
  Status status_;
};

/// The double whose bits `number` holds, and back.
inline double numberToDouble(int64_t number) {
  double value;
  std::memcpy(&value, &number, sizeof value);
  return value;
}
inline int64_t doubleToNumber(double value) {
  int64_t number;
  std::memcpy(&number, &value, sizeof number);
  return number;
}

template <typename Run> class FunctionLaunch final : public Launch {
public:
  explicit FunctionLaunch(Run run) : run_(std::move(run)) {}
  Status run() override { return run_(); }

private:
  Run run_;
};

/// A launch that calls `run`, which returns a Status.
template <typename Run> std::unique_ptr<Launch> makeLaunch(Run run) {
  return std::make_unique<FunctionLaunch<Run>>(std::move(run));
}

/// How many pieces of at least `grain` items each to cut `total` into: at most
/// one a thread, so that piece p may own scratch p.
inline int64_t pieceCount(const ThreadPool &threads, int64_t total,
                          int64_t grain) {
  int64_t pieces = total / std::max<int64_t>(grain, 1);
  return std::max<int64_t>(std::min<int64_t>(pieces, threads.size()), 1);
}

/// Calls body(begin, end) on ranges that tile [0, total), one per piece.
template <typename Body>
void forRanges(ThreadPool &threads, int64_t total, int64_t grain,
               const Body &body) {
  int64_t pieces = pieceCount(threads, total, grain);
  threads.run(pieces, [&](int64_t piece) {
    body(total * piece / pieces, total * (piece + 1) / pieces);
  });
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_CONTRACT_H

//===- LoopNest.h - Several tensors walked together -------------*- C++ -*-===//
//
// What it is: loops of given sizes over `Tensors` tensors, each with a stride
// (in elements) per loop; 0 where a tensor does not have that dimension.
//
//   LoopNest<2> nest;                     // out[b, s] = in[s], b and s loops
//   nest.add(3, {5, 0});
//   nest.add(5, {1, 1});
//   nest.merge();                         // joins loops that walk as one
//   nest.offsets(7)                       // {7, 2}
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_LOOPNEST_H
#define TANDEM_RUNTIME_KERNELS_LOOPNEST_H

#include "runtime/kernels/Kernel.h"

#include <array>

namespace tandem {

/// Row-major strides, in elements, of the capacity shape.
std::vector<int64_t> stridesOf(const TensorArg &arg);
/// The product of valid extents of dims [first, last).
int64_t validCount(const TensorArg &arg, size_t first, size_t last);
inline int64_t validCount(const TensorArg &arg) {
  return validCount(arg, 0, arg.dims.size());
}
/// The factor of a dimension, -1 where the rule gives it none (extent 1).
int32_t factorOf(const FactorMapping &mapping, size_t dim);

template <size_t Tensors> struct LoopNest {
  using Offsets = std::array<int64_t, Tensors>;
  struct Loop {
    int64_t size;
    Offsets strides;
  };
  std::vector<Loop> loops; ///< Outermost first.

  void add(int64_t size, const Offsets &strides) {
    loops.push_back({size, strides});
  }

  int64_t count() const {
    int64_t count = 1;
    for (const Loop &loop : loops)
      count *= loop.size;
    return count;
  }

  /// Drops loops of one iteration and joins neighbours of which the outer
  /// steps over exactly the inner, in every tensor.
  void merge() {
    std::vector<Loop> merged;
    for (const Loop &loop : loops) {
      if (loop.size == 1)
        continue;
      if (!merged.empty() && continues(merged.back(), loop))
        merged.back() = {merged.back().size * loop.size, loop.strides};
      else
        merged.push_back(loop);
    }
    loops = std::move(merged);
  }

  /// Where iteration `index` (row-major) is in each tensor, in elements.
  Offsets offsets(int64_t index) const {
    Offsets result = {};
    for (size_t l = loops.size(); l-- > 0;) {
      int64_t position = index % loops[l].size;
      index /= loops[l].size;
      for (size_t t = 0; t < Tensors; ++t)
        result[t] += position * loops[l].strides[t];
    }
    return result;
  }

  /// Takes the innermost loop off and returns it; one of size 1 where there
  /// is none.
  Loop takeInnermost() {
    if (loops.empty())
      return {1, {}};
    Loop loop = loops.back();
    loops.pop_back();
    return loop;
  }

private:
  static bool continues(const Loop &outer, const Loop &inner) {
    for (size_t t = 0; t < Tensors; ++t)
      if (outer.strides[t] != inner.strides[t] * inner.size)
        return false;
    return true;
  }
};

/// Loops over the valid extents of dims [first, last) of `a` with the strides
/// of `a` and `b`, which have those dimensions in common.
LoopNest<2> commonLoops(const TensorArg &a, const TensorArg &b, size_t first,
                        size_t last);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_LOOPNEST_H

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Softmax.h"
#include "runtime/kernels/Tiles.h"

namespace tandem {
namespace {

template <typename C>
void softmaxRow(const TensorArg &from, const TensorArg &to, int64_t atIn,
                int64_t atOut, int64_t width) {
  C buffer[kTileLanes], result[kTileLanes];
  auto forTiles = [&](auto body) {
    for (int64_t i = 0; i < width; i += kTileLanes) {
      int64_t n = std::min(kTileLanes, width - i);
      body(i, n, loadTile<C>(from.data, from.dtype, atIn + i, n, buffer));
    }
  };
  C largest = -std::numeric_limits<C>::infinity(), sum = 0;
  forTiles([&](int64_t, int64_t n, const C *in) {
    largest = std::max(largest, rowMax(in, n));
  });
  forTiles([&](int64_t, int64_t n, const C *in) {
    sum += rowExpSum(result, in, largest, n);
  });
  forTiles([&](int64_t i, int64_t n, const C *in) {
    rowExpSum(result, in, largest, n);
    rowScale(result, result, 1 / sum, n);
    storeTile<C>(to.data, to.dtype, atOut + i, n, result);
  });
}

template <typename C>
std::unique_ptr<Launch> prepareSoftmax(const KernelCall &call,
                                       ThreadPool &threads) {
  TensorArg from = call.inputs[0], to = call.outputs[0];
  int64_t width = from.dims.back().valid;
  LoopNest<2> rows = commonLoops(from, to, 0, from.dims.size() - 1);
  return makeLaunch([=, &threads] {
    forRanges(threads, rows.count(), 4096 / std::max<int64_t>(width, 1) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  auto at = rows.offsets(row);
                  softmaxRow<C>(from, to, at[0], at[1], width);
                }
              });
    return Status();
  });
}

class SoftmaxKernel final : public Kernel {
public:
  std::string_view name() const override { return "softmax"; }
  Status check(const KernelCall &call) const override {
    return Contract(*this, call)
        .inputs(1)
        .outputs(1)
        .numbers(0)
        .minRank(in(0), 1)
        .floating(in(0))
        .sameType(in(0), out(0))
        .sameShape(in(0), out(0))
        .status();
  }
  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return prepareSoftmax<double>(call, threads);
    return prepareSoftmax<float>(call, threads);
  }
};

} // namespace

const Kernel &softmaxKernel() {
  static const SoftmaxKernel kernel;
  return kernel;
}

} // namespace tandem

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Norm.h"
#include "runtime/kernels/NormStatistics.h"

namespace tandem {
namespace {

/// The rows of x and y, and what each row is normalised with.
template <typename C> struct NormRows {
  TensorArg x, weight, bias, y;
  bool centred = false, biased = false;
  C epsilon = 0, offset = 0;
  LoopNest<2> rows;
  int64_t width = 0;

  void runRow(int64_t atX, int64_t atY) const {
    NormStatistics<C> row = statisticsOf<C>(x, atX, width, centred, epsilon);
    forRowTiles<C>(x, atX, width, [&](int64_t i, int64_t n, const C *in) {
      C bufferW[kTileLanes], bufferB[kTileLanes], result[kTileLanes];
      const C *w = loadTile<C>(weight.data, weight.dtype, i, n, bufferW);
      const C *b =
          biased ? loadTile<C>(bias.data, bias.dtype, i, n, bufferB) : nullptr;
      if (centred)
        rowNormalise(result, in, w, b, row.mean, row.factor, n);
      else
        rowScaleByWeight(result, in, w, row.factor, offset, n);
      storeTile<C>(y.data, y.dtype, atY + i, n, result);
    });
  }

  void run(ThreadPool &threads) const {
    if (width == 0)
      return;
    forRanges(threads, rows.count(), 8192 / width + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row) {
                  auto at = rows.offsets(row);
                  runRow(at[0], at[1]);
                }
              });
  }
};

template <typename C>
std::unique_ptr<Launch> prepareNorm(const KernelCall &call, bool centred,
                                    ThreadPool &threads) {
  NormRows<C> norm;
  norm.x = call.inputs[0];
  norm.weight = call.inputs[1];
  norm.biased = call.inputs.size() == 3;
  if (norm.biased)
    norm.bias = call.inputs[2];
  norm.y = call.outputs[0];
  norm.centred = centred;
  norm.epsilon = static_cast<C>(numberToDouble(call.numbers[0]));
  if (!centred)
    norm.offset = static_cast<C>(numberToDouble(call.numbers[1]));
  norm.width = norm.x.dims.back().valid;
  norm.rows = commonLoops(norm.x, norm.y, 0, norm.x.dims.size() - 1);
  return makeLaunch([norm, &threads] {
    norm.run(threads);
    return Status();
  });
}

class NormKernel final : public Kernel {
public:
  explicit NormKernel(bool centred) : centred(centred) {}
  std::string_view name() const override {
    return centred ? "layer_norm" : "rms_norm";
  }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2, centred ? 3 : 2).outputs(1).numbers(centred ? 1 : 2);
    contract.minRank(in(0), 1).sameShape(in(0), out(0)).floating(out(0));
    for (size_t i = 0; contract.ok() && i < call.inputs.size(); ++i) {
      contract.floating(in(i));
      if (i > 0)
        contract.rank(in(i), 1).sameDim(in(i), 0, in(0), -1);
    }
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return prepareNorm<double>(call, centred, threads);
    return prepareNorm<float>(call, centred, threads);
  }

private:
  bool centred;
};

} // namespace

const Kernel &rmsNormKernel() {
  static const NormKernel kernel(false);
  return kernel;
}
const Kernel &layerNormKernel() {
  static const NormKernel kernel(true);
  return kernel;
}

} // namespace tandem

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/EmbeddingGrad.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Tiles.h"

namespace tandem {
namespace {

/// Columns are handed out in units of this many.
constexpr int64_t kColumnUnit = 64;

template <typename C> class EmbeddingGradRun {
public:
  explicit EmbeddingGradRun(const KernelCall &call)
      : ids(call.inputs[0]), dy(call.inputs[1]), out(call.outputs[0]),
        zeros(out, 0.0), tokens(commonLoops(ids, dy, 0, ids.dims.size())),
        width(std::min(dy.dims.back().valid, out.dims[1].valid)) {}

  Status run(ThreadPool &threads) const {
    for (int64_t token = 0; token < tokens.count(); ++token)
      if (idAt(token) < 0 || idAt(token) >= out.dims[0].global)
        return Status::refused("embedding_grad: id " +
                               std::to_string(idAt(token)) +
                               " is outside the vocabulary of " +
                               std::to_string(out.dims[0].global));
    zeros.run(threads);
    // By columns, so that each sum has one thread and the order of tokens.
    int64_t units = (width + kColumnUnit - 1) / kColumnUnit;
    int64_t grain = 16384 / (tokens.count() * kColumnUnit + 1) + 1;
    forRanges(threads, units, grain, [&](int64_t begin, int64_t end) {
      int64_t last = std::min(end * kColumnUnit, width);
      for (int64_t token = 0; token < tokens.count(); ++token)
        addToken(token, begin * kColumnUnit, last);
    });
    return Status();
  }

private:
  int64_t idAt(int64_t token) const {
    return loadOne<int64_t>(ids.data, ids.dtype, tokens.offsets(token)[0]);
  }

  void addToken(int64_t token, int64_t begin, int64_t end) const {
    int64_t row = idAt(token) - out.dims[0].begin;
    if (row < 0 || row >= out.dims[0].valid)
      return;
    int64_t from = tokens.offsets(token)[1];
    C *to = reinterpret_cast<C *>(out.data) + row * out.dims[1].capacity;
    C buffer[kTileLanes];
    for (int64_t i = begin; i < end; i += kTileLanes) {
      int64_t n = std::min(kTileLanes, end - i);
      rowAdd(to + i, loadTile<C>(dy.data, dy.dtype, from + i, n, buffer), n);
    }
  }

  TensorArg ids, dy, out;
  BoxFill zeros;
  LoopNest<2> tokens; ///< Offsets of ids and dy.
  int64_t width;
};

template <typename C>
std::unique_ptr<Launch> prepareEmbeddingGrad(const KernelCall &call,
                                             ThreadPool &threads) {
  return makeLaunch([grad = EmbeddingGradRun<C>(call), &threads] {
    return grad.run(threads);
  });
}

class EmbeddingGradKernel final : public Kernel {
public:
  std::string_view name() const override { return "embedding_grad"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2).outputs(1).numbers(0).rank(out(0), 2);
    contract.type(in(0), {DType::I32, DType::I64}).floating(in(1));
    contract.type(out(0), {DType::F32, DType::F64});
    if (!contract.ok())
      return contract.status();
    size_t rank = call.inputs[0].dims.size();
    contract.rank(in(1), rank + 1).sameDim(in(1), -1, out(0), 1);
    for (size_t d = 0; contract.ok() && d < rank; ++d)
      contract.sameDim(in(0), static_cast<int>(d), in(1), static_cast<int>(d));
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.outputs[0].dtype == DType::F64)
      return prepareEmbeddingGrad<double>(call, threads);
    return prepareEmbeddingGrad<float>(call, threads);
  }
};

} // namespace

const Kernel &embeddingGradKernel() {
  static const EmbeddingGradKernel kernel;
  return kernel;
}

} // namespace tandem

#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/NormGrad.h"
#include "runtime/kernels/NormStatistics.h"
#include "runtime/kernels/PieceSums.h"
#include "runtime/kernels/TrainingRows.h"

namespace tandem {
namespace {

/// How its rows are cut: what stands behind the norm's own numbers.
RowPieces rowPieces(const KernelCall &call, bool centred) {
  auto own = call.numbers.begin() + (centred ? 1 : 2);
  return RowPieces(call.inputs[0], {own, call.numbers.end()});
}

/// Sums that a row adds to: dw, then db.
int64_t sumWidth(const KernelCall &call) {
  int64_t sums = static_cast<int64_t>(call.outputs.size()) - 1;
  return sums * call.inputs[0].dims.back().capacity;
}

template <typename C> struct NormGradRows {
  NormGradRows(const KernelCall &call, bool centred)
      : x(call.inputs[0]), weight(call.inputs[1]), dy(call.inputs[2]),
        dx(call.outputs[0]),
        weights(call.outputs.begin() + 1, call.outputs.end()), centred(centred),
        capacity(x.dims.back().capacity), width(x.dims.back().valid),
        sums(reinterpret_cast<C *>(call.workspace),
             rowPieces(call, centred).count(), sumWidth(call)) {
    epsilon = static_cast<C>(numberToDouble(call.numbers[0]));
    offset = centred ? 0 : static_cast<C>(numberToDouble(call.numbers[1]));
    RowPieces cut = rowPieces(call, centred);
    for (int64_t i = 0; i < cut.count(); ++i)
      pieces.push_back(rowsOf(cut.at(i)));
  }

  /// Rows of one piece, with offsets of x, dy and dx.
  struct Rows {
    LoopNest<3> nest;
    LoopNest<3>::Offsets first = {};
    int64_t begin, end;
  };
  Rows rowsOf(const RowPieces::Piece &piece) const {
    std::vector<int64_t> strides[3] = {stridesOf(x), stridesOf(dy),
                                       stridesOf(dx)};
    Rows rows;
    rows.begin = piece.begin;
    rows.end = piece.end;
    for (size_t d = 0; d < piece.first.size(); ++d) {
      rows.nest.add(piece.count[d],
                    {strides[0][d], strides[1][d], strides[2][d]});
      for (size_t t = 0; t < 3; ++t)
        rows.first[t] += piece.first[d] * strides[t][d];
    }
    rows.nest.merge();
    return rows;
  }

  void runRow(const LoopNest<3>::Offsets &from, C *dw, C *db) const {
    NormStatistics<C> own =
        statisticsOf<C>(x, from[0], width, centred, epsilon);
    NormGradTerms<C> terms = {own.mean, own.factor, offset, 0, 0};
    C total[2] = {0, 0};
    forTiles(from,
             [&](int64_t, int64_t n, const C *up, const C *in, const C *w) {
               rowNormGradSums(total, up, in, w, terms, n);
             });
    terms.meanPlain = centred ? total[0] / width : 0;
    terms.meanNormal = total[1] / width;
    forTiles(from, [&](int64_t i, int64_t n, const C *up, const C *in,
                       const C *w) {
      C result[kTileLanes];
      rowNormGrad(result, dw + i, db ? db + i : nullptr, up, in, w, terms, n);
      storeTile<C>(dx.data, dx.dtype, from[2] + i, n, result);
    });
  }

  /// Calls body(first lane, lanes, dy, x, weight) tile by tile.
  template <typename Body>
  void forTiles(const LoopNest<3>::Offsets &at, const Body &body) const {
    forRowTiles<C>(x, at[0], width, [&](int64_t i, int64_t n, const C *in) {
      C bufferY[kTileLanes], bufferW[kTileLanes];
      const C *up = loadTile<C>(dy.data, dy.dtype, at[1] + i, n, bufferY);
      body(i, n, up, in, loadTile<C>(weight.data, weight.dtype, i, n, bufferW));
    });
  }

  void runPiece(const Rows &rows, C *mine) const {
    C *db = weights.size() == 2 ? mine + capacity : nullptr;
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      auto at = rows.nest.offsets(row);
      for (size_t t = 0; t < 3; ++t)
        at[t] += rows.first[t];
      runRow(at, mine, db);
    }
  }

  void run(ThreadPool &threads) const {
    sums.addRows(threads, [&](int64_t piece, C *mine) {
      runPiece(pieces[piece], mine);
    });
    for (size_t i = 0; i < weights.size(); ++i)
      sums.store(threads, static_cast<int64_t>(i) * capacity, width,
                 weights[i]);
  }

  TensorArg x, weight, dy, dx;
  std::vector<TensorArg> weights; ///< dw (, db).
  bool centred;
  int64_t capacity, width; ///< Of a row.
  PieceSums<C> sums;
  C epsilon = 0, offset = 0;
  std::vector<Rows> pieces;
};

template <typename C>
std::unique_ptr<Launch> prepareNormGrad(const KernelCall &call, bool centred,
                                        ThreadPool &threads) {
  return makeLaunch([grad = NormGradRows<C>(call, centred), &threads] {
    grad.run(threads);
    return Status();
  });
}

class NormGradKernel final : public Kernel {
public:
  explicit NormGradKernel(bool centred) : centred(centred) {}
  std::string_view name() const override {
    return centred ? "layer_norm_grad" : "rms_norm_grad";
  }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(3).outputs(2, centred ? 3 : 2);
    size_t own = centred ? 1 : 2;
    contract.numbers(own, own + 2);
    contract.minRank(in(0), 1).sameShape(in(0), in(2)).sameShape(in(0), out(0));
    contract.rank(in(1), 1).sameDim(in(1), 0, in(0), -1);
    for (size_t i = 0; contract.ok() && i < 3; ++i)
      contract.floating(in(i));
    contract.floating(out(0));
    for (size_t i = 1; contract.ok() && i < call.outputs.size(); ++i)
      contract.rank(out(i), 1).sameDim(out(i), 0, in(0), -1).floating(out(i));
    if (contract.ok() && call.numbers.size() > own)
      contract.numbers(own + 2);
    if (contract.ok())
      rowPieces(call, centred).check(contract);
    return contract.status();
  }

  int64_t workspaceBytes(const KernelCall &call, int) const override {
    const TensorArg &x = call.inputs[0];
    return rowPieces(call, centred).count() * sumWidth(call) *
           (x.dtype == DType::F64 ? 8 : 4);
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return prepareNormGrad<double>(call, centred, threads);
    return prepareNormGrad<float>(call, centred, threads);
  }

private:
  bool centred;
};

} // namespace

const Kernel &rmsNormGradKernel() {
  static const NormGradKernel kernel(false);
  return kernel;
}
const Kernel &layerNormGradKernel() {
  static const NormGradKernel kernel(true);
  return kernel;
}

} // namespace tandem

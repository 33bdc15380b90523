#include "runtime/kernels/Contract.h"
#include "runtime/kernels/CrossEntropy.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Tiles.h"

#include <algorithm>

namespace tandem {
namespace {

/// Rows of logits with their labels. Tensors of one element a row (labels,
/// loss, lse, g) have the dimensions of `logits` but the last.
struct LabelledRows {
  explicit LabelledRows(const KernelCall &call)
      : logits(call.inputs[0]), labels(call.inputs[1]),
        vocabulary(logits.dims.back()), ignored(call.numbers[0]) {
    rows = commonLoops(logits, labels, 0, labels.dims.size());
  }

  int64_t label(int64_t row) const {
    return loadOne<int64_t>(labels.data, labels.dtype, rows.offsets(row)[1]);
  }
  Status checkLabels(std::string_view kernel) const {
    for (int64_t row = 0; row < rows.count(); ++row) {
      int64_t found = label(row);
      if (found != ignored && (found < 0 || found >= vocabulary.global))
        return Status::refused(
            std::string(kernel) + ": label " + std::to_string(found) +
            " is outside the vocabulary of " +
            std::to_string(vocabulary.global) + ", and not the ignored label " +
            std::to_string(ignored));
    }
    return Status();
  }
  /// Calls body(first lane, lanes, the row's values) tile by tile.
  template <typename C, typename Body>
  void forTiles(int64_t at, const Body &body) const {
    C buffer[kTileLanes];
    for (int64_t i = 0; i < vocabulary.valid; i += kTileLanes) {
      int64_t n = std::min(kTileLanes, vocabulary.valid - i);
      body(i, n, loadTile<C>(logits.data, logits.dtype, at + i, n, buffer));
    }
  }
  int64_t grain() const { return 4096 / (vocabulary.valid + 1) + 1; }

  TensorArg logits, labels;
  TensorDim vocabulary;
  int64_t ignored;
  LoopNest<2> rows; ///< Offsets of logits and of labels.
};

template <typename C> double lseOfRow(const LabelledRows &rows, int64_t at) {
  C largest = -std::numeric_limits<C>::infinity();
  rows.forTiles<C>(at, [&](int64_t, int64_t n, const C *in) {
    largest = std::max(largest, rowMax(in, n));
  });
  double sum = 0;
  rows.forTiles<C>(at, [&](int64_t, int64_t n, const C *in) {
    C powers[kTileLanes];
    sum += rowExpSum(powers, in, largest, n);
  });
  return largest + std::log(sum);
}

template <typename C>
std::unique_ptr<Launch> prepareLoss(const KernelCall &call,
                                    ThreadPool &threads) {
  LabelledRows rows(call);
  TensorArg loss = call.outputs[0], lse = call.outputs[1];
  LoopNest<2> places = commonLoops(loss, lse, 0, lse.dims.size());
  auto runRow = [=](int64_t row) {
    int64_t at = rows.rows.offsets(row)[0], label = rows.label(row);
    double sum = lseOfRow<C>(rows, at), missed = 0;
    if (label != rows.ignored)
      missed = sum -
               loadOne<double>(rows.logits.data, rows.logits.dtype, at + label);
    storeOne(loss.data, loss.dtype, places.offsets(row)[0], missed);
    storeOne(lse.data, lse.dtype, places.offsets(row)[1], sum);
  };
  return makeLaunch([=, &threads] {
    TANDEM_TRY(rows.checkLabels("cross_entropy"));
    forRanges(threads, rows.rows.count(), rows.grain(),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row)
                  runRow(row);
              });
    return Status();
  });
}

template <typename C> struct LossGradRows {
  explicit LossGradRows(const KernelCall &call)
      : rows(call), lse(call.inputs[2]), g(call.inputs[3]),
        out(call.outputs[0]), given(commonLoops(lse, g, 0, lse.dims.size())),
        places(commonLoops(rows.labels, out, 0, lse.dims.size())) {}

  void runRow(int64_t row) const {
    int64_t to = places.offsets(row)[1], label = rows.label(row);
    bool counted = label != rows.ignored;
    C sum = loadOne<C>(lse.data, lse.dtype, given.offsets(row)[0]);
    C scale = loadOne<C>(g.data, g.dtype, given.offsets(row)[1]);
    int64_t own = label - rows.vocabulary.begin;
    rows.template forTiles<C>(
        rows.rows.offsets(row)[0], [&](int64_t i, int64_t n, const C *in) {
          C result[kTileLanes];
          if (counted) {
            rowExpSum(result, in, sum, n);
            if (i <= own && own < i + n)
              result[own - i] -= 1;
            rowScale(result, result, scale, n);
          } else {
            std::fill_n(result, n, C(0));
          }
          storeTile<C>(out.data, out.dtype, to + i, n, result);
        });
  }

  LabelledRows rows;
  TensorArg lse, g, out;
  LoopNest<2> given;  ///< Offsets of lse and g.
  LoopNest<2> places; ///< Offsets of labels and of dlogits.
};

template <typename C>
std::unique_ptr<Launch> prepareLossGrad(const KernelCall &call,
                                        ThreadPool &threads) {
  return makeLaunch([grad = LossGradRows<C>(call), &threads] {
    TANDEM_TRY(grad.rows.checkLabels("cross_entropy_grad"));
    forRanges(threads, grad.rows.rows.count(), grad.rows.grain(),
              [&](int64_t begin, int64_t end) {
                for (int64_t row = begin; row < end; ++row)
                  grad.runRow(row);
              });
    return Status();
  });
}

/// What both kernels ask of logits and of the tensors of one element a row.
void checkRows(const KernelCall &call, Contract &contract,
               std::initializer_list<ArgRef> perRow) {
  contract.numbers(1).minRank(in(0), 1).floating(in(0));
  contract.type(in(1), {DType::I32, DType::I64});
  size_t rank = contract.ok() ? call.inputs[0].dims.size() - 1 : 0;
  for (ArgRef arg : perRow) {
    contract.rank(arg, rank);
    for (size_t d = 0; contract.ok() && d < rank; ++d)
      contract.sameDim(arg, static_cast<int>(d), in(0), static_cast<int>(d));
  }
}

class CrossEntropyKernel final : public Kernel {
public:
  std::string_view name() const override { return "cross_entropy"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2).outputs(2).floating(out(0)).floating(out(1));
    checkRows(call, contract, {in(1), out(0), out(1)});
    if (!contract.ok())
      return contract.status();
    const TensorDim &v = call.inputs[0].dims.back();
    contract.require(v.begin == 0 && v.valid == v.global,
                     "the vocabulary is split: a rank has " +
                         std::to_string(v.valid) + " of " +
                         std::to_string(v.global) + " logits");
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return prepareLoss<double>(call, threads);
    return prepareLoss<float>(call, threads);
  }
};

class CrossEntropyGradKernel final : public Kernel {
public:
  std::string_view name() const override { return "cross_entropy_grad"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(4).outputs(1).floating(in(2)).floating(in(3));
    checkRows(call, contract, {in(1), in(2), in(3)});
    return contract.sameShape(in(0), out(0)).floating(out(0)).status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return prepareLossGrad<double>(call, threads);
    return prepareLossGrad<float>(call, threads);
  }
};

} // namespace

const Kernel &crossEntropyKernel() {
  static const CrossEntropyKernel kernel;
  return kernel;
}
const Kernel &crossEntropyGradKernel() {
  static const CrossEntropyGradKernel kernel;
  return kernel;
}

} // namespace tandem

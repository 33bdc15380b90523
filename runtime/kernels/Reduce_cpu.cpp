#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Reduce.h"
#include "runtime/kernels/Tiles.h"

#include <limits>
#include <type_traits>

namespace tandem {
namespace {

enum ReduceKind { kSum = 0, kMax = 1, kMin = 2 };

template <typename C> C neutral(int64_t kind, DType type) {
  if (kind == kSum)
    return 0;
  if constexpr (std::is_floating_point_v<C>) {
    C infinity = std::numeric_limits<C>::infinity();
    return kind == kMax ? -infinity : infinity;
  } else {
    if (type == DType::Bool)
      return kind == kMin;
    bool isSigned = type == DType::I64 || type == DType::I32 ||
                    type == DType::I16 || type == DType::I8;
    int64_t bits = 8 * storageBytes(type, 1);
    int64_t high = isSigned || bits == 64
                       ? static_cast<int64_t>(~uint64_t(0) >> (65 - bits))
                       : (int64_t(1) << bits) - 1;
    return kind == kMin ? high : isSigned ? -high - 1 : 0;
  }
}

template <typename C>
void combineLanes(int64_t kind, C *totals, const C *more, int64_t n) {
  if (kind == kSum) {
    for (int64_t i = 0; i < n; ++i)
      totals[i] += more[i];
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    bool better = kind == kMax ? more[i] > totals[i] : more[i] < totals[i];
    // A NaN compares false and must win.
    if (better || more[i] != more[i])
      totals[i] = more[i];
  }
}

template <typename C> struct Reduction {
  int64_t kind;
  TensorArg from, to;
  LoopNest<2> kept;                  ///< Offsets of the input and the output.
  LoopNest<1> summed;                ///< Offsets of the input.
  LoopNest<2>::Loop lanes = {1, {}}; ///< A kept loop, done a tile at a time.
  LoopNest<1>::Loop run = {1, {}};   ///< The innermost summed loop.

  void runTile(const LoopNest<2>::Offsets &at, int64_t first, int64_t n) const {
    C totals[kTileLanes], buffer[kTileLanes];
    std::fill_n(totals, n, neutral<C>(kind, from.dtype));
    for (int64_t s = 0; s < summed.count(); ++s)
      for (int64_t r = 0; r < run.size; ++r) {
        int64_t offset = at[0] + first * lanes.strides[0] +
                         summed.offsets(s)[0] + r * run.strides[0];
        combineLanes(kind, totals,
                     loadTile<C>(from.data, from.dtype, offset, n, buffer,
                                 lanes.strides[0]),
                     n);
      }
    storeTile<C>(to.data, to.dtype, at[1] + first * lanes.strides[1], n, totals,
                 lanes.strides[1]);
  }

  /// One output; its innermost loop a tile at a time.
  void runOne(const LoopNest<2>::Offsets &at) const {
    C total = neutral<C>(kind, from.dtype), buffer[kTileLanes];
    for (int64_t s = 0; s < summed.count(); ++s)
      for (int64_t first = 0; first < run.size; first += kTileLanes) {
        int64_t n = std::min(kTileLanes, run.size - first);
        int64_t offset = at[0] + summed.offsets(s)[0] + first * run.strides[0];
        const C *in = loadTile<C>(from.data, from.dtype, offset, n, buffer,
                                  run.strides[0]);
        for (int64_t i = 0; i < n; ++i)
          combineLanes(kind, &total, in + i, 1);
      }
    storeOne<C>(to.data, to.dtype, at[1], total);
  }

  void runAll(ThreadPool &threads) const {
    int64_t each = summed.count() * run.size + 1;
    int64_t tiles = (lanes.size + kTileLanes - 1) / kTileLanes;
    int64_t total = kept.count() * tiles;
    int64_t work = each * std::min(lanes.size, kTileLanes);
    forRanges(threads, total, 16384 / (work + 1) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  auto at = kept.offsets(i / tiles);
                  int64_t first = i % tiles * kTileLanes;
                  if (lanes.size == 1)
                    runOne(at);
                  else
                    runTile(at, first,
                            std::min(kTileLanes, lanes.size - first));
                }
              });
  }
};

template <typename C>
std::unique_ptr<Launch> prepareReduce(const KernelCall &call,
                                      ThreadPool &threads) {
  Reduction<C> reduction;
  reduction.kind = call.numbers[0];
  reduction.from = call.inputs[0];
  reduction.to = call.outputs[0];
  std::vector<int64_t> strideIn = stridesOf(reduction.from);
  std::vector<int64_t> strideOut = stridesOf(reduction.to);
  size_t next = 0;
  for (size_t d = 0; d < strideIn.size(); ++d) {
    int64_t size = reduction.from.dims[d].valid;
    int32_t factor = factorOf(call.rule.operands[0], d);
    bool stays = next < strideOut.size() && factor >= 0 &&
                 factor == factorOf(call.rule.results[0], next);
    if (stays)
      reduction.kept.add(size, {strideIn[d], strideOut[next++]});
    else
      reduction.summed.add(size, {strideIn[d]});
  }
  reduction.kept.merge();
  reduction.summed.merge();
  reduction.run = reduction.summed.takeInnermost();
  // Contiguous kept lanes are reduced side by side.
  bool beside = !reduction.kept.loops.empty() &&
                reduction.kept.loops.back().strides[0] == 1;
  if (beside)
    reduction.lanes = reduction.kept.takeInnermost();
  return makeLaunch([reduction, &threads] {
    reduction.runAll(threads);
    return Status();
  });
}

class ReduceKernel final : public Kernel {
public:
  std::string_view name() const override { return "reduce"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(1).outputs(1).numbers(1).sameType(in(0), out(0));
    contract.require(call.rule.operands.size() == 1 &&
                         call.rule.results.size() == 1,
                     "the rule names other inputs and outputs");
    if (!contract.ok())
      return contract.status();
    contract.require(call.numbers[0] >= 0 && call.numbers[0] <= 2,
                     "kind is " + std::to_string(call.numbers[0]) +
                         ", expected 0, 1 or 2");
    size_t next = 0, rank = call.outputs[0].dims.size();
    for (size_t d = 0; contract.ok() && d < call.inputs[0].dims.size(); ++d) {
      int32_t factor = factorOf(call.rule.operands[0], d);
      if (next < rank && factor >= 0 &&
          factor == factorOf(call.rule.results[0], next))
        contract.sameDim(in(0), static_cast<int>(d), out(0),
                         static_cast<int>(next++));
    }
    contract.require(next == rank, "output 0 has a dimension that input 0 "
                                   "lacks, or in another order");
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (isFloat(call.inputs[0].dtype))
      return prepareReduce<double>(call, threads);
    return prepareReduce<int64_t>(call, threads);
  }
};

//===----------------------------------------------------------------------===//
// cumulative_sum
//===----------------------------------------------------------------------===//

template <typename C>
void scanLine(const TensorArg &from, const TensorArg &to,
              LoopNest<2>::Offsets at, const LoopNest<2>::Loop &line,
              bool exclusive, bool reverse) {
  C sum = 0;
  for (int64_t n = 0; n < line.size; ++n) {
    int64_t i = reverse ? line.size - 1 - n : n;
    C value = loadOne<C>(from.data, from.dtype, at[0] + i * line.strides[0]);
    int64_t target = at[1] + i * line.strides[1];
    storeOne<C>(to.data, to.dtype, target, exclusive ? sum : sum + value);
    sum += value;
  }
}

template <typename C>
std::unique_ptr<Launch> prepareScan(const KernelCall &call,
                                    ThreadPool &threads) {
  TensorArg from = call.inputs[0], to = call.outputs[0];
  std::vector<int64_t> strideIn = stridesOf(from), strideOut = stridesOf(to);
  size_t dim = call.numbers[0];
  LoopNest<2> others;
  for (size_t d = 0; d < strideIn.size(); ++d)
    if (d != dim)
      others.add(from.dims[d].valid, {strideIn[d], strideOut[d]});
  others.merge();
  LoopNest<2>::Loop line = {from.dims[dim].valid,
                            {strideIn[dim], strideOut[dim]}};
  bool exclusive = call.numbers[1] != 0, reverse = call.numbers[2] != 0;
  return makeLaunch([=, &threads] {
    forRanges(threads, others.count(), 4096 / (line.size + 1) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i)
                  scanLine<C>(from, to, others.offsets(i), line, exclusive,
                              reverse);
              });
    return Status();
  });
}

class CumulativeSumKernel final : public Kernel {
public:
  std::string_view name() const override { return "cumulative_sum"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(1).outputs(1).numbers(3).sameType(in(0), out(0));
    contract.sameShape(in(0), out(0));
    if (contract.ok())
      contract.require(0 <= call.numbers[0] &&
                           call.numbers[0] <
                               static_cast<int64_t>(call.inputs[0].dims.size()),
                       "dimension " + std::to_string(call.numbers[0]) +
                           " is not one of input 0");
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (isFloat(call.inputs[0].dtype))
      return prepareScan<double>(call, threads);
    return prepareScan<int64_t>(call, threads);
  }
};

} // namespace

const Kernel &reduceKernel() {
  static const ReduceKernel kernel;
  return kernel;
}
const Kernel &cumulativeSumKernel() {
  static const CumulativeSumKernel kernel;
  return kernel;
}

} // namespace tandem

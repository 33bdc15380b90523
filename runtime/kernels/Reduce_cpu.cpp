#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/PieceCut.h"
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

/// A part of what is summed: where it starts in the input, and its loops.
struct SummedPart {
  int64_t first = 0;
  LoopNest<1> loops;
  LoopNest<1>::Loop run = {1, {}}; ///< The innermost one.

  int64_t count() const { return loops.count() * run.size; }
};

/// Parts that a reduction has at most, and sums in progress with so many.
constexpr int64_t kMostParts = 4096;
constexpr int64_t kLevels = 13;

template <typename C> struct Reduction {
  int64_t kind;
  TensorArg from, to;
  LoopNest<2> kept;                  ///< Offsets of the input and the output.
  LoopNest<2>::Loop lanes = {1, {}}; ///< A kept loop, done a tile at a time.
  std::vector<SummedPart> parts;     ///< A power of two of them.

  /// Lanes side by side.
  void reduceTile(const SummedPart &part, int64_t at, int64_t n,
                  C *totals) const {
    C buffer[kTileLanes];
    for (int64_t s = 0; s < part.loops.count(); ++s)
      for (int64_t r = 0; r < part.run.size; ++r) {
        int64_t offset =
            at + part.loops.offsets(s)[0] + r * part.run.strides[0];
        combineLanes(kind, totals,
                     loadTile<C>(from.data, from.dtype, offset, n, buffer,
                                 lanes.strides[0]),
                     n);
      }
  }

  /// One lane; its innermost loop a tile at a time.
  void reduceOne(const SummedPart &part, int64_t at, C *total) const {
    C buffer[kTileLanes];
    for (int64_t s = 0; s < part.loops.count(); ++s)
      for (int64_t first = 0; first < part.run.size; first += kTileLanes) {
        int64_t n = std::min(kTileLanes, part.run.size - first);
        int64_t offset =
            at + part.loops.offsets(s)[0] + first * part.run.strides[0];
        const C *in = loadTile<C>(from.data, from.dtype, offset, n, buffer,
                                  part.run.strides[0]);
        for (int64_t i = 0; i < n; ++i)
          combineLanes(kind, total, in + i, 1);
      }
  }

  /// Sums of parts have the output's type, so that ranks can go on adding.
  void round(C *totals, int64_t n) const {
    if (std::is_same_v<C, double> && to.dtype == DType::F32)
      for (int64_t i = 0; i < n; ++i)
        totals[i] = static_cast<C>(static_cast<float>(totals[i]));
  }

  void runTile(const LoopNest<2>::Offsets &at, int64_t first, int64_t n) const {
    C stack[kLevels][kTileLanes];
    int64_t start = at[0] + first * lanes.strides[0], top = 0;
    for (size_t i = 0; i < parts.size(); ++i, ++top) {
      std::fill_n(stack[top], n, neutral<C>(kind, to.dtype));
      if (lanes.size == 1)
        reduceOne(parts[i], start + parts[i].first, stack[top]);
      else
        reduceTile(parts[i], start + parts[i].first, n, stack[top]);
      if (parts.size() > 1)
        round(stack[top], n);
      // As many merges as 2 divides the parts so far: a binary tree.
      for (size_t done = i + 1; done % 2 == 0; done /= 2, --top) {
        combineLanes(kind, stack[top - 1], stack[top], n);
        round(stack[top - 1], n);
      }
    }
    storeTile<C>(to.data, to.dtype, at[1] + first * lanes.strides[1], n,
                 stack[0], lanes.strides[1]);
  }

  void runAll(ThreadPool &threads) const {
    int64_t each = 1;
    for (const SummedPart &part : parts)
      each += part.count();
    int64_t tiles = (lanes.size + kTileLanes - 1) / kTileLanes;
    int64_t total = kept.count() * tiles;
    int64_t work = each * std::min(lanes.size, kTileLanes);
    forRanges(threads, total, 16384 / (work + 1) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  int64_t first = i % tiles * kTileLanes;
                  runTile(kept.offsets(i / tiles), first,
                          std::min(kTileLanes, lanes.size - first));
                }
              });
  }
};

/// How a dimension of the input is reduced.
struct ReducedDim {
  TensorDim dim;
  int64_t stride;
  bool stays, cut;
};

std::vector<ReducedDim> reducedDims(const KernelCall &call) {
  const TensorArg &from = call.inputs[0];
  std::vector<int64_t> strides = stridesOf(from);
  std::vector<ReducedDim> dims;
  size_t next = 0, rank = call.outputs[0].dims.size();
  int64_t factors = call.numbers.size() == 3 ? call.numbers[2] : 0;
  for (size_t d = 0; d < strides.size(); ++d) {
    int32_t factor = factorOf(call.rule.operands[0], d);
    bool stays = next < rank && factor >= 0 &&
                 factor == factorOf(call.rule.results[0], next);
    bool cut = factor >= 0 && factor < 63 && (factors >> factor & 1);
    dims.push_back({from.dims[d], strides[d], stays, cut});
    next += stays;
  }
  return dims;
}

int64_t partsOf(const std::vector<ReducedDim> &dims, int64_t pieces) {
  int64_t count = 1;
  for (const ReducedDim &dim : dims)
    if (dim.cut)
      count *= PieceCut(dim.dim, pieces).count();
  return count;
}

/// Part number `index` of all combinations, the first dimension's outermost.
SummedPart partAt(const std::vector<ReducedDim> &dims, int64_t pieces,
                  int64_t index) {
  SummedPart part;
  int64_t rest = partsOf(dims, pieces);
  for (const ReducedDim &dim : dims) {
    if (dim.stays)
      continue;
    int64_t size = dim.dim.valid;
    if (dim.cut) {
      PieceCut cut(dim.dim, pieces);
      rest /= cut.count();
      part.first += cut.first(index / rest) * dim.stride;
      size = cut.lanes(index / rest);
      index %= rest;
    }
    part.loops.add(size, {dim.stride});
  }
  part.loops.merge();
  part.run = part.loops.takeInnermost();
  return part;
}

template <typename C>
std::unique_ptr<Launch> prepareReduce(const KernelCall &call,
                                      ThreadPool &threads) {
  Reduction<C> reduction;
  reduction.kind = call.numbers[0];
  reduction.from = call.inputs[0];
  reduction.to = call.outputs[0];
  std::vector<int64_t> strideOut = stridesOf(reduction.to);
  std::vector<ReducedDim> dims = reducedDims(call);
  size_t next = 0;
  for (const ReducedDim &dim : dims)
    if (dim.stays)
      reduction.kept.add(dim.dim.valid, {dim.stride, strideOut[next++]});
  reduction.kept.merge();
  int64_t pieces = call.numbers.size() == 3 ? call.numbers[1] : 1;
  for (int64_t i = 0; i < partsOf(dims, pieces); ++i)
    reduction.parts.push_back(partAt(dims, pieces, i));
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
    contract.inputs(1).outputs(1).numbers(1, 3).sameType(in(0), out(0));
    contract.require(call.rule.operands.size() == 1 &&
                         call.rule.results.size() == 1,
                     "the rule names other inputs and outputs");
    if (!contract.ok())
      return contract.status();
    contract.require(call.numbers[0] >= 0 && call.numbers[0] <= 2,
                     "kind is " + std::to_string(call.numbers[0]) +
                         ", expected 0, 1 or 2");
    std::vector<ReducedDim> dims = reducedDims(call);
    size_t next = 0, rank = call.outputs[0].dims.size();
    for (size_t d = 0; contract.ok() && d < dims.size(); ++d)
      if (dims[d].stays)
        contract.sameDim(in(0), static_cast<int>(d), out(0),
                         static_cast<int>(next++));
    contract.require(next == rank, "output 0 has a dimension that input 0 "
                                   "lacks, or in another order");
    if (contract.ok() && call.numbers.size() > 1)
      checkPieces(call, dims, contract);
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (isFloat(call.inputs[0].dtype))
      return prepareReduce<double>(call, threads);
    return prepareReduce<int64_t>(call, threads);
  }

private:
  static void checkPieces(const KernelCall &call,
                          const std::vector<ReducedDim> &dims,
                          Contract &contract) {
    contract.numbers(3).type(in(0), {DType::F32, DType::F64});
    std::vector<TensorDim> cut;
    for (size_t d = 0; d < dims.size(); ++d) {
      const ReducedDim &dim = dims[d];
      contract.require(!dim.cut || !dim.stays,
                       "dimension " + std::to_string(d) +
                           " is cut into pieces but not summed over");
      contract.require(dim.cut || dim.stays ||
                           dim.dim.capacity >= dim.dim.global,
                       "dimension " + std::to_string(d) +
                           " is summed over and split, but not cut into "
                           "pieces");
      if (dim.cut)
        cut.push_back(dim.dim);
    }
    checkCut(contract, call.numbers[1], cut);
    if (contract.ok())
      contract.require(partsOf(dims, call.numbers[1]) <= kMostParts,
                       "sums are cut into more than " +
                           std::to_string(kMostParts) + " parts");
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

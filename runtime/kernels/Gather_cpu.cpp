#include "runtime/kernels/Contract.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/Gather.h"
#include "runtime/kernels/Tiles.h"

#include <limits>

namespace tandem {
namespace {

/// The lookup that gather and scatter_add share. `source` is the tensor with
/// the looked-up dimension, `picked` the one with the indices' dimensions.
struct Lookup {
  Lookup(const TensorArg &source, const TensorArg &indices,
         const TensorArg &picked, int64_t dim, int64_t batchDims)
      : source(source), indices(indices), picked(picked),
        looked(source.dims[dim]) {
    std::vector<int64_t> s = stridesOf(source), i = stridesOf(indices);
    std::vector<int64_t> p = stridesOf(picked);
    lookedStride = s[dim];
    auto size = [](const TensorDim &a, const TensorDim &b) {
      return std::min(a.valid, b.valid);
    };
    int64_t many = indices.dims.size() - batchDims;
    for (int64_t d = 0; d < batchDims; ++d)
      outer.add(size(source.dims[d], picked.dims[d]), {s[d], i[d], p[d]});
    for (int64_t d = batchDims; d < dim; ++d)
      outer.add(size(source.dims[d], picked.dims[d]), {s[d], 0, p[d]});
    for (int64_t d = 0; d < many; ++d)
      each.add(size(indices.dims[batchDims + d], picked.dims[dim + d]),
               {i[batchDims + d], p[dim + d]});
    for (size_t d = dim + 1; d < source.dims.size(); ++d) {
      size_t at = d + many - 1;
      rest.add(size(source.dims[d], picked.dims[at]), {p[at], s[d]});
    }
    rest.merge();
  }

  /// The lane of the looked-up dimension that index number `at` names; -1
  /// where another rank holds it.
  int64_t lane(int64_t at) const {
    int64_t index = loadOne<int64_t>(indices.data, indices.dtype, at);
    int64_t local = index - looked.begin;
    return 0 <= local && local < looked.valid ? local : -1;
  }

  Status checkIndices(const char *kernel) const {
    for (int64_t o = 0; o < outer.count(); ++o)
      for (int64_t e = 0; e < each.count(); ++e) {
        int64_t at = outer.offsets(o)[1] + each.offsets(e)[0];
        int64_t index = loadOne<int64_t>(indices.data, indices.dtype, at);
        if (index < 0 || index >= looked.global)
          return Status::refused(std::string(kernel) + ": index " +
                                 std::to_string(index) + " is outside [0, " +
                                 std::to_string(looked.global) + ")");
      }
    return Status();
  }

  TensorArg source, indices, picked;
  TensorDim looked;
  int64_t lookedStride;
  LoopNest<3> outer; ///< Offsets in source, indices, picked.
  LoopNest<2> each;  ///< Offsets in indices, picked.
  LoopNest<2> rest;  ///< Offsets in picked, source.
};

/// Checks that `picked` has the shape that gathering from `source` gives.
void checkLookup(Contract &contract, const KernelCall &call, ArgRef source,
                 ArgRef indices, ArgRef picked) {
  contract.numbers(2).type(indices, {DType::I32, DType::I64});
  contract.sameType(source, picked);
  contract.rank(
      source,
      (source.output ? call.outputs : call.inputs)[source.index].dims.size());
  if (!contract.ok())
    return;
  auto dims = [&](ArgRef arg) {
    return static_cast<int>(
        (arg.output ? call.outputs : call.inputs)[arg.index].dims.size());
  };
  int dim = static_cast<int>(std::clamp<int64_t>(call.numbers[0], -1, 99));
  int batch = static_cast<int>(std::clamp<int64_t>(call.numbers[1], -1, 99));
  contract.require(0 <= dim && dim < dims(source),
                   "dimension " + std::to_string(call.numbers[0]) +
                       " is not one of the " + std::to_string(dims(source)) +
                       " that are looked up in");
  contract.require(0 <= batch && batch <= dim && batch <= dims(indices),
                   std::to_string(call.numbers[1]) +
                       " batch dimensions do not fit");
  if (!contract.ok())
    return;
  int many = dims(indices) - batch;
  contract.rank(picked, dims(source) - 1 + many);
  for (int d = 0; d < batch; ++d)
    contract.sameDim(indices, d, picked, d);
  for (int d = 0; d < dim; ++d)
    contract.sameDim(source, d, picked, d);
  for (int d = 0; d < many; ++d)
    contract.sameDim(indices, batch + d, picked, dim + d);
  for (int d = dim + 1; d < dims(source); ++d)
    contract.sameDim(source, d, picked, d + many - 1);
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

class GatherKernel final : public Kernel {
public:
  std::string_view name() const override { return "gather"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2).outputs(1);
    if (contract.ok())
      checkLookup(contract, call, in(0), in(1), out(0));
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    Lookup lookup(call.inputs[0], call.inputs[1], call.outputs[0],
                  call.numbers[0], call.numbers[1]);
    int64_t bytes = storageBytes(call.outputs[0].dtype, 1);
    StridedCopy copy(bytes, lookup.rest);
    LoopNest<2> zeroLoops = lookup.rest;
    for (auto &loop : zeroLoops.loops)
      loop.strides[1] = 0;
    StridedCopy zero(bytes, zeroLoops);
    auto gatherRange = [=](int64_t begin, int64_t end) {
      static constexpr std::byte kZero[8] = {};
      int64_t many = lookup.each.count();
      for (int64_t n = begin; n < end; ++n) {
        auto at = lookup.outer.offsets(n / many);
        auto index = lookup.each.offsets(n % many);
        std::byte *to = lookup.picked.data + (at[2] + index[1]) * bytes;
        int64_t lane = lookup.lane(at[1] + index[0]);
        if (lane < 0)
          zero.run(to, kZero);
        else
          copy.run(to, lookup.source.data +
                           (at[0] + lane * lookup.lookedStride) * bytes);
      }
    };
    return makeLaunch([=, &threads]() -> Status {
      TANDEM_TRY(lookup.checkIndices("gather"));
      int64_t total = lookup.outer.count() * lookup.each.count();
      forRanges(threads, total, 16384 / (lookup.rest.count() + 1) + 1,
                gatherRange);
      return Status();
    });
  }
};

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

/// Adds `n` lanes of `from` to `to`, in C.
template <typename C>
void addLanes(const TensorArg &to, int64_t atTo, int64_t strideTo,
              const TensorArg &from, int64_t atFrom, int64_t strideFrom,
              int64_t n) {
  C sums[kTileLanes], buffer[kTileLanes];
  for (int64_t i = 0; i < n; i += kTileLanes) {
    int64_t count = std::min(kTileLanes, n - i);
    const C *old = loadTile<C>(to.data, to.dtype, atTo + i * strideTo, count,
                               sums, strideTo);
    const C *more = loadTile<C>(from.data, from.dtype, atFrom + i * strideFrom,
                                count, buffer, strideFrom);
    for (int64_t l = 0; l < count; ++l)
      sums[l] = old[l] + more[l];
    storeTile<C>(to.data, to.dtype, atTo + i * strideTo, count, sums, strideTo);
  }
}

template <typename C>
std::unique_ptr<Launch> prepareScatterAdd(const KernelCall &call,
                                          ThreadPool &threads) {
  bool based = call.inputs.size() == 3;
  TensorArg to = call.outputs[0];
  Lookup lookup(to, call.inputs[based], call.inputs[based + 1], call.numbers[0],
                call.numbers[1]);
  BoxFill zero(to, 0.0);
  const std::byte *base = based ? call.inputs[0].data : nullptr;
  StridedCopy copy;
  if (based)
    copy = StridedCopy(storageBytes(to.dtype, 1),
                       commonLoops(to, call.inputs[0], 0, to.dims.size()));
  LoopNest<2> rest = lookup.rest;
  auto inner = rest.takeInnermost();
  // Threads share out the innermost lanes: each adds all updates to its own,
  // in the order of the indices.
  auto addRange = [=](int64_t begin, int64_t end) {
    for (int64_t o = 0; o < lookup.outer.count(); ++o) {
      auto at = lookup.outer.offsets(o);
      for (int64_t e = 0; e < lookup.each.count(); ++e) {
        auto index = lookup.each.offsets(e);
        int64_t lane = lookup.lane(at[1] + index[0]);
        if (lane < 0)
          continue;
        for (int64_t r = 0; r < rest.count(); ++r) {
          auto further = rest.offsets(r);
          addLanes<C>(to,
                      at[0] + lane * lookup.lookedStride + further[1] +
                          begin * inner.strides[1],
                      inner.strides[1], lookup.picked,
                      at[2] + index[1] + further[0] + begin * inner.strides[0],
                      inner.strides[0], end - begin);
        }
      }
    }
  };
  return makeLaunch([=, &threads]() -> Status {
    TANDEM_TRY(lookup.checkIndices("scatter_add"));
    if (!base)
      zero.run(threads);
    else if (base != to.data)
      copy.run(to.data, base, threads);
    forRanges(threads, inner.size, 64, addRange);
    return Status();
  });
}

class ScatterAddKernel final : public Kernel {
public:
  std::string_view name() const override { return "scatter_add"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2, 3).outputs(1);
    if (!contract.ok())
      return contract.status();
    size_t based = call.inputs.size() == 3;
    if (based)
      contract.sameShape(in(0), out(0)).sameType(in(0), out(0));
    if (contract.ok())
      checkLookup(contract, call, out(0), in(based), in(based + 1));
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    DType type = call.outputs[0].dtype;
    if (type == DType::F64)
      return prepareScatterAdd<double>(call, threads);
    if (isFloat(type))
      return prepareScatterAdd<float>(call, threads);
    return prepareScatterAdd<int64_t>(call, threads);
  }
};

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

/// Copies `n` contiguous elements, converting where types differ.
void copyRow(const TensorArg &to, int64_t atTo, const TensorArg &from,
             int64_t atFrom, int64_t n) {
  if (to.dtype == from.dtype) {
    int64_t bytes = storageBytes(to.dtype, 1);
    std::memcpy(to.data + atTo * bytes, from.data + atFrom * bytes, n * bytes);
    return;
  }
  double buffer[kTileLanes];
  float narrow[kTileLanes];
  bool wide = to.dtype == DType::F64 || from.dtype == DType::F64;
  for (int64_t i = 0; i < n; i += kTileLanes) {
    int64_t count = std::min(kTileLanes, n - i);
    if (wide)
      storeTile<double>(
          to.data, to.dtype, atTo + i, count,
          loadTile<double>(from.data, from.dtype, atFrom + i, count, buffer));
    else
      storeTile<float>(
          to.data, to.dtype, atTo + i, count,
          loadTile<float>(from.data, from.dtype, atFrom + i, count, narrow));
  }
}

class EmbeddingKernel final : public Kernel {
public:
  std::string_view name() const override { return "embedding"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2).outputs(1).numbers(0).rank(in(0), 2);
    contract.floating(in(0)).floating(out(0));
    contract.type(in(1), {DType::I32, DType::I64});
    if (!contract.ok())
      return contract.status();
    size_t rank = call.inputs[1].dims.size();
    contract.rank(out(0), rank + 1).sameDim(out(0), -1, in(0), 1);
    for (size_t d = 0; contract.ok() && d < rank; ++d)
      contract.sameDim(in(1), static_cast<int>(d), out(0), static_cast<int>(d));
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    TensorArg table = call.inputs[0], ids = call.inputs[1];
    TensorArg to = call.outputs[0];
    LoopNest<2> tokens = commonLoops(ids, to, 0, ids.dims.size());
    int64_t width = std::min(table.dims[1].valid, to.dims.back().valid);
    TensorDim rows = table.dims[0];
    int64_t stride = table.dims[1].capacity;
    auto idAt = [=](int64_t token) {
      return loadOne<int64_t>(ids.data, ids.dtype, tokens.offsets(token)[0]);
    };
    auto lookUp = [=](int64_t begin, int64_t end) {
      int64_t bytes = storageBytes(to.dtype, 1);
      for (int64_t token = begin; token < end; ++token) {
        int64_t at = tokens.offsets(token)[1];
        int64_t row = idAt(token) - rows.begin;
        if (0 <= row && row < rows.valid)
          copyRow(to, at, table, row * stride, width);
        else
          std::memset(to.data + at * bytes, 0, width * bytes);
      }
    };
    return makeLaunch([=, &threads] {
      for (int64_t token = 0; token < tokens.count(); ++token)
        if (idAt(token) < 0 || idAt(token) >= rows.global)
          return Status::refused(
              "embedding: id " + std::to_string(idAt(token)) +
              " is outside the vocabulary of " + std::to_string(rows.global));
      forRanges(threads, tokens.count(), 16384 / (width + 1) + 1, lookUp);
      return Status();
    });
  }
};

//===----------------------------------------------------------------------===//
// update_slice
//===----------------------------------------------------------------------===//

class UpdateSliceKernel final : public Kernel {
public:
  std::string_view name() const override { return "update_slice"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(3, 4).outputs(1).numbers(0).minRank(in(0), 2);
    contract.sameShape(in(0), out(0)).sameType(in(0), out(0));
    for (size_t i = 2; i < call.inputs.size(); ++i)
      contract.rank(in(i), 1)
          .type(in(i), {DType::I32, DType::I64})
          .sameDim(in(i), 0, in(0), 0);
    if (!contract.ok())
      return contract.status();
    const TensorArg &cache = call.inputs[0], &rows = call.inputs[1];
    contract.rank(in(1), cache.dims.size());
    contract.require(rows.dtype == cache.dtype ||
                         (isFloat(rows.dtype) && isFloat(cache.dtype)),
                     "rows have type " + std::string(tandem::name(rows.dtype)) +
                         ", the cache " +
                         std::string(tandem::name(cache.dtype)));
    for (size_t d = 0; contract.ok() && d < cache.dims.size(); ++d)
      if (d != 1)
        contract.sameDim(in(1), static_cast<int>(d), in(0),
                         static_cast<int>(d));
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    TensorArg rows = call.inputs[1], positions = call.inputs[2];
    TensorArg to = call.outputs[0];
    bool hasLengths = call.inputs.size() == 4;
    TensorArg lengths = hasLengths ? call.inputs[3] : TensorArg();
    LoopNest<2> rest = commonLoops(to, rows, 2, to.dims.size());
    auto inner = rest.takeInnermost();
    std::vector<int64_t> strideTo = stridesOf(to), strideRows = stridesOf(rows);
    const std::byte *base =
        call.inputs[0].data == to.data ? nullptr : call.inputs[0].data;
    StridedCopy copy(storageBytes(to.dtype, 1),
                     commonLoops(to, call.inputs[0], 0, to.dims.size()));
    auto writeRow = [=](int64_t b, int64_t i) {
      int64_t row = rows.dims[1].begin + i;
      int64_t lane = loadOne<int64_t>(positions.data, positions.dtype, b) +
                     row - to.dims[1].begin;
      int64_t many = hasLengths
                         ? loadOne<int64_t>(lengths.data, lengths.dtype, b)
                         : std::numeric_limits<int64_t>::max();
      if (row >= many || lane < 0 || lane >= to.dims[1].valid)
        return;
      for (int64_t r = 0; r < rest.count(); ++r) {
        auto at = rest.offsets(r);
        int64_t first = b * strideTo[0] + lane * strideTo[1] + at[0];
        int64_t from = b * strideRows[0] + i * strideRows[1] + at[1];
        if (inner.strides[0] == 1 && inner.strides[1] == 1)
          copyRow(to, first, rows, from, inner.size);
        else
          for (int64_t l = 0; l < inner.size; ++l)
            copyRow(to, first + l * inner.strides[0], rows,
                    from + l * inner.strides[1], 1);
      }
    };
    return makeLaunch([=, &threads] {
      if (base)
        copy.run(to.data, base, threads);
      int64_t tokens = rows.dims[1].valid;
      int64_t total = std::min(to.dims[0].valid, rows.dims[0].valid) * tokens;
      forRanges(threads, total, 16384 / (rest.count() * inner.size + 1) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t n = begin; n < end; ++n)
                    writeRow(n / tokens, n % tokens);
                });
      return Status();
    });
  }
};

} // namespace

const Kernel &embeddingKernel() {
  static const EmbeddingKernel kernel;
  return kernel;
}
const Kernel &gatherKernel() {
  static const GatherKernel kernel;
  return kernel;
}
const Kernel &scatterAddKernel() {
  static const ScatterAddKernel kernel;
  return kernel;
}
const Kernel &updateSliceKernel() {
  static const UpdateSliceKernel kernel;
  return kernel;
}

} // namespace tandem

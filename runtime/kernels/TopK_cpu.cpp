#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/TopK.h"

#include <limits>

namespace tandem {
namespace {

constexpr int32_t kNoIndex = std::numeric_limits<int32_t>::max();

struct Candidate {
  double value;
  int32_t index;
};

/// Whether a comes before b in the result.
bool before(const Candidate &a, const Candidate &b) {
  bool nanA = a.value != a.value, nanB = b.value != b.value;
  if (nanA != nanB)
    return nanB;
  if (!nanA && a.value != b.value)
    return a.value > b.value;
  return a.index < b.index;
}

/// A heap in the output row with the last of the kept candidates on top.
class OutputHeap {
public:
  OutputHeap(const TensorArg &values, const TensorArg &indices,
             int64_t atValues, int64_t atIndices)
      : values(values), indices(indices), atValues(atValues),
        atIndices(atIndices) {}

  void offer(const Candidate &fresh, int64_t capacity) {
    if (size < capacity)
      rise(size++, fresh);
    else if (capacity > 0 && before(fresh, root))
      sink(0, size, fresh);
    else
      return;
    root = get(0);
  }
  /// Whether no candidate of at most `value` could be taken.
  bool refuses(double value, int64_t capacity) const {
    return size == capacity && (capacity == 0 || value < root.value);
  }
  /// Heap sort: the last candidate goes to the end, and so on.
  void sort() {
    for (int64_t end = size - 1; end > 0; --end) {
      Candidate last = get(0), moved = get(end);
      put(end, last);
      sink(0, end, moved);
    }
  }
  void fill(int64_t capacity) {
    for (int64_t i = size; i < capacity; ++i)
      put(i, {-std::numeric_limits<double>::infinity(), kNoIndex});
  }

private:
  Candidate get(int64_t i) const {
    return {loadOne<double>(values.data, values.dtype, atValues + i),
            static_cast<int32_t>(
                loadOne<int64_t>(indices.data, indices.dtype, atIndices + i))};
  }
  void put(int64_t i, const Candidate &candidate) {
    storeOne<double>(values.data, values.dtype, atValues + i, candidate.value);
    storeOne<int64_t>(indices.data, indices.dtype, atIndices + i,
                      candidate.index);
  }
  void rise(int64_t i, const Candidate &fresh) {
    while (i > 0 && before(get((i - 1) / 2), fresh)) {
      put(i, get((i - 1) / 2));
      i = (i - 1) / 2;
    }
    put(i, fresh);
  }
  void sink(int64_t i, int64_t end, const Candidate &fresh) {
    for (int64_t child; (child = 2 * i + 1) < end; i = child) {
      if (child + 1 < end && before(get(child), get(child + 1)))
        ++child;
      if (!before(fresh, get(child)))
        break;
      put(i, get(child));
    }
    put(i, fresh);
  }

  const TensorArg &values, &indices;
  int64_t atValues, atIndices, size = 0;
  Candidate root = {}; ///< The last of those kept.
};

struct TopKRows {
  TensorArg from, payload, values, indices;
  bool hasPayload = false;
  LoopNest<4> rows; ///< Offsets of from, payload, values, indices.
  int64_t width = 0, k = 0;

  template <typename C> void runRow(const LoopNest<4>::Offsets &at) const {
    OutputHeap heap(values, indices, at[2], at[3]);
    C buffer[kTileLanes];
    int64_t begin = from.dims.back().begin;
    for (int64_t first = 0; first < width; first += kTileLanes) {
      int64_t n = std::min(kTileLanes, width - first);
      const C *tile =
          loadTile<C>(from.data, from.dtype, at[0] + first, n, buffer);
      // Most tiles of a vocabulary hold nothing that is large enough.
      if (heap.refuses(rowMax(tile, n), k))
        continue;
      for (int64_t i = 0; i < n; ++i) {
        int64_t index = begin + first + i;
        if (hasPayload)
          index =
              loadOne<int64_t>(payload.data, payload.dtype, at[1] + first + i);
        heap.offer({tile[i], static_cast<int32_t>(index)}, k);
      }
    }
    heap.sort();
    heap.fill(k);
  }

  void run(const LoopNest<4>::Offsets &at) const {
    if (from.dtype == DType::F64)
      runRow<double>(at);
    else
      runRow<float>(at);
  }
};

class TopKKernel final : public Kernel {
public:
  std::string_view name() const override { return "top_k"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(1, 2).outputs(2).numbers(0).minRank(in(0), 1);
    contract.floating(in(0)).sameType(in(0), out(0));
    contract.type(out(1), {DType::I32, DType::I64});
    contract.sameShape(out(0), out(1));
    if (!contract.ok())
      return contract.status();
    size_t rank = call.inputs[0].dims.size();
    contract.rank(out(0), rank);
    for (size_t d = 0; contract.ok() && d + 1 < rank; ++d)
      contract.sameDim(in(0), static_cast<int>(d), out(0), static_cast<int>(d));
    if (call.inputs.size() == 2)
      contract.sameShape(in(0), in(1)).type(in(1), {DType::I32, DType::I64});
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    TopKRows top;
    top.from = call.inputs[0];
    top.hasPayload = call.inputs.size() == 2;
    top.payload = call.inputs.back();
    top.values = call.outputs[0];
    top.indices = call.outputs[1];
    top.width = top.from.dims.back().valid;
    top.k = top.values.dims.back().capacity;
    std::vector<int64_t> f = stridesOf(top.from), p = stridesOf(top.payload);
    std::vector<int64_t> v = stridesOf(top.values), i = stridesOf(top.indices);
    for (size_t d = 0; d + 1 < f.size(); ++d)
      top.rows.add(top.from.dims[d].valid, {f[d], p[d], v[d], i[d]});
    return makeLaunch([top, &threads] {
      forRanges(threads, top.rows.count(), 4096 / (top.width + 1) + 1,
                [&](int64_t begin, int64_t end) {
                  for (int64_t row = begin; row < end; ++row)
                    top.run(top.rows.offsets(row));
                });
      return Status();
    });
  }
};

} // namespace

const Kernel &topKKernel() {
  static const TopKKernel kernel;
  return kernel;
}

} // namespace tandem

#include "runtime/kernels/Attention.h"
#include "runtime/kernels/AttentionShape.h"
#include "runtime/kernels/Product.h"
#include "runtime/kernels/VectorOps.h"

#include <cmath>

namespace tandem {
namespace {

constexpr int64_t kKeys = 128;      ///< Keys of one block.
constexpr int64_t kQueryRows = 64;  ///< Query rows of one block, about.
constexpr int64_t kDecodeRows = 16; ///< Up to which keys are shared out.
constexpr float kNone = kHiddenScore;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

WeightKind kindOf(DType type) {
  return type == DType::BF16  ? kWeightBF16
         : type == DType::F16 ? kWeightF16
                              : kWeightF32;
}

/// How a call is cut into units of work; from capacities alone, so that
/// workspace is the same on every rank.
struct AttentionCut {
  explicit AttentionCut(const KernelCall &call) {
    const auto &q = call.inputs[0].dims, &v = call.inputs[2].dims;
    int64_t s = q[1].capacity, g = q[3].capacity;
    e = v[3].capacity;
    shared = s * g <= kDecodeRows;
    tokens =
        shared ? s : std::max<int64_t>(kQueryRows / std::max<int64_t>(g, 1), 1);
    rows = tokens * g;
    blocks = shared ? 1 : ceilDiv(s, tokens);
    chunks = shared ? ceilDiv(v[1].capacity, kKeys) : 1;
    scratchFloats =
        rows * (q[4].capacity + kKeys + e + 2) + kKeys * (q[4].capacity + e);
    scratchFloats = ceilDiv(scratchFloats, 16) * 16;
    partialFloats =
        shared ? q[0].capacity * chunks * q[2].capacity * rows * (e + 2) : 0;
  }
  bool shared;            ///< Whether threads share the keys of a row.
  int64_t tokens;         ///< Tokens of a query block.
  int64_t rows;           ///< tokens * g.
  int64_t blocks, chunks; ///< Query blocks; pieces of the keys.
  int64_t e;
  int64_t scratchFloats; ///< Per thread.
  int64_t partialFloats; ///< For all.
};

/// A softmax in progress over the keys seen so far, for each query row.
struct RunningSoftmax {
  float *largest, *sum, *values;
};

/// The queries of one block of one key head against some of its keys.
class QueryBlock {
public:
  QueryBlock(const AttentionShape &shape, float *scratch, int64_t maxRows,
             int64_t row, int64_t head, int64_t token, int64_t tokens)
      : shape(shape), row(row), head(head), token(token),
        rows(tokens * shape.g), position(shape.firstPosition(row) + token) {
    queries = scratch;
    scores = queries + maxRows * shape.d;
    running.values = scores + maxRows * kKeys;
    running.largest = running.values + maxRows * shape.e;
    running.sum = running.largest + maxRows;
    keys = running.sum + maxRows;
    values = keys + kKeys * shape.d;
    end = shape.visibleEnd(position + tokens - 1);
    begin = shape.visibleBegin(position);
  }

  void start() {
    for (int64_t r = 0; r < rows; ++r) {
      float *to = queries + r * shape.d;
      const float *from = loadTile<float>(
          shape.q.data, shape.q.dtype,
          shape.qAt(row, token + r / shape.g, head, r % shape.g), shape.d, to);
      vectorOps().scale(to, from, static_cast<float>(shape.scale), shape.d);
    }
    std::fill_n(running.largest, rows, kNone);
    std::fill_n(running.sum, rows, 0.0f);
    std::fill_n(running.values, rows * shape.e, 0.0f);
  }

  /// Takes key lanes [from, to) into account, as far as visible.
  void addKeys(int64_t from, int64_t to) {
    from = std::max(from, begin);
    to = std::min(to, end);
    for (int64_t first = from; first < to; first += kKeys)
      addBlock(first, std::min(kKeys, to - first));
  }

  void finish() const {
    for (int64_t r = 0; r < rows; ++r)
      storeRow(r, running.largest[r], running.sum[r],
               running.values + r * shape.e);
  }
  void storeRow(int64_t r, float largest, float sum, float *result) const {
    int64_t t = token + r / shape.g, group = r % shape.g;
    vectorOps().scale(result, result, sum > 0 ? 1 / sum : 0.0f, shape.e);
    storeTile<float>(shape.out.data, shape.out.dtype,
                     shape.outAt(row, t, head, group), shape.e, result);
    shape.storeLse(row, t, head, group,
                   sum > 0 ? largest + std::log(sum) : kNone);
  }

  int64_t rowCount() const { return rows; }
  const RunningSoftmax &state() const { return running; }

private:
  void addBlock(int64_t first, int64_t n) {
    multiplyKeys(first, n);
    shape.adjustScores({row, head, token, rows, first, n}, scores, kKeys);
    for (int64_t r = 0; r < rows; ++r)
      takeRow(r, n);
    multiplyValues(first, n);
  }

  bool streams() const { return rows <= kDecodeRows; }

  /// Rows of one product of the streaming loops: as even as possible.
  int64_t streamRows() const {
    return ceilDiv(rows, ceilDiv(rows, kMaxProductRows));
  }

  void multiplyKeys(int64_t first, int64_t n) {
    int64_t at = shape.keyAt(row, first, head), stride = shape.keyStride[1];
    if (streams()) {
      const std::byte *from =
          shape.key.data + at * storageBytes(shape.key.dtype, 1);
      for (int64_t r = 0; r < rows; r += streamRows())
        vectorOps().dotRows[kindOf(shape.key.dtype)](
            scores + r * kKeys, kKeys, queries + r * shape.d, shape.d, from,
            stride, static_cast<int>(std::min(streamRows(), rows - r)), n,
            shape.d);
      return;
    }
    const float *from = widenedRows(shape.key, at, stride, n, shape.d, keys);
    multiplyOnThread(false, true, rows, n, shape.d, queries, shape.d, from,
                     stride, false, scores, kKeys);
  }

  void multiplyValues(int64_t first, int64_t n) {
    int64_t at = shape.valueAt(row, first, head);
    int64_t stride = shape.valueStride[1];
    if (streams()) {
      const std::byte *from =
          shape.value.data + at * storageBytes(shape.value.dtype, 1);
      for (int64_t r = 0; r < rows; r += streamRows())
        vectorOps().addRows[kindOf(shape.value.dtype)](
            running.values + r * shape.e, shape.e, scores + r * kKeys, kKeys,
            from, stride, static_cast<int>(std::min(streamRows(), rows - r)),
            shape.e, n);
      return;
    }
    const float *from =
        widenedRows(shape.value, at, stride, n, shape.e, values);
    multiplyOnThread(false, false, rows, shape.e, n, scores, kKeys, from,
                     stride, true, running.values, shape.e);
  }

  /// Turns a row of scores into weights and brings what was summed before to
  /// the new largest score.
  void takeRow(int64_t r, int64_t n) {
    float *score = scores + r * kKeys, &largest = running.largest[r];
    float now = std::max(largest, vectorOps().max(score, n));
    if (now == kNone) {
      std::fill_n(score, n, 0.0f);
      return;
    }
    float sum = vectorOps().expSum(score, score, now, n);
    if (now != largest) {
      float shrink = largest == kNone ? 0.0f : std::exp(largest - now);
      running.sum[r] *= shrink;
      float *sums = running.values + r * shape.e;
      vectorOps().scale(sums, sums, shrink, shape.e);
      largest = now;
    }
    running.sum[r] += sum;
  }

  const AttentionShape &shape;
  int64_t row, head, token, rows, position;
  float *queries, *scores, *keys, *values;
  RunningSoftmax running;
  int64_t begin, end; ///< Key lanes that any of the rows may see.
};

class AttentionLaunch final : public Launch {
public:
  AttentionLaunch(const KernelCall &call, ThreadPool &threads)
      : shape(call), cut(call), threads(threads),
        scratch(reinterpret_cast<float *>(call.workspace)),
        partials(scratch + threads.size() * cut.scratchFloats) {}

  Status run() override {
    if (cut.shared)
      runShared();
    else
      runBlocks();
    return Status();
  }

private:
  /// Every query block of every head by one thread each.
  void runBlocks() {
    int64_t blocks = ceilDiv(shape.s, cut.tokens);
    forUnits(shape.b * blocks * shape.k, [&](int64_t unit, float *mine) {
      int64_t i = unit / shape.k % blocks;
      // Later blocks see more keys: first, last, second, last but one ..., so
      // that equal numbers of blocks are equal work.
      int64_t block = i % 2 == 0 ? i / 2 : blocks - 1 - i / 2;
      int64_t token = block * cut.tokens;
      QueryBlock queries(shape, mine, cut.rows, unit / shape.k / blocks,
                         unit % shape.k, token,
                         std::min(cut.tokens, shape.s - token));
      queries.start();
      queries.addKeys(0, shape.t);
      queries.finish();
    });
  }

  /// Every chunk of keys by one thread each, put together in their order.
  void runShared() {
    int64_t chunks = visibleChunks();
    forUnits(shape.b * chunks * shape.k, [&](int64_t unit, float *mine) {
      int64_t chunk = unit / shape.k % chunks;
      QueryBlock queries(shape, mine, cut.rows, unit / shape.k / chunks,
                         unit % shape.k, 0, shape.s);
      queries.start();
      queries.addKeys(chunk * kKeys, (chunk + 1) * kKeys);
      keep(queries, partials + unit * cut.rows * (cut.e + 2));
    });
    forRanges(threads, shape.b * shape.k, 16, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        combine(i / shape.k, i % shape.k, chunks);
    });
  }

  /// How many chunks hold a key that some row sees.
  int64_t visibleChunks() const {
    int64_t lanes = 0;
    for (int64_t row = 0; row < shape.b; ++row)
      lanes = std::max(
          lanes, shape.visibleEnd(shape.firstPosition(row) + shape.s - 1));
    return std::max<int64_t>(ceilDiv(lanes, kKeys), 1);
  }

  template <typename Body> void forUnits(int64_t total, const Body &body) {
    int64_t pieces = pieceCount(threads, total, 1);
    threads.run(pieces, [&](int64_t piece) {
      float *mine = scratch + piece * cut.scratchFloats;
      int64_t end = total * (piece + 1) / pieces;
      for (int64_t unit = total * piece / pieces; unit < end; ++unit)
        body(unit, mine);
    });
  }

  void keep(const QueryBlock &queries, float *to) const {
    const RunningSoftmax &state = queries.state();
    for (int64_t r = 0; r < queries.rowCount(); ++r, to += cut.e + 2) {
      to[0] = state.largest[r];
      to[1] = state.sum[r];
      std::memcpy(to + 2, state.values + r * shape.e, shape.e * sizeof(float));
    }
  }

  /// Adds the chunks of one row's head into the first one's memory.
  void combine(int64_t row, int64_t head, int64_t chunks) const {
    QueryBlock queries(shape, partials, cut.rows, row, head, 0, shape.s);
    for (int64_t r = 0; r < queries.rowCount(); ++r) {
      float *total = partial(row, 0, head, chunks, r);
      for (int64_t chunk = 1; chunk < chunks; ++chunk)
        add(total, partial(row, chunk, head, chunks, r));
      queries.storeRow(r, total[0], total[1], total + 2);
    }
  }
  float *partial(int64_t row, int64_t chunk, int64_t head, int64_t chunks,
                 int64_t r) const {
    int64_t unit = (row * chunks + chunk) * shape.k + head;
    return partials + (unit * cut.rows + r) * (cut.e + 2);
  }
  void add(float *total, const float *more) const {
    if (more[1] == 0)
      return;
    float now = std::max(total[0], more[0]);
    float old = total[1] == 0 ? 0.0f : std::exp(total[0] - now);
    float fresh = std::exp(more[0] - now);
    for (int64_t i = 1; i < shape.e + 2; ++i)
      total[i] = total[i] * old + more[i] * fresh;
    total[0] = now;
  }

  AttentionShape shape;
  AttentionCut cut;
  ThreadPool &threads;
  float *scratch, *partials;
};

class AttentionKernel final : public Kernel {
public:
  std::string_view name() const override { return "attention"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.numbers(5);
    int64_t flags = contract.ok() ? call.numbers[4] : 0;
    contract.require(flags >= 0 && flags <= 7, "flags are " +
                                                   std::to_string(flags) +
                                                   ", expected 0 to 7");
    contract.inputs(4 + (flags & 1) + (flags >> 1 & 1)).outputs(1, 2);
    contract.rank(in(0), 5).rank(in(1), 4).rank(in(2), 4).rank(in(3), 1);
    contract.rank(out(0), 5);
    for (size_t i = 0; i < 3; ++i)
      contract.floating(in(i));
    contract.floating(out(0)).type(in(3), {DType::I32, DType::I64});
    contract.sameDim(in(0), 0, in(1), 0).sameDim(in(0), 0, in(2), 0);
    contract.sameDim(in(0), 0, in(3), 0).sameDim(in(1), 1, in(2), 1);
    contract.sameDim(in(0), 2, in(1), 2).sameDim(in(0), 2, in(2), 2);
    contract.sameDim(in(0), 4, in(1), 3);
    for (int d = 0; d < 4; ++d)
      contract.sameDim(in(0), d, out(0), d);
    contract.sameDim(in(2), 3, out(0), 4);
    if (contract.ok())
      checkOptional(call, contract);
    return contract.status();
  }

  int64_t workspaceBytes(const KernelCall &call, int threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return 0;
    AttentionCut cut(call);
    return 4 * (threads * cut.scratchFloats + cut.partialFloats);
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return preparePlainAttention(AttentionShape(call), threads);
    return std::make_unique<AttentionLaunch>(call, threads);
  }

private:
  static void checkOptional(const KernelCall &call, Contract &contract) {
    int64_t flags = call.numbers[4];
    contract.require(call.numbers[2] >= 0, "window is negative");
    if (flags & 1)
      contract.rank(in(4), 2)
          .type(in(4), {DType::I32, DType::I64, DType::Bool})
          .sameDim(in(4), 0, in(1), 0)
          .sameDim(in(4), 1, in(1), 1);
    if (flags & 2) {
      ArgRef slopes = in(call.inputs.size() - 1);
      contract.rank(slopes, 2).floating(slopes);
      contract.sameDim(slopes, 0, in(0), 2).sameDim(slopes, 1, in(0), 3);
    }
    if (call.outputs.size() == 2) {
      contract.rank(out(1), 4).floating(out(1));
      for (int d = 0; d < 4; ++d)
        contract.sameDim(in(0), d, out(1), d);
    }
    for (size_t i = 1; i < 3; ++i)
      contract.require(call.inputs[0].dtype == DType::F64 ||
                           call.inputs[i].dtype != DType::F64,
                       "the cache is f64 but q is not");
  }
};

} // namespace

const Kernel &attentionKernel() {
  static const AttentionKernel kernel;
  return kernel;
}

} // namespace tandem

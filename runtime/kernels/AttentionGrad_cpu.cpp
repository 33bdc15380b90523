#include "runtime/kernels/Attention.h"
#include "runtime/kernels/AttentionGrad.h"
#include "runtime/kernels/AttentionGradShape.h"
#include "runtime/kernels/MapOp.h"
#include "runtime/kernels/Product.h"
#include "runtime/kernels/VectorOps.h"

#include <utility>

namespace tandem {
namespace {

constexpr int64_t kKeys = 128;     ///< Keys of one block.
constexpr int64_t kQueryRows = 64; ///< Query rows of one block, about.
constexpr int64_t kUnits = 8;      ///< Units of work there should be.

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// How a call is cut into units of work; from capacities alone, so that
/// workspace and bits are the same whatever the number of threads.
struct GradCut {
  explicit GradCut(const KernelCall &call) {
    const auto &q = call.inputs[0].dims, &v = call.inputs[2].dims;
    int64_t g = std::max<int64_t>(q[3].capacity, 1);
    tokens = std::max<int64_t>(kQueryRows / g, 1);
    rows = tokens * g;
    d = q[4].capacity;
    e = v[3].capacity;
    t = v[1].capacity;
    int64_t heads = std::max<int64_t>(q[0].capacity * q[2].capacity, 1);
    int64_t blocks = std::max<int64_t>(ceilDiv(q[1].capacity, tokens), 1);
    pieces = std::min(std::max<int64_t>(kUnits / heads, 1), blocks);
    if (call.numbers[4] & 4)
      pieces = 1; // whatever rows and heads a layout leaves here
    units = heads * pieces;
    int64_t floats = rows * (2 * d + e + 3 * kKeys + 2) + (kKeys + 1) * (d + e);
    scratchFloats = ceilDiv(floats, 16) * 16;
  }
  /// Whether several units add to the same keys, each for itself.
  bool shares() const { return pieces > 1; }
  int64_t sumFloats() const { return t * (d + e); }

  int64_t tokens;        ///< Of a query block.
  int64_t rows;          ///< tokens * g.
  int64_t pieces;        ///< Of the query blocks of one key head.
  int64_t units;         ///< Pieces of all heads and rows.
  int64_t d, e, t;       ///< Capacities.
  int64_t scratchFloats; ///< Per thread, without sums.
};

/// The gradients of one row's key head, [t, d] and [t, e], as they grow.
struct KeySums {
  float *keys, *values;
};

/// The queries of one block of one key head against the keys that they see.
class GradBlock {
public:
  GradBlock(const AttentionGradShape &shape, float *scratch, int64_t maxRows,
            int64_t row, int64_t head, int64_t token, int64_t tokens)
      : shape(shape), row(row), head(head), token(token),
        rows(tokens * shape.g) {
    int64_t position = shape.firstPosition(row) + token;
    begin = shape.visibleBegin(position);
    end = shape.visibleEnd(position + tokens - 1);
    float *next = scratch;
    auto take = [&](int64_t count) {
      return std::exchange(next, next + count);
    };
    queries = take(maxRows * shape.d);
    douts = take(maxRows * shape.e);
    dq = take(maxRows * shape.d);
    scores = take(maxRows * kKeys);
    slopes = take(maxRows * kKeys);
    capSlopes = take(maxRows * kKeys);
    deltas = take(maxRows);
    lses = take(maxRows);
    keys = take(kKeys * shape.d);
    values = take(kKeys * shape.e);
    buffer = take(shape.d + shape.e);
  }

  void run(const KeySums &sums) {
    start();
    for (int64_t first = begin; first < end; first += kKeys)
      addBlock(first, std::min(kKeys, end - first), sums);
    for (int64_t r = 0; r < rows; ++r) {
      float *gradient = dq + r * shape.d;
      vectorOps().scale(gradient, gradient, static_cast<float>(shape.scale),
                        shape.d);
      storeTile<float>(shape.dq.data, shape.dq.dtype, qAt(r), shape.d,
                       gradient);
    }
  }

private:
  int64_t qAt(int64_t r) const {
    return shape.qAt(row, token + r / shape.g, head, r % shape.g);
  }
  int64_t outAt(int64_t r) const {
    return shape.outAt(row, token + r / shape.g, head, r % shape.g);
  }

  void start() {
    for (int64_t r = 0; r < rows; ++r) {
      const float *query =
          loadTile<float>(shape.q.data, shape.q.dtype, qAt(r), shape.d, buffer);
      vectorOps().scale(queries + r * shape.d, query,
                        static_cast<float>(shape.scale), shape.d);
      float *dout = douts + r * shape.e;
      const float *given = loadTile<float>(shape.dout.data, shape.dout.dtype,
                                           outAt(r), shape.e, dout);
      if (given != dout)
        std::copy_n(given, shape.e, dout);
      const float *out = loadTile<float>(shape.out.data, shape.out.dtype,
                                         outAt(r), shape.e, buffer);
      vectorOps().dotRows[kWeightF32](deltas + r, 1, dout, shape.e, out,
                                      shape.e, 1, 1, shape.e);
      lses[r] = static_cast<float>(
          shape.lseAt(row, token + r / shape.g, head, r % shape.g));
    }
    std::fill_n(dq, rows * shape.d, 0.0f);
  }

  void addBlock(int64_t first, int64_t n, const KeySums &sums) {
    int64_t keyStride = shape.keyStride[1], valueStride = shape.valueStride[1];
    const float *key = widenedRows(shape.key, shape.keyAt(row, first, head),
                                   keyStride, n, shape.d, keys);
    const float *value =
        widenedRows(shape.value, shape.valueAt(row, first, head), valueStride,
                    n, shape.e, values);
    multiplyOnThread(false, true, rows, n, shape.d, queries, shape.d, key,
                     keyStride, false, scores, kKeys);
    shape.adjustScores({row, head, token, rows, first, n}, scores, kKeys,
                       capSlopes);
    multiplyOnThread(false, true, rows, n, shape.e, douts, shape.e, value,
                     valueStride, false, slopes, kKeys);
    for (int64_t r = 0; r < rows; ++r)
      finishRow(r, n);
    multiplyOnThread(true, false, n, shape.e, rows, scores, kKeys, douts,
                     shape.e, true, sums.values + first * shape.e, shape.e);
    multiplyOnThread(true, false, n, shape.d, rows, slopes, kKeys, queries,
                     shape.d, true, sums.keys + first * shape.d, shape.d);
    multiplyOnThread(false, false, rows, shape.d, n, slopes, kKeys, key,
                     keyStride, true, dq, shape.d);
  }

  /// Scores become probabilities, dout . value the gradients of scores.
  void finishRow(int64_t r, int64_t n) {
    float *score = scores + r * kKeys, *slope = slopes + r * kKeys;
    if (lses[r] == kHiddenScore)
      std::fill_n(score, n, 0.0f);
    else
      vectorOps().expSum(score, score, lses[r], n);
    vectorOps().softmaxGrad(slope, score, slope, deltas[r], n);
    if (shape.softcap != 0)
      vectorOps().binary[kMapMul](slope, slope, capSlopes + r * kKeys, n);
  }

  const AttentionGradShape &shape;
  int64_t row, head, token, rows;
  int64_t begin, end; ///< Key lanes that any of the rows may see.
  float *queries, *douts, *dq, *scores, *slopes, *capSlopes, *deltas, *lses;
  float *keys, *values, *buffer;
};

class AttentionGradLaunch final : public Launch {
public:
  AttentionGradLaunch(const KernelCall &call, ThreadPool &threads)
      : shape(call), cut(call), threads(threads),
        scratch(reinterpret_cast<float *>(call.workspace)),
        sums(scratch + threads.size() * cut.scratchFloats) {}

  Status run() override {
    forUnits(shape.b * shape.k * cut.pieces, [&](int64_t unit, int64_t mine) {
      int64_t head = unit / cut.pieces;
      KeySums own = sumsOf(cut.shares() ? unit : mine);
      std::fill_n(own.keys, cut.sumFloats(), 0.0f);
      addQueries(head, unit % cut.pieces, own,
                 scratch + mine * cut.scratchFloats);
      if (!cut.shares())
        store(head, own);
    });
    if (cut.shares())
      forUnits(shape.b * shape.k, [&](int64_t head, int64_t) {
        KeySums total = sumsOf(head * cut.pieces);
        for (int64_t piece = 1; piece < cut.pieces; ++piece) {
          const float *more = sumsOf(head * cut.pieces + piece).keys;
          vectorOps().binary[kMapAdd](total.keys, total.keys, more,
                                      cut.sumFloats());
        }
        store(head, total);
      });
    return Status();
  }

private:
  /// Calls body(unit, number of the calling piece of the pool).
  template <typename Body> void forUnits(int64_t total, const Body &body) {
    int64_t pieces = pieceCount(threads, total, 1);
    threads.run(pieces, [&](int64_t piece) {
      int64_t end = total * (piece + 1) / pieces;
      for (int64_t unit = total * piece / pieces; unit < end; ++unit)
        body(unit, piece);
    });
  }

  KeySums sumsOf(int64_t index) const {
    float *keys = sums + index * cut.sumFloats();
    return {keys, keys + cut.t * cut.d};
  }

  /// Query blocks piece, piece + pieces, ...: later ones see more keys.
  void addQueries(int64_t head, int64_t piece, const KeySums &own,
                  float *mine) const {
    int64_t blocks = ceilDiv(shape.s, cut.tokens);
    for (int64_t block = piece; block < blocks; block += cut.pieces) {
      int64_t token = block * cut.tokens;
      GradBlock(shape, mine, cut.rows, head / shape.k, head % shape.k, token,
                std::min(cut.tokens, shape.s - token))
          .run(own);
    }
  }

  void store(int64_t head, const KeySums &total) const {
    int64_t row = head / shape.k, k = head % shape.k;
    for (int64_t lane = 0; lane < shape.t; ++lane) {
      storeTile<float>(shape.dkey.data, shape.dkey.dtype,
                       shape.keyAt(row, lane, k), shape.d,
                       total.keys + lane * shape.d);
      storeTile<float>(shape.dvalue.data, shape.dvalue.dtype,
                       shape.valueAt(row, lane, k), shape.e,
                       total.values + lane * shape.e);
    }
  }

  AttentionGradShape shape;
  GradCut cut;
  ThreadPool &threads;
  float *scratch, *sums;
};

class AttentionGradKernel final : public Kernel {
public:
  std::string_view name() const override { return "attention_grad"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.numbers(5);
    int64_t flags = contract.ok() ? call.numbers[4] : 0;
    contract.require(flags >= 0 && flags <= 7, "flags are " +
                                                   std::to_string(flags) +
                                                   ", expected 0 to 7");
    contract.inputs(7 + (flags & 1) + (flags >> 1 & 1)).outputs(3);
    if (!contract.ok())
      return contract.status();
    // What it shares with attention, attention says.
    Status forward = attentionKernel().check(forwardOf(call));
    contract.require(forward.ok(), "is of no attention: " + forward.message());
    contract.sameShape(in(4), in(6)).floating(in(6));
    for (size_t i = 0; i < 3; ++i)
      contract.sameShape(in(i), out(i)).floating(out(i));
    return contract.status();
  }

  int64_t workspaceBytes(const KernelCall &call, int threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return 0;
    GradCut cut(call);
    int64_t sums = cut.shares() ? cut.units : threads;
    return 4 * (threads * cut.scratchFloats + sums * cut.sumFloats());
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return preparePlainAttentionGrad(AttentionGradShape(call), threads);
    return std::make_unique<AttentionGradLaunch>(call, threads);
  }
};

} // namespace

const Kernel &attentionGradKernel() {
  static const AttentionGradKernel kernel;
  return kernel;
}

} // namespace tandem

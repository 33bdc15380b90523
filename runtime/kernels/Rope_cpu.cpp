#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Rope.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/VectorOps.h"

#include <cmath>

namespace tandem {
namespace {

constexpr int64_t kMaxPairs = 512;

void fillAngles(float *cosine, float *sine, const double *frequency,
                double position, double scale, int64_t n) {
  vectorOps().angles(cosine, sine, frequency, position, scale, n);
}
void fillAngles(double *cosine, double *sine, const double *frequency,
                double position, double scale, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    cosine[i] = std::cos(position * frequency[i]) * scale;
    sine[i] = std::sin(position * frequency[i]) * scale;
  }
}

void rotateHalves(float *out, const float *in, const float *cosine,
                  const float *sine, int64_t pairs) {
  vectorOps().rotate(out, out + pairs, in, in + pairs, cosine, sine, pairs);
}
void rotateHalves(double *out, const double *in, const double *cosine,
                  const double *sine, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    double a = in[i], c = in[i + pairs];
    out[i] = a * cosine[i] - c * sine[i];
    out[i + pairs] = c * cosine[i] + a * sine[i];
  }
}

template <typename C>
void rotateNeighbours(C *out, const C *in, const C *cosine, const C *sine,
                      int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    C a = in[2 * i], c = in[2 * i + 1];
    out[2 * i] = a * cosine[i] - c * sine[i];
    out[2 * i + 1] = c * cosine[i] + a * sine[i];
  }
}

template <typename C> struct RopeRows {
  TensorArg x, positions, y;
  bool neighbours = false;
  int64_t pairs = 0, width = 0;
  double scale = 1;
  std::vector<double> frequencies;
  LoopNest<2> heads; ///< The dimensions between token and lane.

  void runToken(int64_t token) const {
    int64_t tokens = x.dims[1].valid;
    int64_t b = token / tokens, i = token % tokens;
    double position = static_cast<double>(
        loadOne<int64_t>(positions.data, positions.dtype, b) + x.dims[1].begin +
        i);
    C cosine[kMaxPairs], sine[kMaxPairs];
    fillAngles(cosine, sine, frequencies.data(), position, scale, pairs);
    int64_t atX = (b * x.dims[1].capacity + i) * tokenSize(x);
    int64_t atY = (b * y.dims[1].capacity + i) * tokenSize(y);
    for (int64_t h = 0; h < heads.count(); ++h) {
      auto at = heads.offsets(h);
      rotateHead(atX + at[0], atY + at[1], cosine, sine);
    }
  }

  void rotateHead(int64_t atX, int64_t atY, const C *cosine,
                  const C *sine) const {
    C buffer[2 * kMaxPairs], result[2 * kMaxPairs];
    const C *in = loadTile<C>(x.data, x.dtype, atX, 2 * pairs, buffer);
    if (neighbours)
      rotateNeighbours(result, in, cosine, sine, pairs);
    else
      rotateHalves(result, in, cosine, sine, pairs);
    storeTile<C>(y.data, y.dtype, atY, 2 * pairs, result);
    int64_t bytes = storageBytes(x.dtype, 1), rest = width - 2 * pairs;
    if (rest > 0 && x.data != y.data)
      std::memcpy(y.data + (atY + 2 * pairs) * bytes,
                  x.data + (atX + 2 * pairs) * bytes, rest * bytes);
  }

  static int64_t tokenSize(const TensorArg &arg) {
    int64_t size = 1;
    for (size_t d = 2; d < arg.dims.size(); ++d)
      size *= arg.dims[d].capacity;
    return size;
  }

  void run(ThreadPool &threads) const {
    int64_t lanes = heads.count() * width;
    forRanges(threads, validCount(x, 0, 2), 4096 / (lanes + 1) + 1,
              [&](int64_t begin, int64_t end) {
                for (int64_t token = begin; token < end; ++token)
                  runToken(token);
              });
  }
};

template <typename C>
std::unique_ptr<Launch> prepareRope(const KernelCall &call,
                                    ThreadPool &threads) {
  RopeRows<C> rope;
  rope.x = call.inputs[0];
  rope.positions = call.inputs[1];
  rope.y = call.outputs[0];
  rope.neighbours = call.numbers[0] == 1;
  rope.pairs = call.numbers[1] / 2;
  rope.scale = numberToDouble(call.numbers[2]);
  for (size_t i = 3; i < call.numbers.size(); ++i)
    rope.frequencies.push_back(numberToDouble(call.numbers[i]));
  rope.width = rope.x.dims.back().valid;
  rope.heads = commonLoops(rope.x, rope.y, 2, rope.x.dims.size() - 1);
  return makeLaunch([rope, &threads] {
    rope.run(threads);
    return Status();
  });
}

class RopeKernel final : public Kernel {
public:
  std::string_view name() const override { return "rope"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2).outputs(1).numbers(3, SIZE_MAX);
    contract.minRank(in(0), 3).floating(in(0)).sameType(in(0), out(0));
    contract.sameShape(in(0), out(0));
    contract.rank(in(1), 1).type(in(1), {DType::I32, DType::I64});
    contract.sameDim(in(1), 0, in(0), 0);
    if (!contract.ok())
      return contract.status();
    int64_t style = call.numbers[0], rotary = call.numbers[1];
    int64_t lanes = call.inputs[0].dims.back().valid;
    contract.require(style == 0 || style == 1,
                     "style is " + std::to_string(style) + ", expected 0 or 1");
    contract.require(0 <= rotary && rotary <= lanes && rotary % 2 == 0 &&
                         rotary <= 2 * kMaxPairs,
                     "rotaryDim is " + std::to_string(rotary) +
                         ", expected an even number up to " +
                         std::to_string(std::min(lanes, 2 * kMaxPairs)));
    contract.numbers(3 + rotary / 2);
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.inputs[0].dtype == DType::F64)
      return prepareRope<double>(call, threads);
    return prepareRope<float>(call, threads);
  }
};

} // namespace

const Kernel &ropeKernel() {
  static const RopeKernel kernel;
  return kernel;
}

} // namespace tandem

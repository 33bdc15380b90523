#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Map.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/VectorOps.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace tandem {

int mapOperands(int64_t opcode) {
  if (opcode == kMapInput || opcode == kMapConst)
    return 0;
  if (opcode == kMapSelect)
    return 3;
  if ((opcode >= kMapNeg && opcode <= kMapGeluQuick) || opcode == kMapNot)
    return 1;
  if ((opcode >= kMapAdd && opcode <= kMapPow) ||
      (opcode >= kMapCmpEq && opcode <= kMapCmpGe) || opcode == kMapAnd ||
      opcode == kMapOr || (opcode >= kMapRem && opcode <= kMapSiluGrad))
    return 2;
  return -1;
}

namespace {

/// Inputs that one map may have; LoopNest walks them with the output.
constexpr size_t kMaxInputs = 7;
constexpr size_t kOutput = kMaxInputs;
using MapNest = LoopNest<kMaxInputs + 1>;

//===----------------------------------------------------------------------===//
// One lane
//===----------------------------------------------------------------------===//

double unaryLane(int64_t opcode, double x) {
  switch (opcode) {
  case kMapNeg:
    return -x;
  case kMapAbs:
    return std::fabs(x);
  case kMapExp:
    return std::exp(x);
  case kMapLog:
    return std::log(x);
  case kMapSqrt:
    return std::sqrt(x);
  case kMapRsqrt:
    return 1 / std::sqrt(x);
  case kMapTanh:
    return std::tanh(x);
  case kMapErf:
    return std::erf(x);
  case kMapSigmoid:
    return 1 / (1 + std::exp(-x));
  case kMapSilu:
    return x / (1 + std::exp(-x));
  case kMapGeluErf:
    return 0.5 * x * std::erfc(-x * 0.70710678118654752440);
  case kMapGeluTanh:
    return x /
           (1 + std::exp(-1.59576912160573071176 * (x + 0.044715 * x * x * x)));
  case kMapGeluQuick:
    return x / (1 + std::exp(-1.702 * x));
  case kMapSin:
    return std::sin(x);
  case kMapCos:
    return std::cos(x);
  case kMapRelu:
    return x < 0 ? 0 : x;
  case kMapReciprocal:
    return 1 / x;
  case kMapFloor:
    return std::floor(x);
  default:
    return x == 0; // kMapNot
  }
}

/// The derivative of x * sigmoid(u), where u has the derivative `slope`.
double gatedSlope(double x, double u, double slope) {
  double gate = 1 / (1 + std::exp(-u));
  return gate + x * slope * gate * (1 - gate);
}

/// The derivative that a gradient opcode multiplies with.
double slopeLane(int64_t opcode, double x) {
  // Beyond it all are 0 or 1; keeps products finite.
  x = x > 1000 ? 1000 : x < -1000 ? -1000 : x;
  double square = 0.044715 * x * x;
  switch (opcode) {
  case kMapGeluErfGrad:
    return 0.5 * std::erfc(-x * 0.70710678118654752440) +
           x * 0.39894228040143267794 * std::exp(-0.5 * x * x);
  case kMapGeluTanhGrad:
    return gatedSlope(x, 1.59576912160573071176 * x * (1 + square),
                      1.59576912160573071176 * (1 + 3 * square));
  case kMapGeluQuickGrad:
    return gatedSlope(x, 1.702 * x, 1.702);
  default:
    return gatedSlope(x, x, 1); // kMapSiluGrad
  }
}

double arithmeticLane(int64_t opcode, double a, double b) {
  if (opcode >= kMapGeluErfGrad)
    return b * slopeLane(opcode, a);
  switch (opcode) {
  case kMapAdd:
    return a + b;
  case kMapSub:
    return a - b;
  case kMapMul:
    return a * b;
  case kMapDiv:
    return a / b;
  case kMapMax:
    return a != a ? a : a > b ? a : b;
  case kMapMin:
    return a != a ? a : a < b ? a : b;
  case kMapPow:
    return std::pow(a, b);
  default:
    return std::fmod(a, b); // kMapRem
  }
}

/// Integers wrap; x / 0 and x % 0 are 0.
int64_t arithmeticLane(int64_t opcode, int64_t a, int64_t b) {
  if (opcode >= kMapGeluErfGrad)
    return static_cast<int64_t>(
        arithmeticLane(opcode, static_cast<double>(a), static_cast<double>(b)));
  uint64_t x = a, y = b;
  switch (opcode) {
  case kMapAdd:
    return x + y;
  case kMapSub:
    return x - y;
  case kMapMul:
    return x * y;
  case kMapDiv:
    return b == 0 ? 0 : b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  case kMapMax:
    return std::max(a, b);
  case kMapMin:
    return std::min(a, b);
  case kMapRem:
    return b == 0 || b == -1 ? 0 : a % b;
  default: // kMapPow
    uint64_t power = b < 0 ? 0 : 1;
    for (; b > 0; b >>= 1, x *= x)
      if (b & 1)
        power *= x;
    return power;
  }
}

int64_t unaryLane(int64_t opcode, int64_t x) {
  switch (opcode) {
  case kMapNeg:
    return 0 - static_cast<uint64_t>(x);
  case kMapAbs:
    return x < 0 ? 0 - static_cast<uint64_t>(x) : x;
  case kMapRelu:
    return std::max<int64_t>(x, 0);
  case kMapFloor:
    return x;
  case kMapNot:
    return x == 0;
  default:
    return static_cast<int64_t>(unaryLane(opcode, static_cast<double>(x)));
  }
}

template <typename C> bool truthLane(int64_t opcode, C a, C b) {
  switch (opcode) {
  case kMapCmpEq:
    return a == b;
  case kMapCmpNe:
    return a != b;
  case kMapCmpLt:
    return a < b;
  case kMapCmpLe:
    return a <= b;
  case kMapCmpGt:
    return a > b;
  case kMapCmpGe:
    return a >= b;
  case kMapAnd:
    return a != 0 && b != 0;
  default:
    return a != 0 || b != 0; // kMapOr
  }
}

//===----------------------------------------------------------------------===//
// One tile
//===----------------------------------------------------------------------===//

/// A value on the stack: `lanes` points to its buffer or into an input.
template <typename C> struct TileValue {
  const C *lanes;
  alignas(64) C buffer[kTileLanes];
};

template <typename C> using Stack = TileValue<C>[kMapStack];

template <typename C>
void applyUnary(int64_t opcode, TileValue<C> &top, int64_t n) {
  if constexpr (std::is_same_v<C, float>) {
    if (auto *loop = vectorOps().unary[opcode]) {
      loop(top.buffer, top.lanes, n);
      top.lanes = top.buffer;
      return;
    }
  }
  using Wide = std::conditional_t<std::is_same_v<C, float>, double, C>;
  for (int64_t i = 0; i < n; ++i)
    top.buffer[i] =
        static_cast<C>(unaryLane(opcode, static_cast<Wide>(top.lanes[i])));
  top.lanes = top.buffer;
}

bool isTruth(int64_t opcode) { return opcode >= kMapCmpEq && opcode <= kMapOr; }

template <typename C>
void applyBinary(int64_t opcode, TileValue<C> &a, const TileValue<C> &b,
                 int64_t n) {
  const C *x = a.lanes, *y = b.lanes;
  C *result = a.buffer;
  a.lanes = result;
  if constexpr (std::is_same_v<C, float>)
    if (auto *loop = vectorOps().binary[opcode])
      return loop(result, x, y, n);
  using Wide = std::conditional_t<std::is_same_v<C, float>, double, C>;
  if (isTruth(opcode))
    for (int64_t i = 0; i < n; ++i)
      result[i] = truthLane<C>(opcode, x[i], y[i]);
  else
    for (int64_t i = 0; i < n; ++i)
      result[i] = static_cast<C>(arithmeticLane(opcode, static_cast<Wide>(x[i]),
                                                static_cast<Wide>(y[i])));
}

template <typename C>
void applySelect(TileValue<C> &condition, const TileValue<C> &a,
                 const TileValue<C> &b, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    condition.buffer[i] = condition.lanes[i] != 0 ? a.lanes[i] : b.lanes[i];
  condition.lanes = condition.buffer;
}

struct MapStep {
  int64_t opcode;
  int64_t input;
  double constant;
};

/// A prepared program over tensors.
template <typename C> struct MapProgram {
  std::vector<MapStep> steps;
  std::vector<TensorArg> inputs;
  TensorArg out;
  MapNest nest;
  MapNest::Loop inner;

  void load(TileValue<C> &value, size_t input, int64_t first, int64_t n) const {
    const TensorArg &from = inputs[input];
    int64_t stride = inner.strides[input];
    if (stride != 0) {
      value.lanes =
          loadTile<C>(from.data, from.dtype, first, n, value.buffer, stride);
      return;
    }
    std::fill_n(value.buffer, n, loadOne<C>(from.data, from.dtype, first));
    value.lanes = value.buffer;
  }

  void runTile(const MapNest::Offsets &at, int64_t first, int64_t n) const {
    Stack<C> stack;
    int top = -1;
    for (const MapStep &step : steps) {
      switch (mapOperands(step.opcode)) {
      case 0: {
        TileValue<C> &value = stack[++top];
        if (step.opcode == kMapInput) {
          load(value, step.input,
               at[step.input] + first * inner.strides[step.input], n);
          break;
        }
        std::fill_n(value.buffer, n, static_cast<C>(step.constant));
        value.lanes = value.buffer;
        break;
      }
      case 1:
        applyUnary(step.opcode, stack[top], n);
        break;
      case 2:
        --top;
        applyBinary(step.opcode, stack[top], stack[top + 1], n);
        break;
      case 3:
        top -= 2;
        applySelect(stack[top], stack[top + 1], stack[top + 2], n);
        break;
      }
    }
    storeTile<C>(out.data, out.dtype,
                 at[kOutput] + first * inner.strides[kOutput], n,
                 stack[0].lanes, inner.strides[kOutput]);
  }

  void run(ThreadPool &threads) const {
    int64_t tiles = (inner.size + kTileLanes - 1) / kTileLanes;
    int64_t total = nest.count() * tiles;
    int64_t lanes = std::min(inner.size, kTileLanes);
    int64_t grain = 8192 / std::max<int64_t>(lanes * steps.size(), 1);
    forRanges(threads, total, grain, [&](int64_t begin, int64_t end) {
      for (int64_t tile = begin; tile < end; ++tile) {
        int64_t first = tile % tiles * kTileLanes;
        runTile(nest.offsets(tile / tiles), first,
                std::min(kTileLanes, inner.size - first));
      }
    });
  }
};

template <typename C>
std::unique_ptr<Launch> prepareMap(const KernelCall &call, MapNest nest,
                                   ThreadPool &threads) {
  MapProgram<C> program;
  for (size_t i = 0; i < call.numbers.size(); i += 2)
    program.steps.push_back({call.numbers[i], call.numbers[i + 1],
                             numberToDouble(call.numbers[i + 1])});
  program.inputs = call.inputs;
  program.out = call.outputs[0];
  program.inner = nest.takeInnermost();
  program.nest = std::move(nest);
  return makeLaunch([program = std::move(program), &threads] {
    program.run(threads);
    return Status();
  });
}

/// Loops over the output's valid lanes, with each input's strides.
MapNest nestOf(const KernelCall &call) {
  const TensorArg &out = call.outputs[0];
  std::vector<int64_t> outStrides = stridesOf(out);
  std::vector<MapNest::Offsets> strides(out.dims.size());
  for (size_t d = 0; d < out.dims.size(); ++d)
    strides[d][kOutput] = outStrides[d];
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    std::vector<int64_t> inStrides = stridesOf(call.inputs[i]);
    for (size_t d = 0; d < inStrides.size(); ++d)
      for (size_t o = 0; o < out.dims.size(); ++o) {
        int32_t factor = factorOf(call.rule.operands[i], d);
        if (factor >= 0 && factor == factorOf(call.rule.results[0], o))
          strides[o][i] = inStrides[d];
      }
  }
  MapNest nest;
  for (size_t d = 0; d < out.dims.size(); ++d)
    nest.add(out.dims[d].valid, strides[d]);
  nest.merge();
  return nest;
}

class MapKernel final : public Kernel {
public:
  std::string_view name() const override { return "map"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(0, kMaxInputs).outputs(1).numbers(2, SIZE_MAX);
    contract.require(call.rule.operands.size() == call.inputs.size() &&
                         call.rule.results.size() == 1,
                     "the rule names other inputs and outputs");
    if (contract.ok())
      checkProgram(call, contract);
    for (size_t i = 0; contract.ok() && i < call.inputs.size(); ++i)
      checkInput(call, i, contract);
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    bool doubles = false, floats = false, integers = false;
    for (const auto *args : {&call.inputs, &call.outputs})
      for (const TensorArg &arg : *args) {
        doubles |= arg.dtype == DType::F64;
        floats |= isFloat(arg.dtype);
        integers |= isInteger(arg.dtype);
      }
    MapNest nest = nestOf(call);
    if (doubles || (floats && integers))
      return prepareMap<double>(call, nest, threads);
    if (floats)
      return prepareMap<float>(call, nest, threads);
    return prepareMap<int64_t>(call, nest, threads);
  }

private:
  static void checkProgram(const KernelCall &call, Contract &contract) {
    contract.require(call.numbers.size() % 2 == 0,
                     "the program is no list of pairs");
    int depth = 0;
    for (size_t i = 0; contract.ok() && i < call.numbers.size(); i += 2) {
      int64_t opcode = call.numbers[i], input = call.numbers[i + 1];
      int operands = mapOperands(opcode);
      std::string at = "step " + std::to_string(i / 2);
      contract.require(operands >= 0,
                       at + " has unknown opcode " + std::to_string(opcode));
      contract.require(
          opcode != kMapInput ||
              (0 <= input && input < static_cast<int64_t>(call.inputs.size())),
          at + " reads input " + std::to_string(input) + " of " +
              std::to_string(call.inputs.size()));
      contract.require(depth >= operands,
                       at + " takes more values than there are");
      depth += 1 - operands;
      contract.require(depth <= kMapStack, at + " holds more than " +
                                               std::to_string(kMapStack) +
                                               " values");
    }
    contract.require(depth == 1, "the program leaves " + std::to_string(depth) +
                                     " values, expected 1");
  }

  /// Its factors are some of the output's, in their order.
  static void checkInput(const KernelCall &call, size_t input,
                         Contract &contract) {
    const TensorArg &arg = call.inputs[input], &out = call.outputs[0];
    const FactorMapping &result = call.rule.results[0];
    size_t next = 0;
    for (size_t d = 0; contract.ok() && d < arg.dims.size(); ++d) {
      int32_t factor = factorOf(call.rule.operands[input], d);
      if (factor < 0) {
        contract.require(arg.dims[d].capacity == 1,
                         "input " + std::to_string(input) +
                             " has a dimension without a factor");
        continue;
      }
      while (next < out.dims.size() && factorOf(result, next) != factor)
        ++next;
      contract.require(next < out.dims.size(),
                       "input " + std::to_string(input) + " has dimension " +
                           std::to_string(d) + " that output 0 lacks");
      contract.sameDim(in(input), static_cast<int>(d), ::tandem::out(0),
                       static_cast<int>(next++));
    }
  }
};

} // namespace

const Kernel &mapKernel() {
  static const MapKernel kernel;
  return kernel;
}

} // namespace tandem

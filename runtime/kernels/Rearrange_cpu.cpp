#include "runtime/kernels/Contract.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/Rearrange.h"

namespace tandem {
namespace {

/// One tensor to one of its type.
Contract &&oneToOne(Contract &&contract) {
  contract.inputs(1).outputs(1).sameType(in(0), out(0));
  return std::move(contract);
}

//===----------------------------------------------------------------------===//
// transpose, reshape
//===----------------------------------------------------------------------===//

class TransposeKernel final : public Kernel {
public:
  std::string_view name() const override { return "transpose"; }

  Status check(const KernelCall &call) const override {
    Contract contract = oneToOne(Contract(*this, call));
    if (!contract.ok())
      return contract.status();
    size_t rank = call.inputs[0].dims.size();
    contract.rank(out(0), rank).numbers(rank);
    std::vector<bool> used(rank);
    for (size_t i = 0; contract.ok() && i < rank; ++i) {
      int64_t from = call.numbers[i];
      bool fresh =
          0 <= from && from < static_cast<int64_t>(rank) && !used[from];
      contract.require(fresh, "numbers are no permutation of its dimensions");
      if (fresh) {
        used[from] = true;
        contract.sameDim(out(0), static_cast<int>(i), in(0),
                         static_cast<int>(from));
      }
    }
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &from = call.inputs[0], &to = call.outputs[0];
    std::vector<int64_t> stridesIn = stridesOf(from),
                         stridesOut = stridesOf(to);
    LoopNest<2> nest;
    for (size_t d = 0; d < to.dims.size(); ++d)
      nest.add(to.dims[d].valid, {stridesOut[d], stridesIn[call.numbers[d]]});
    StridedCopy copy(storageBytes(to.dtype, 1), nest);
    return makeLaunch([copy, o = to.data, i = from.data, &threads] {
      copy.run(o, i, threads);
      return Status();
    });
  }
};

/// The valid lanes of a tensor, walked by runs.
struct LaneRuns {
  explicit LaneRuns(const TensorArg &arg) {
    std::vector<int64_t> strides = stridesOf(arg);
    for (size_t d = 0; d < arg.dims.size(); ++d)
      nest.add(arg.dims[d].valid, {strides[d]});
    nest.merge();
    inner = nest.takeInnermost();
  }
  int64_t offset(int64_t lane) const {
    return nest.offsets(lane / inner.size)[0] +
           lane % inner.size * inner.strides[0];
  }
  /// How many lanes from `lane` on are `inner` steps apart.
  int64_t left(int64_t lane) const { return inner.size - lane % inner.size; }

  LoopNest<1> nest;
  LoopNest<1>::Loop inner;
};

class ReshapeKernel final : public Kernel {
public:
  std::string_view name() const override { return "reshape"; }

  Status check(const KernelCall &call) const override {
    Contract contract = oneToOne(Contract(*this, call));
    if (contract.ok()) {
      int64_t from = validCount(call.inputs[0]);
      int64_t to = validCount(call.outputs[0]);
      contract.require(from == to, "input 0 has " + std::to_string(from) +
                                       " valid elements but output 0 " +
                                       std::to_string(to));
    }
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &from = call.inputs[0], &to = call.outputs[0];
    // On the spot only where every lane stays where it is.
    if (from.data == to.data)
      return makeLaunch([] { return Status(); });
    int64_t total = validCount(from), bytes = storageBytes(to.dtype, 1);
    LaneRuns source(from), target(to);
    auto copyLanes = [=](int64_t begin, int64_t end) {
      for (int64_t lane = begin; lane < end;) {
        int64_t run =
            std::min({source.left(lane), target.left(lane), end - lane});
        std::byte *o = to.data + target.offset(lane) * bytes;
        const std::byte *i = from.data + source.offset(lane) * bytes;
        if (source.inner.strides[0] == 1 && target.inner.strides[0] == 1)
          std::memmove(o, i, run * bytes);
        else
          for (int64_t r = 0; r < run; ++r)
            std::memmove(o + r * target.inner.strides[0] * bytes,
                         i + r * source.inner.strides[0] * bytes, bytes);
        lane += run;
      }
    };
    return makeLaunch([=, &threads] {
      forRanges(threads, total, 16384, copyLanes);
      return Status();
    });
  }
};

//===----------------------------------------------------------------------===//
// Boxes: slice, concat, pad, take_own
//===----------------------------------------------------------------------===//

/// Along one dimension, the output lanes that have a source here: output lane
/// outBegin + i comes from input lane inBegin + step * i.
struct Span {
  int64_t outBegin = 0, inBegin = 0, count = 0, step = 1;
};

/// The span where global output index o comes from input index start +
/// step * o.
Span spanOf(const TensorDim &to, const TensorDim &from, int64_t start,
            int64_t step) {
  Span span;
  span.step = step;
  int64_t first = start + step * to.begin - from.begin; // of output lane 0
  int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  int64_t end = first >= from.valid
                    ? 0
                    : std::min(to.valid, (from.valid - 1 - first) / step + 1);
  span.outBegin = begin;
  span.inBegin = first + begin * step;
  span.count = std::max<int64_t>(end - begin, 0);
  return span;
}

/// Copies the box that spans describe.
class BoxCopy {
public:
  BoxCopy(const TensorArg &to, const TensorArg &from,
          const std::vector<Span> &spans) {
    int64_t bytes = storageBytes(to.dtype, 1), offsetOut = 0, offsetIn = 0;
    std::vector<int64_t> stridesOut = stridesOf(to),
                         stridesIn = stridesOf(from);
    LoopNest<2> nest;
    for (size_t d = 0; d < spans.size(); ++d) {
      nest.add(spans[d].count, {stridesOut[d], stridesIn[d] * spans[d].step});
      offsetOut += spans[d].outBegin * stridesOut[d];
      offsetIn += spans[d].inBegin * stridesIn[d];
    }
    lanes = nest.count();
    target = to.data + offsetOut * bytes;
    source = from.data + offsetIn * bytes;
    copy = StridedCopy(bytes, nest);
  }
  void run(ThreadPool &threads) const {
    if (lanes > 0)
      copy.run(target, source, threads);
  }
  int64_t lanes = 0;

private:
  std::byte *target;
  const std::byte *source;
  StridedCopy copy;
};

std::unique_ptr<Launch> launchBoxes(std::vector<BoxFill> fills,
                                    std::vector<BoxCopy> copies,
                                    ThreadPool &threads) {
  return makeLaunch([=, &threads] {
    for (const BoxFill &fill : fills)
      fill.run(threads);
    for (const BoxCopy &copy : copies)
      copy.run(threads);
    return Status();
  });
}

/// Zeros first where the boxes leave valid lanes of `to` without a source.
std::unique_ptr<Launch> launchOverZeros(const TensorArg &to,
                                        std::vector<BoxCopy> copies,
                                        ThreadPool &threads) {
  int64_t covered = 0;
  for (const BoxCopy &copy : copies)
    covered += copy.lanes;
  std::vector<BoxFill> fills;
  if (covered < validCount(to))
    fills.emplace_back(to, 0.0);
  return launchBoxes(std::move(fills), std::move(copies), threads);
}

class SliceKernel final : public Kernel {
public:
  std::string_view name() const override { return "slice"; }

  Status check(const KernelCall &call) const override {
    Contract contract = oneToOne(Contract(*this, call));
    if (!contract.ok())
      return contract.status();
    size_t rank = call.inputs[0].dims.size();
    contract.rank(out(0), rank).numbers(2 * rank);
    for (size_t d = 0; contract.ok() && d < rank; ++d)
      contract
          .require(call.numbers[d] >= 0,
                   "start " + std::to_string(call.numbers[d]) +
                       " of dimension " + std::to_string(d) + " is negative")
          .require(call.numbers[rank + d] > 0,
                   "step " + std::to_string(call.numbers[rank + d]) +
                       " of dimension " + std::to_string(d) +
                       " is not positive");
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &from = call.inputs[0], &to = call.outputs[0];
    size_t rank = to.dims.size();
    std::vector<Span> spans;
    for (size_t d = 0; d < rank; ++d)
      spans.push_back(spanOf(to.dims[d], from.dims[d], call.numbers[d],
                             call.numbers[rank + d]));
    return launchOverZeros(to, {BoxCopy(to, from, spans)}, threads);
  }
};

class TakeOwnKernel final : public Kernel {
public:
  std::string_view name() const override { return "take_own"; }

  Status check(const KernelCall &call) const override {
    Contract contract = oneToOne(Contract(*this, call));
    if (contract.ok())
      contract.rank(out(0), call.inputs[0].dims.size());
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &from = call.inputs[0], &to = call.outputs[0];
    std::vector<Span> spans;
    for (size_t d = 0; d < to.dims.size(); ++d)
      spans.push_back(spanOf(to.dims[d], from.dims[d], 0, 1));
    return launchOverZeros(to, {BoxCopy(to, from, spans)}, threads);
  }
};

class ConcatKernel final : public Kernel {
public:
  std::string_view name() const override { return "concat"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(1, SIZE_MAX).outputs(1).numbers(1);
    if (!contract.ok())
      return contract.status();
    int64_t dim = call.numbers[0], rank = call.outputs[0].dims.size();
    contract.require(0 <= dim && dim < rank, "dimension " +
                                                 std::to_string(dim) +
                                                 " is not one of output 0");
    for (size_t i = 0; contract.ok() && i < call.inputs.size(); ++i) {
      contract.sameType(in(i), out(0)).rank(in(i), rank);
      for (int d = 0; contract.ok() && d < rank; ++d)
        if (d != dim)
          contract.sameDim(in(i), d, out(0), d);
    }
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &to = call.outputs[0];
    size_t dim = call.numbers[0];
    std::vector<BoxCopy> copies;
    int64_t base = 0; // global index of the input's first lane in the output
    for (const TensorArg &from : call.inputs) {
      std::vector<Span> spans;
      for (size_t d = 0; d < to.dims.size(); ++d)
        spans.push_back(
            spanOf(to.dims[d], from.dims[d], d == dim ? -base : 0, 1));
      copies.emplace_back(to, from, spans);
      base += from.dims[dim].global;
    }
    return launchOverZeros(to, std::move(copies), threads);
  }
};

class PadKernel final : public Kernel {
public:
  std::string_view name() const override { return "pad"; }

  Status check(const KernelCall &call) const override {
    Contract contract = oneToOne(Contract(*this, call));
    if (contract.ok())
      contract.rank(out(0), call.inputs[0].dims.size())
          .numbers(2 * call.inputs[0].dims.size() + 1);
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &from = call.inputs[0], &to = call.outputs[0];
    std::vector<Span> spans;
    std::vector<int64_t> begins, counts;
    bool whole = true;
    for (size_t d = 0; d < to.dims.size(); ++d) {
      TensorDim all = from.dims[d];
      whole &= all.valid == all.global;
      spans.push_back(spanOf(to.dims[d], all, -call.numbers[d], 1));
      all.begin = 0;
      all.valid = all.global;
      Span inside = spanOf(to.dims[d], all, -call.numbers[d], 1);
      begins.push_back(inside.outBegin);
      counts.push_back(inside.count);
    }
    std::vector<BoxFill> fills = {
        BoxFill(to, numberToDouble(call.numbers.back()))};
    if (!whole)
      fills.emplace_back(to, begins, counts, 0.0);
    return launchBoxes(std::move(fills), {BoxCopy(to, from, spans)}, threads);
  }
};

} // namespace

const Kernel &transposeKernel() {
  static const TransposeKernel kernel;
  return kernel;
}
const Kernel &reshapeKernel() {
  static const ReshapeKernel kernel;
  return kernel;
}
const Kernel &sliceKernel() {
  static const SliceKernel kernel;
  return kernel;
}
const Kernel &concatKernel() {
  static const ConcatKernel kernel;
  return kernel;
}
const Kernel &padKernel() {
  static const PadKernel kernel;
  return kernel;
}
const Kernel &takeOwnKernel() {
  static const TakeOwnKernel kernel;
  return kernel;
}

} // namespace tandem

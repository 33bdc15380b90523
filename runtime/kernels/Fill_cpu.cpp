#include "runtime/kernels/Contract.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/Tiles.h"

#include <algorithm>
#include <optional>

namespace tandem {
namespace {

std::vector<int64_t> validShape(const TensorArg &arg) {
  std::vector<int64_t> shape;
  for (const TensorDim &dim : arg.dims)
    shape.push_back(dim.valid);
  return shape;
}

class FillKernel final : public Kernel {
public:
  std::string_view name() const override { return "fill"; }
  Status check(const KernelCall &call) const override {
    return Contract(*this, call).inputs(0).outputs(1).numbers(1).status();
  }
  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    BoxFill fill(call.outputs[0], numberToDouble(call.numbers[0]));
    return makeLaunch([fill, &threads] {
      fill.run(threads);
      return Status();
    });
  }
};

class ConstantKernel final : public Kernel {
public:
  std::string_view name() const override { return "constant"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(0).outputs(1);
    if (!contract.ok())
      return contract.status();
    int64_t elements = 1;
    for (const TensorDim &dim : call.outputs[0].dims)
      elements *= dim.global;
    contract.require(static_cast<int64_t>(call.numbers.size()) == elements,
                     "has " + std::to_string(call.numbers.size()) +
                         " numbers, expected " + std::to_string(elements));
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &) const override {
    const TensorArg &out = call.outputs[0];
    std::vector<std::byte> lanes(storageBytes(out.dtype, out.elements()));
    for (int64_t lane = 0; lane < out.elements(); ++lane)
      if (std::optional<int64_t> place = globalPlace(out, lane))
        storeOne(lanes.data(), out.dtype, lane,
                 numberToDouble(call.numbers[*place]));
    return makeLaunch([lanes = std::move(lanes), data = out.data] {
      std::copy(lanes.begin(), lanes.end(), data);
      return Status();
    });
  }

private:
  /// The global row-major place of a lane, nothing where it is padding.
  static std::optional<int64_t> globalPlace(const TensorArg &arg,
                                            int64_t lane) {
    int64_t place = 0, stride = 1;
    for (size_t d = arg.dims.size(); d-- > 0;) {
      const TensorDim &dim = arg.dims[d];
      int64_t index = lane % dim.capacity;
      if (index >= dim.valid)
        return std::nullopt;
      place += (dim.begin + index) * stride;
      stride *= dim.global;
      lane /= dim.capacity;
    }
    return place;
  }
};

class IotaKernel final : public Kernel {
public:
  std::string_view name() const override { return "iota"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(0).outputs(1).numbers(3);
    if (contract.ok())
      contract.require(0 <= call.numbers[0] &&
                           call.numbers[0] < static_cast<int64_t>(
                                                 call.outputs[0].dims.size()),
                       "dimension " + std::to_string(call.numbers[0]) +
                           " is not one of output 0");
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &out = call.outputs[0];
    size_t dim = call.numbers[0];
    double start = numberToDouble(call.numbers[1]);
    double step = numberToDouble(call.numbers[2]);
    std::vector<BoxFill> fills;
    for (int64_t i = 0; i < out.dims[dim].valid; ++i) {
      std::vector<int64_t> begins(out.dims.size()), counts = validShape(out);
      begins[dim] = i;
      counts[dim] = 1;
      fills.emplace_back(out, begins, counts,
                         start + step * (out.dims[dim].begin + i));
    }
    return makeLaunch([fills, &threads] {
      for (const BoxFill &fill : fills)
        fill.run(threads);
      return Status();
    });
  }
};

class MaskPaddingKernel final : public Kernel {
public:
  std::string_view name() const override { return "mask_padding"; }

  Status check(const KernelCall &call) const override {
    return Contract(*this, call)
        .inputs(1)
        .outputs(1)
        .numbers(1)
        .sameType(in(0), out(0))
        .sameShape(in(0), out(0))
        .status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    const TensorArg &from = call.inputs[0], &to = call.outputs[0];
    size_t rank = from.dims.size();
    // The padding, cut into one box a dimension: lanes beyond valid in
    // dimension d, valid ones before d, all behind d.
    std::vector<BoxFill> fills;
    std::vector<int64_t> begins(rank), counts;
    for (const TensorDim &dim : from.dims)
      counts.push_back(dim.capacity);
    for (size_t d = 0; d < rank; ++d) {
      begins[d] = from.dims[d].valid;
      counts[d] = from.dims[d].capacity - from.dims[d].valid;
      fills.emplace_back(to, begins, counts, numberToDouble(call.numbers[0]));
      begins[d] = 0;
      counts[d] = from.dims[d].valid;
    }
    LoopNest<2> nest;
    std::vector<int64_t> strides = stridesOf(from);
    for (size_t d = 0; d < rank; ++d)
      nest.add(from.dims[d].valid, {strides[d], strides[d]});
    StridedCopy copy(storageBytes(from.dtype, 1), nest);
    const std::byte *source = from.data == to.data ? nullptr : from.data;
    return makeLaunch([fills, copy, source, target = to.data, &threads] {
      if (source)
        copy.run(target, source, threads);
      for (const BoxFill &fill : fills)
        fill.run(threads);
      return Status();
    });
  }
};

} // namespace

BoxFill::BoxFill(const TensorArg &out, const std::vector<int64_t> &begins,
                 const std::vector<int64_t> &counts, double value) {
  int64_t bytes = storageBytes(out.dtype, 1), offset = 0;
  std::vector<int64_t> strides = stridesOf(out);
  LoopNest<2> nest;
  for (size_t d = 0; d < out.dims.size(); ++d) {
    nest.add(counts[d], {strides[d], 0});
    offset += begins[d] * strides[d];
  }
  storeOne(element, out.dtype, 0, value);
  data = out.data + offset * bytes;
  copy = StridedCopy(bytes, std::move(nest));
}

BoxFill::BoxFill(const TensorArg &out, double value)
    : BoxFill(out, std::vector<int64_t>(out.dims.size()), validShape(out),
              value) {}

const Kernel &fillKernel() {
  static const FillKernel kernel;
  return kernel;
}
const Kernel &constantKernel() {
  static const ConstantKernel kernel;
  return kernel;
}
const Kernel &iotaKernel() {
  static const IotaKernel kernel;
  return kernel;
}
const Kernel &maskPaddingKernel() {
  static const MaskPaddingKernel kernel;
  return kernel;
}

} // namespace tandem

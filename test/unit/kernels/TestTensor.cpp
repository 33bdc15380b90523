#include "TestTensor.h"

#include "runtime/kernels/Tiles.h"

#include <cmath>
#include <cstring>
#include <gtest/gtest.h>

namespace tandem {

TensorDim extent(int64_t valid, int64_t padding, int64_t begin,
                 int64_t global) {
  return {valid + padding, valid, begin, global < 0 ? begin + valid : global};
}

int64_t bitsOf(double value) {
  int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

void forEachIndex(const Index &shape,
                  const std::function<void(const Index &)> &body) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  Index index(shape.size());
  while (true) {
    body(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

TestTensor::TestTensor(DType type, std::vector<TensorDim> dims)
    : type_(type), dims_(std::move(dims)) {
  int64_t count = 1;
  for (const TensorDim &dim : dims_)
    count *= dim.capacity;
  // All ones is a NaN in every float type and nonsense as an index.
  memory.assign(storageBytes(type, count) + 64, std::byte(0xff));
}

size_t TestTensor::offset(const Index &index) const {
  size_t offset = 0;
  for (size_t d = 0; d < dims_.size(); ++d)
    offset = offset * dims_[d].capacity + index[d];
  return offset;
}

double TestTensor::at(const Index &index) const {
  return loadOne<double>(memory.data(), type_, offset(index));
}

void TestTensor::set(const Index &index, double value) {
  storeOne<double>(memory.data(), type_, offset(index), value);
}

int64_t TestTensor::bits(const Index &index) const {
  int64_t bits = 0;
  int64_t bytes = storageBytes(type_, 1);
  std::memcpy(&bits, memory.data() + offset(index) * bytes, bytes);
  return bits;
}

Index TestTensor::shape() const {
  Index shape;
  for (const TensorDim &dim : dims_)
    shape.push_back(dim.valid);
  return shape;
}

TestTensor &
TestTensor::fill(const std::function<double(const Index &)> &value) {
  forEachIndex(shape(), [&](const Index &index) { set(index, value(index)); });
  return *this;
}

TestTensor &TestTensor::random(std::mt19937 &generator, double low,
                               double high) {
  std::uniform_real_distribution<double> uniform(low, high);
  return fill([&](const Index &) { return uniform(generator); });
}

TensorArg TestTensor::arg() { return {memory.data(), type_, dims_}; }

KernelCall TestCall::call() {
  KernelCall call;
  std::vector<std::vector<int64_t>> in, out;
  auto add = [](const std::vector<TestTensor *> &tensors,
                std::vector<TensorArg> &args,
                std::vector<std::vector<int64_t>> &shapes) {
    for (TestTensor *tensor : tensors) {
      args.push_back(tensor->arg());
      std::vector<int64_t> shape;
      for (const TensorDim &dim : tensor->dims())
        shape.push_back(dim.global);
      shapes.push_back(shape);
    }
  };
  add(inputs, call.inputs, in);
  add(outputs, call.outputs, out);
  if (!equation.empty())
    call.rule = RuleBuilder(equation).build(in, out);
  call.numbers = numbers;
  return call;
}

Status TestCall::check() { return findKernel(kernel)->check(call()); }

Status TestCall::runOnce(int threads) {
  ThreadPool pool(threads);
  KernelCall ready = call();
  const Kernel *found = findKernel(kernel);
  TANDEM_TRY(found->check(ready));
  size_t bytes = found->workspaceBytes(ready, threads);
  std::vector<std::byte> workspace(bytes + 128, std::byte(0xff));
  auto address = reinterpret_cast<uintptr_t>(workspace.data());
  ready.workspace = workspace.data() + (64 - address % 64);
  ready.workspaceBytes = bytes;
  std::unique_ptr<Launch> launch = found->prepare(ready, pool);
  TANDEM_TRY(launch->run());
  TANDEM_TRY(launch->run()); // a launch runs many times
  for (const std::byte *p = ready.workspace + bytes;
       p < workspace.data() + workspace.size(); ++p)
    EXPECT_EQ(*p, std::byte(0xff)) << kernel << " wrote behind its workspace";
  return Status();
}

Status TestCall::run() {
  std::vector<std::vector<int64_t>> first;
  for (int threads = 1; threads <= 3; ++threads) {
    TANDEM_TRY(runOnce(threads));
    for (size_t o = 0; o < outputs.size(); ++o) {
      std::vector<int64_t> bits;
      forEachIndex(outputs[o]->shape(), [&](const Index &index) {
        bits.push_back(outputs[o]->bits(index));
      });
      if (threads == 1)
        first.push_back(bits);
      else
        EXPECT_EQ(bits, first[o])
            << kernel << ": other bits with " << threads << " threads";
    }
  }
  return Status();
}

void expectLanes(const TestTensor &tensor,
                 const std::function<double(const Index &)> &want,
                 double tolerance) {
  int wrong = 0;
  forEachIndex(tensor.shape(), [&](const Index &index) {
    double got = tensor.at(index), expected = want(index);
    bool close =
        got == expected || (std::isnan(got) && std::isnan(expected)) ||
        std::fabs(got - expected) <= tolerance * (1 + std::fabs(expected));
    if (close || ++wrong > 3)
      return;
    std::string place;
    for (int64_t i : index)
      place += std::to_string(i) + " ";
    ADD_FAILURE() << "lane " << place << "is " << got << ", expected "
                  << expected;
  });
}

} // namespace tandem

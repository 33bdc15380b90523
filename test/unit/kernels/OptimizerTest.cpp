#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

double tolerance(DType type) {
  return type == DType::F64 ? 1e-13 : type == DType::F32 ? 1e-6 : 1e-2;
}

/// Parameters, moments and gradients of a padded shape, and scalars.
struct OptimizerTensors {
  OptimizerTensors(DType type, std::vector<TensorDim> dims,
                   std::vector<double> values)
      : p(type, dims), m(type, dims), v(type, dims), g(type, dims),
        newP(type, dims), newM(type, dims), newV(type, dims) {
    std::mt19937 generator(8);
    p.random(generator, -1, 1);
    m.random(generator, -0.5, 0.5);
    v.random(generator, 0.01, 1);
    g.random(generator, -2, 2);
    for (double value : values) {
      scalars.emplace_back(DType::F32, std::vector<TensorDim>());
      scalars.back().set({}, value);
    }
  }
  std::vector<TestTensor *> with(std::vector<TestTensor *> inputs) {
    for (TestTensor &scalar : scalars)
      inputs.push_back(&scalar);
    return inputs;
  }
  double scalar(size_t i) const { return scalars[i].at({}); }

  TestTensor p, m, v, g, newP, newM, newV;
  std::vector<TestTensor> scalars;
};

void expectAdam(DType type, std::vector<TensorDim> dims, bool decay,
                int64_t step) {
  OptimizerTensors t(type, dims, {0.25, 0.1, 0.9, 0.99, 1e-3, 0.2});
  TestTensor count(DType::I32, {});
  count.set({}, static_cast<double>(step));
  TestCall call{"adamw",
                t.with({&t.p, &t.m, &t.v, &t.g}),
                {&t.newP, &t.newM, &t.newV},
                {decay},
                ""};
  call.inputs.push_back(&count);
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  double scale = t.scalar(0), rate = t.scalar(1), beta1 = t.scalar(2);
  double beta2 = t.scalar(3), epsilon = t.scalar(4), weight = t.scalar(5);
  auto newM = [&](const Index &i) {
    return beta1 * t.m.at(i) + (1 - beta1) * scale * t.g.at(i);
  };
  auto newV = [&](const Index &i) {
    return beta2 * t.v.at(i) + (1 - beta2) * std::pow(scale * t.g.at(i), 2);
  };
  expectLanes(t.newM, newM, tolerance(type));
  expectLanes(t.newV, newV, tolerance(type));
  auto newP = [&](const Index &i) {
    double p = t.p.at(i) * (decay ? 1 - rate * weight : 1);
    double mean = newM(i) / (1 - std::pow(beta1, step));
    double square = newV(i) / (1 - std::pow(beta2, step));
    return p - rate * mean / (std::sqrt(square) + epsilon);
  };
  expectLanes(t.newP, newP, tolerance(type));
}

TEST(Optimizer, AdamW) {
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (bool decay : {false, true})
      for (int64_t step : {1, 2, 1000})
        expectAdam(type, {extent(3, 1), extent(37, 2)}, decay, step);
  expectAdam(DType::F32, {extent(40), extent(513)}, true, 3);
  expectAdam(DType::F32, {extent(1)}, true, 3);
  expectAdam(DType::F32, {extent(3, 1), extent(1, 2)}, true, 3);
  expectAdam(DType::F32, {}, true, 3);
}

void expectSgd(DType type, std::vector<TensorDim> dims, bool decay) {
  OptimizerTensors t(type, dims, {0.25, 0.1, 0.9, 0.2});
  TestCall call{
      "sgd", t.with({&t.p, &t.m, &t.g}), {&t.newP, &t.newM}, {decay}, ""};
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  auto newM = [&](const Index &i) {
    double g = t.g.at(i) * t.scalar(0) + (decay ? t.scalar(3) * t.p.at(i) : 0);
    return t.scalar(2) * t.m.at(i) + g;
  };
  expectLanes(t.newM, newM, tolerance(type));
  expectLanes(
      t.newP, [&](const Index &i) { return t.p.at(i) - t.scalar(1) * newM(i); },
      tolerance(type));
}

TEST(Optimizer, Sgd) {
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (bool decay : {false, true})
      expectSgd(type, {extent(3, 1), extent(37, 2)}, decay);
  expectSgd(DType::F32, {extent(40), extent(513)}, true);
  expectSgd(DType::F64, {extent(3, 1), extent(1, 2)}, true);
}

/// The same step on one tensor, and with the results in the operands' place.
TEST(Optimizer, InPlaceGivesTheSameBits) {
  OptimizerTensors t(DType::F32, {extent(3, 1), extent(700, 2)},
                     {0.25, 0.1, 0.9, 0.2});
  TestCall call{"sgd", t.with({&t.p, &t.m, &t.g}), {&t.newP, &t.newM}, {1}, ""};
  ASSERT_TRUE(call.run().ok());
  ThreadPool pool(2);
  KernelCall direct;
  for (TestTensor *input : call.inputs)
    direct.inputs.push_back(input->arg());
  direct.outputs = {t.p.arg(), t.m.arg()};
  direct.numbers = {1};
  ASSERT_TRUE(findKernel("sgd")->prepare(direct, pool)->run().ok());
  forEachIndex(t.p.shape(), [&](const Index &i) {
    ASSERT_EQ(t.p.bits(i), t.newP.bits(i));
    ASSERT_EQ(t.m.bits(i), t.newM.bits(i));
  });
}

/// Where a tensor is cut changes no bit of a lane.
TEST(Optimizer, ALanesBitsDependOnItsValuesAlone) {
  OptimizerTensors whole(DType::F32, {extent(61)}, {0.5, 0.1, 0.9, 0.2});
  TestCall call{"sgd",
                whole.with({&whole.p, &whole.m, &whole.g}),
                {&whole.newP, &whole.newM},
                {1},
                ""};
  ASSERT_TRUE(call.run().ok());
  for (int64_t first : {1, 7, 23}) {
    OptimizerTensors part(DType::F32, {extent(5)}, {0.5, 0.1, 0.9, 0.2});
    part.p.fill([&](const Index &i) { return whole.p.at({first + i[0]}); });
    part.m.fill([&](const Index &i) { return whole.m.at({first + i[0]}); });
    part.g.fill([&](const Index &i) { return whole.g.at({first + i[0]}); });
    TestCall again{"sgd",
                   part.with({&part.p, &part.m, &part.g}),
                   {&part.newP, &part.newM},
                   {1},
                   ""};
    ASSERT_TRUE(again.run().ok());
    for (int64_t i = 0; i < 5; ++i)
      EXPECT_EQ(part.newP.bits({i}), whole.newP.bits({first + i}));
  }
}

TEST(Optimizer, Refusals) {
  OptimizerTensors t(DType::F32, {extent(4)}, {1, 1, 1, 1});
  TestTensor row(DType::F32, {extent(4)}), more(DType::F32, {extent(5)});
  TestCall call{"sgd", t.with({&t.p, &t.m, &t.g}), {&t.newP, &t.newM}, {1}, ""};
  ASSERT_TRUE(call.check().ok());
  call.inputs[4] = &row;
  EXPECT_EQ(call.check().message(),
            "sgd: input 4 has 1 dimensions, expected 0");
  call.inputs[1] = &more;
  EXPECT_EQ(call.check().message(), "sgd: dimension 0 of input 0 is 4 but "
                                    "dimension 0 of input 1 is 5");
  call.kernel = "adamw";
  EXPECT_EQ(call.check().message(), "adamw: got 7 inputs, expected 11");
}

} // namespace

#include "TestTensor.h"

#include "runtime/kernels/Map.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

using namespace tandem;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// [Input 0][opcode] over a few values, in float and in double.
void expectUnary(int64_t opcode, const std::function<double(double)> &want,
                 std::vector<double> values = {}) {
  SCOPED_TRACE("opcode " + std::to_string(opcode));
  if (values.empty())
    for (double x = -6; x <= 6; x += 0.093)
      values.push_back(x);
  for (DType type : {DType::F32, DType::F64}) {
    TestTensor x(type, {extent(values.size(), 3)});
    TestTensor y(type, {extent(values.size(), 3)});
    x.fill([&](const Index &i) { return values[i[0]]; });
    TestCall call{"map", {&x}, {&y}, {kMapInput, 0, opcode, 0}, "i->i"};
    ASSERT_TRUE(call.run().ok());
    expectLanes(
        y, [&](const Index &i) { return want(x.at(i)); },
        type == DType::F32 ? 1e-6 : 1e-14);
  }
}

TEST(Map, UnaryFunctions) {
  expectUnary(kMapNeg, [](double x) { return -x; });
  expectUnary(kMapAbs, [](double x) { return std::fabs(x); });
  expectUnary(kMapExp, [](double x) { return std::exp(x); });
  expectUnary(kMapLog, [](double x) { return std::log(x); });
  expectUnary(kMapSqrt, [](double x) { return std::sqrt(x); });
  expectUnary(kMapRsqrt, [](double x) { return 1 / std::sqrt(x); });
  expectUnary(kMapTanh, [](double x) { return std::tanh(x); });
  expectUnary(kMapErf, [](double x) { return std::erf(x); });
  expectUnary(kMapSigmoid, [](double x) { return 1 / (1 + std::exp(-x)); });
  expectUnary(kMapSilu, [](double x) { return x / (1 + std::exp(-x)); });
  expectUnary(kMapGeluErf, [](double x) {
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  });
  expectUnary(kMapGeluTanh, [](double x) {
    double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(u));
  });
  expectUnary(kMapGeluQuick,
              [](double x) { return x / (1 + std::exp(-1.702 * x)); });
  expectUnary(kMapSin, [](double x) { return std::sin(x); });
  expectUnary(kMapCos, [](double x) { return std::cos(x); });
  expectUnary(kMapRelu, [](double x) { return x > 0 ? x : 0; });
  expectUnary(kMapReciprocal, [](double x) { return 1 / x; });
  expectUnary(kMapFloor, [](double x) { return std::floor(x); });
  expectUnary(kMapNot, [](double x) { return x == 0; }, {0, 1, -2});
}

/// dy times the derivative, which is taken by a central difference of the
/// function in float64.
void expectGradient(int64_t opcode, const std::function<double(double)> &f) {
  SCOPED_TRACE("opcode " + std::to_string(opcode));
  std::vector<double> values = {-1e30, -300, -40, 40, 300, 1e30};
  for (double x = -12; x <= 12; x += 0.0931)
    values.push_back(x);
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16}) {
    TestTensor x(type, {extent(values.size(), 3)});
    TestTensor dy(type, x.dims()), dx(type, x.dims());
    x.fill([&](const Index &i) {
      return std::max(std::min(values[i[0]], 6e4),
                      type == DType::F16 ? -6e4 : -1e30);
    });
    dy.fill([](const Index &i) { return i[0] % 3 - 0.75; });
    TestCall call{"map",
                  {&x, &dy},
                  {&dx},
                  {kMapInput, 0, kMapInput, 1, opcode, 0},
                  "i,i->i"};
    ASSERT_TRUE(call.run().ok());
    expectLanes(
        dx,
        [&](const Index &i) {
          double at = x.at(i), step = 1e-5 * std::max(1.0, std::fabs(at));
          return dy.at(i) * (f(at + step) - f(at - step)) / (2 * step);
        },
        type == DType::F32 || type == DType::F64 ? 2e-7 : 4e-3);
  }
}

TEST(Map, GradientsOfGatedFunctions) {
  auto gated = [](double x, double u) { return x / (1 + std::exp(-u)); };
  expectGradient(kMapSiluGrad, [&](double x) { return gated(x, x); });
  expectGradient(kMapGeluQuickGrad,
                 [&](double x) { return gated(x, 1.702 * x); });
  expectGradient(kMapGeluTanhGrad, [](double x) {
    double u = std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
    return 0.5 * x * (1 + std::tanh(u));
  });
  expectGradient(kMapGeluErfGrad, [](double x) {
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  });
}

TEST(Map, NanStays) {
  for (int64_t opcode : {kMapExp, kMapTanh, kMapRelu, kMapErf, kMapSilu,
                         kMapGeluErf, kMapGeluTanh, kMapNeg})
    expectUnary(opcode, [](double) { return kNan; }, {kNan, kNan});
}

TEST(Map, BinaryFunctionsBroadcast) {
  std::mt19937 generator(3);
  struct Case {
    int64_t opcode;
    std::function<double(double, double)> want;
  };
  std::vector<Case> cases = {
      {kMapAdd, [](double a, double b) { return a + b; }},
      {kMapSub, [](double a, double b) { return a - b; }},
      {kMapMul, [](double a, double b) { return a * b; }},
      {kMapDiv, [](double a, double b) { return a / b; }},
      {kMapMax, [](double a, double b) { return std::max(a, b); }},
      {kMapMin, [](double a, double b) { return std::min(a, b); }},
      {kMapPow, [](double a, double b) { return std::pow(a, b); }},
      {kMapRem, [](double a, double b) { return std::fmod(a, b); }},
      {kMapCmpLt, [](double a, double b) { return a < b; }},
      {kMapCmpGe, [](double a, double b) { return a >= b; }},
      {kMapCmpNe, [](double a, double b) { return a != b; }},
      {kMapAnd, [](double a, double b) { return a != 0 && b != 0; }}};
  for (const Case &test : cases)
    for (DType type : {DType::F32, DType::F64, DType::BF16}) {
      SCOPED_TRACE("opcode " + std::to_string(test.opcode));
      TestTensor a(type, {extent(3, 1), extent(5), extent(21, 2)});
      TestTensor b(DType::F32, {extent(3, 1), extent(21, 2)});
      TestTensor y(type, {extent(3, 1), extent(5), extent(21, 2)});
      a.random(generator, 0.5, 3);
      b.random(generator, 0.5, 3);
      TestCall call{"map",
                    {&a, &b},
                    {&y},
                    {kMapInput, 0, kMapInput, 1, test.opcode, 0},
                    "abc,ac->abc"};
      ASSERT_TRUE(call.run().ok());
      expectLanes(
          y,
          [&](const Index &i) {
            return test.want(a.at(i), b.at({i[0], i[2]}));
          },
          type == DType::BF16 ? 4e-3 : 1e-6);
    }
}

TEST(Map, AProgramOfSeveralSteps) {
  std::mt19937 generator(4);
  TestTensor gate(DType::F32, {extent(4, 1), extent(1400, 5)});
  TestTensor up(DType::F32, {extent(4, 1), extent(1400, 5)});
  TestTensor scale(DType::F32, {});
  gate.random(generator, -4, 4);
  up.random(generator, -4, 4);
  scale.set({}, 0.25);
  // In place: the output is the gate.
  std::vector<double> before;
  forEachIndex(gate.shape(),
               [&](const Index &i) { before.push_back(gate.at(i)); });
  TestTensor y(DType::F32, gate.dims());
  TestCall call{"map",
                {&gate, &up, &scale},
                {&y},
                {kMapInput, 0, kMapSilu, 0, kMapInput, 1, kMapMul, 0, kMapInput,
                 2, kMapMul, 0, kMapConst, bitsOf(2), kMapAdd, 0},
                "ab,ab,->ab"};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      y,
      [&](const Index &i) {
        double x = gate.at(i);
        return x / (1 + std::exp(-x)) * up.at(i) * 0.25 + 2;
      },
      1e-6);
}

TEST(Map, TensorsWithoutDimensions) {
  TestTensor a(DType::F32, {}), b(DType::F32, {}), y(DType::F32, {});
  a.set({}, 3);
  b.set({}, 4);
  TestCall call{
      "map", {&a, &b}, {&y}, {kMapInput, 0, kMapInput, 1, kMapMul, 0}, ",->"};
  ASSERT_TRUE(call.run().ok());
  EXPECT_EQ(y.at({}), 12);
  TestTensor whole(DType::I32, {});
  TestCall cast{"map", {&y, &a}, {&whole}, {kMapInput, 0}, ",->"};
  ASSERT_TRUE(cast.run().ok());
  EXPECT_EQ(whole.at({}), 12);
}

TEST(Map, SelectsAndConverts) {
  TestTensor x(DType::F32, {extent(6)}), ids(DType::I32, {extent(6)});
  std::vector<double> values = {-2.5, -0.5, 0, 1.5, 1e20, kNan};
  x.fill([&](const Index &i) { return values[i[0]]; });
  ids.fill([](const Index &i) { return i[0] * 10; });
  TestTensor whole(DType::I32, {extent(6)});
  TestCall cast{"map", {&x}, {&whole}, {kMapInput, 0}, "i->i"};
  ASSERT_TRUE(cast.run().ok());
  std::vector<double> want = {-2, 0, 0, 1, 2147483647, 0};
  expectLanes(whole, [&](const Index &i) { return want[i[0]]; }, 0);

  TestTensor chosen(DType::I64, {extent(6)});
  TestCall select{"map",
                  {&ids},
                  {&chosen},
                  {kMapInput, 0, kMapConst, bitsOf(25), kMapCmpGt, 0, kMapInput,
                   0, kMapConst, bitsOf(-1), kMapSelect, 0},
                  "i->i"};
  ASSERT_TRUE(select.run().ok());
  expectLanes(
      chosen, [&](const Index &i) { return i[0] > 2 ? i[0] * 10 : -1; }, 0);
}

TEST(Map, IntegerDivisionByZeroIsZero) {
  TestTensor a(DType::I64, {extent(4)}), b(DType::I64, {extent(4)});
  std::vector<double> x = {7, -7, -9007199254740992, 5}, y = {0, 2, -1, 0};
  a.fill([&](const Index &i) { return x[i[0]]; });
  b.fill([&](const Index &i) { return y[i[0]]; });
  TestTensor q(DType::I64, {extent(4)});
  TestCall div{"map",
               {&a, &b},
               {&q},
               {kMapInput, 0, kMapInput, 1, kMapDiv, 0},
               "i,i->i"};
  ASSERT_TRUE(div.run().ok());
  std::vector<double> want = {0, -3, 9007199254740992, 0};
  expectLanes(q, [&](const Index &i) { return want[i[0]]; }, 0);
}

TEST(Map, RefusesBadPrograms) {
  TestTensor x(DType::F32, {extent(3)}), y(DType::F32, {extent(3)});
  auto message = [&](std::vector<int64_t> numbers) {
    TestCall call{"map", {&x}, {&y}, numbers, "i->i"};
    return call.check().message();
  };
  EXPECT_EQ(message({kMapInput, 1}), "map: step 0 reads input 1 of 1");
  EXPECT_EQ(message({kMapAdd, 0}),
            "map: step 0 takes more values than there are");
  EXPECT_EQ(message({29, 0}), "map: step 0 has unknown opcode 29");
  EXPECT_EQ(message({kMapInput, 0, kMapInput, 0}),
            "map: the program leaves 2 values, expected 1");
}

} // namespace

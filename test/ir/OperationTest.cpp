// What operations compute, against formulas written down here and values
// worked out by hand.

#include "test/ir/ReferenceModules.h"

#include "ir/ops/Philox.h"

#include "gtest/gtest.h"

#include <cmath>
#include <limits>

using namespace tandem;
using namespace tandem::test;

namespace {

/// A module whose function @f applies `operation` to %0, %1, ...
std::string function(const std::string &arguments, const std::string &operation,
                     const std::string &results, int count = 1) {
  std::string values = count == 1 ? "%r" : "%r#0, %r#1";
  return "func.func @f(" + arguments + ") -> (" + results + ") {\n" +
         (count == 1 ? "%r = " : "%r:2 = ") + operation + "\nreturn " + values +
         " : " + results + "\n}\n";
}

std::vector<double> mapped(const Tensor &x, double (*f)(double)) {
  std::vector<double> values;
  for (double value : x.data())
    values.push_back(f(value));
  return values;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

struct UnaryCase {
  const char *kind;
  double (*value)(double);
};

double squareRoot(double x) { return std::pow(x, 0.5); }
double inverseRoot(double x) { return std::pow(x, -0.5); }

const UnaryCase unaryCases[] = {
    {"neg", [](double x) { return 0 - x; }},
    {"abs", [](double x) { return x < 0 ? -x : x; }},
    {"exp", [](double x) { return std::pow(M_E, x); }},
    {"log", [](double x) { return std::log2(x) * M_LN2; }},
    {"sqrt", squareRoot},
    {"rsqrt", inverseRoot},
    {"tanh", [](double x) { return 1 - 2 / (std::exp(2 * x) + 1); }},
    {"erf", [](double x) { return 1 - std::erfc(x); }},
    {"sigmoid", [](double x) { return (1 + std::tanh(x / 2)) / 2; }},
    {"relu", [](double x) { return (x + std::fabs(x)) / 2; }},
    {"sin", [](double x) { return std::cos(x - M_PI_2); }},
    {"cos", [](double x) { return std::sin(x + M_PI_2); }},
    {"reciprocal", [](double x) { return std::pow(x, -1); }},
    {"floor",
     [](double x) {
       return x - (x - static_cast<double>(std::lround(x - 0.5)));
     }},
};

TEST(Operations, UnaryFunctions) {
  Tensor positive = tensor({4}, {0.25, 0.75, 1.5, 2.75});
  Tensor all = tensor({4}, {-1.75, -0.25, 0.5, 2.25});
  for (const UnaryCase &c : unaryCases) {
    bool wantsPositive = std::isnan(c.value(-1.75));
    const Tensor &x = wantsPositive ? positive : all;
    Fixture fixture;
    auto results = fixture.run(
        function("%0: tensor<4xf32>",
                 std::string("tandem.unary ") + c.kind + ", %0 : tensor<4xf32>",
                 "tensor<4xf32>"),
        {x});
    ASSERT_EQ(results.size(), 1u) << c.kind;
    SCOPED_TRACE(c.kind);
    expectEqual(results[0], tensor({4}, mapped(x, c.value)));
  }
}

TEST(Operations, UnaryNot) {
  Fixture fixture;
  auto results = fixture.run(function("%0: tensor<2xi1>",
                                      "tandem.unary not, %0 : tensor<2xi1>",
                                      "tensor<2xi1>"),
                             {tensor({2}, {0, 1})});
  expectEqual(results[0], tensor({2}, {1, 0}));
}

Tensor binary(const char *kind, const char *type, const Tensor &x,
              const Tensor &y) {
  Fixture fixture;
  std::string t = "tensor<4x" + std::string(type) + ">";
  return fixture.run(
      function("%0: " + t + ", %1: " + t,
               std::string("tandem.binary ") + kind + ", %0, %1 : " + t, t),
      {x, y})[0];
}

TEST(Operations, BinaryFunctionsOfFloats) {
  Tensor x = tensor({4}, {7, -7, 2, 0.5}), y = tensor({4}, {2, 2, -3, 4});
  expectEqual(binary("sub", "f32", x, y), tensor({4}, {5, -9, 5, -3.5}));
  expectEqual(binary("mul", "f32", x, y), tensor({4}, {14, -14, -6, 2}));
  expectEqual(binary("div", "f32", x, y),
              tensor({4}, {3.5, -3.5, -2 / 3.0, 0.125}));
  expectEqual(binary("max", "f32", x, y), tensor({4}, {7, 2, 2, 4}));
  expectEqual(binary("min", "f32", x, y), tensor({4}, {2, -7, -3, 0.5}));
  expectEqual(binary("pow", "f32", x, y), tensor({4}, {49, 49, 0.125, 0.0625}));
  expectEqual(binary("rem", "f32", x, y), tensor({4}, {1, -1, 2, 0.5}));
}

TEST(Operations, IntegersDivideTowardZeroAndByZeroGiveZero) {
  Tensor x = tensor({4}, {7, -7, 7, 5}), y = tensor({4}, {2, 2, -2, 0});
  expectEqual(binary("div", "i32", x, y), tensor({4}, {3, -3, -3, 0}));
  expectEqual(binary("rem", "i32", x, y), tensor({4}, {1, -1, 1, 0}));
}

TEST(Operations, TruthValues) {
  Tensor x = tensor({4}, {0, 0, 1, 1}), y = tensor({4}, {0, 1, 0, 1});
  expectEqual(binary("and", "i1", x, y), tensor({4}, {0, 0, 0, 1}));
  expectEqual(binary("or", "i1", x, y), tensor({4}, {0, 1, 1, 1}));
}

TEST(Operations, NotANumberPassesThroughMaximaAndMinima) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Tensor x = tensor({4}, {nan, 1, nan, 2}), y = tensor({4}, {1, nan, nan, 3});
  expectEqual(binary("max", "f32", x, y), tensor({4}, {nan, nan, nan, 3}));
  expectEqual(binary("min", "f32", x, y), tensor({4}, {nan, nan, nan, 2}));
}

TEST(Operations, Comparisons) {
  Tensor x = tensor({3}, {1, 2, 3}), y = tensor({3}, {2, 2, 2});
  std::pair<const char *, std::vector<double>> cases[] = {
      {"eq", {0, 1, 0}}, {"ne", {1, 0, 1}}, {"lt", {1, 0, 0}},
      {"le", {1, 1, 0}}, {"gt", {0, 0, 1}}, {"ge", {0, 1, 1}}};
  for (auto &[kind, expected] : cases) {
    Fixture fixture;
    auto results =
        fixture.run(function("%0: tensor<3xf32>, %1: tensor<3xf32>",
                             std::string("tandem.compare ") + kind +
                                 ", %0, %1 : (tensor<3xf32>, tensor<3xf32>) -> "
                                 "tensor<3xi1>",
                             "tensor<3xi1>"),
                    {x, y});
    expectEqual(results[0], tensor({3}, expected));
  }
}

TEST(Operations, SelectTakesLanesByCondition) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<2xi1>, %1: tensor<2xf32>, %2: tensor<2xf32>",
               "tandem.select %0, %1, %2 : (tensor<2xi1>, tensor<2xf32>, "
               "tensor<2xf32>) -> tensor<2xf32>",
               "tensor<2xf32>"),
      {tensor({2}, {1, 0}), tensor({2}, {3, 4}), tensor({2}, {5, 6})});
  expectEqual(results[0], tensor({2}, {3, 6}));
}

TEST(Operations, CastTruncatesTowardZero) {
  Fixture fixture;
  auto results =
      fixture.run(function("%0: tensor<4xf32>",
                           "tandem.cast %0 : (tensor<4xf32>) -> tensor<4xi32>",
                           "tensor<4xi32>"),
                  {tensor({4}, {1.9, -1.9, 0.5, -0.5})});
  expectEqual(results[0], tensor({4}, {1, -1, 0, 0}));
}

TEST(Operations, CastToTruthIsDifferentFromZero) {
  Fixture fixture;
  auto results =
      fixture.run(function("%0: tensor<3xi32>",
                           "tandem.cast %0 : (tensor<3xi32>) -> tensor<3xi1>",
                           "tensor<3xi1>"),
                  {tensor({3}, {0, 5, -1})});
  expectEqual(results[0], tensor({3}, {0, 1, 1}));
}

TEST(Operations, FormsOfGelu) {
  Tensor x = tensor({4}, {-2, -0.5, 0.5, 2});
  std::pair<const char *, double (*)(double)> cases[] = {
      // Phi(x) by the complementary error function.
      {"none", [](double v) { return v * std::erfc(-v * M_SQRT1_2) / 2; }},
      {"tanh",
       [](double v) {
         return v / (1 + std::exp(-2 * std::sqrt(2 / M_PI) *
                                  (v + 0.044715 * std::pow(v, 3))));
       }},
      {"quick",
       [](double v) { return v * (1 + std::tanh(1.702 * v / 2)) / 2; }}};
  for (auto &[kind, value] : cases) {
    Fixture fixture;
    auto results = fixture.run(
        function("%0: tensor<4xf32>",
                 std::string("tandem.gelu %0 {approximate = #tandem.gelu<") +
                     kind + ">} : tensor<4xf32>",
                 "tensor<4xf32>"),
        {x});
    expectEqual(results[0], tensor({4}, mapped(x, value)));
  }
}

TEST(Operations, SumAddsAnyNumber) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<2xf32>, %1: tensor<2xf32>, %2: tensor<2xf32>",
               "tandem.sum %0, %1, %2 : tensor<2xf32>", "tensor<2xf32>"),
      {tensor({2}, {1, 2}), tensor({2}, {10, 20}), tensor({2}, {100, 200})});
  expectEqual(results[0], tensor({2}, {111, 222}));
}

//===----------------------------------------------------------------------===//
// Contractions and reductions
//===----------------------------------------------------------------------===//

TEST(Operations, EinsumIsTheSumOfProducts) {
  Tensor a = random({2, 3, 4}, 1), b = random({4, 5}, 2);
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<2x3x4xf32>, %1: tensor<4x5xf32>",
               "tandem.einsum \"bsd,df->fbs\" %0, %1 : (tensor<2x3x4xf32>, "
               "tensor<4x5xf32>) -> tensor<5x2x3xf32>",
               "tensor<5x2x3xf32>"),
      {a, b});
  std::vector<double> expected;
  for (int f = 0; f < 5; ++f)
    for (int row = 0; row < 6; ++row) {
      double sum = 0;
      for (int d = 0; d < 4; ++d)
        sum += a.data()[4 * row + d] * b.data()[5 * d + f];
      expected.push_back(sum);
    }
  expectEqual(results[0], tensor({5, 2, 3}, expected));
}

TEST(Operations, EinsumSumsLettersOfOneOperand) {
  Fixture fixture;
  auto results =
      fixture.run(function("%0: tensor<2xf32>, %1: tensor<3xf32>",
                           "tandem.einsum \"a,b->a\" %0, %1 : (tensor<2xf32>, "
                           "tensor<3xf32>) -> tensor<2xf32>",
                           "tensor<2xf32>"),
                  {tensor({2}, {2, 3}), tensor({3}, {1, 10, 100})});
  expectEqual(results[0], tensor({2}, {222, 333}));
}

TEST(Operations, Reductions) {
  Tensor x = tensor({2, 3}, {1, 5, 3, -2, 7, 0});
  std::pair<const char *, std::vector<double>> cases[] = {
      {"sum", {9, 5}}, {"max", {5, 7}}, {"min", {1, -2}}};
  for (auto &[kind, expected] : cases) {
    Fixture fixture;
    auto results = fixture.run(
        function("%0: tensor<2x3xf32>",
                 std::string("tandem.reduce ") + kind +
                     ", %0 [1] : (tensor<2x3xf32>) -> tensor<2xf32>",
                 "tensor<2xf32>"),
        {x});
    expectEqual(results[0], tensor({2}, expected));
  }
}

TEST(Operations, RunningSums) {
  Tensor x = tensor({1, 4}, {1, 10, 100, 1000});
  std::pair<const char *, std::vector<double>> cases[] = {
      {"", {1, 11, 111, 1111}},
      {", exclusive", {0, 1, 11, 111}},
      {", reverse", {1111, 1110, 1100, 1000}},
      {", exclusive, reverse", {1110, 1100, 1000, 0}}};
  for (auto &[flags, expected] : cases) {
    Fixture fixture;
    auto results = fixture.run(
        function("%0: tensor<1x4xf32>",
                 std::string("tandem.cumulative_sum %0 {dim = 1 : i64") +
                     flags + "} : tensor<1x4xf32>",
                 "tensor<1x4xf32>"),
        {x});
    expectEqual(results[0], tensor({1, 4}, expected));
  }
}

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

TEST(Operations, MovingElements) {
  Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
  struct Case {
    const char *operation, *result;
    std::vector<int64_t> shape;
    std::vector<double> values;
  };
  const Case cases[] = {
      {"tandem.reshape %0 : (tensor<2x3xf32>) -> tensor<3x2xf32>",
       "tensor<3x2xf32>",
       {3, 2},
       {1, 2, 3, 4, 5, 6}},
      {"tandem.transpose %0 [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
       "tensor<3x2xf32>",
       {3, 2},
       {1, 4, 2, 5, 3, 6}},
      {"tandem.broadcast_in_dim %0 [0, 2] : (tensor<2x3xf32>) -> "
       "tensor<2x2x3xf32>",
       "tensor<2x2x3xf32>",
       {2, 2, 3},
       {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
      {"tandem.slice %0 [1, 0] step [1, 2] : (tensor<2x3xf32>) -> "
       "tensor<1x2xf32>",
       "tensor<1x2xf32>",
       {1, 2},
       {4, 6}},
      {"tandem.concat %0, %0 {dim = 1 : i64} : (tensor<2x3xf32>, "
       "tensor<2x3xf32>) -> tensor<2x6xf32>",
       "tensor<2x6xf32>",
       {2, 6},
       {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6}},
      {"tandem.pad %0 low [0, 1] high [1, 0] value 9.0 : (tensor<2x3xf32>) -> "
       "tensor<3x4xf32>",
       "tensor<3x4xf32>",
       {3, 4},
       {9, 1, 2, 3, 9, 4, 5, 6, 9, 9, 9, 9}},
      {"tandem.iota {dim = 1 : i64, start = 0.5 : f64, step = 2.0 : f64} : "
       "tensor<2x2xf32>",
       "tensor<2x2xf32>",
       {2, 2},
       {0.5, 2.5, 0.5, 2.5}},
      {"tandem.iota {dim = 0 : i64, start = 0.5 : f64, step = 0.75 : f64} : "
       "tensor<3xi32>",
       "tensor<3xi32>",
       {3},
       {0, 1, 2}},
      {"tandem.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi64>",
       "tensor<2x2xi64>",
       {2, 2},
       {1, -2, 3, 4}},
      {"tandem.constant dense<true> : tensor<2xi1>",
       "tensor<2xi1>",
       {2},
       {1, 1}},
      {"tandem.constant dense<200> : tensor<1xui8>",
       "tensor<1xui8>",
       {1},
       {200}},
  };
  for (const Case &c : cases) {
    Fixture fixture;
    SCOPED_TRACE(c.operation);
    auto results = fixture.run(
        function("%0: tensor<2x3xf32>", c.operation, c.result), {x});
    ASSERT_EQ(results.size(), 1u);
    expectEqual(results[0], tensor(c.shape, c.values));
  }
}

//===----------------------------------------------------------------------===//
// Rows chosen by values
//===----------------------------------------------------------------------===//

const char *gatherText =
    "func.func @f(%0: tensor<2x3xf32>, %1: tensor<2x2xi32>) -> "
    "tensor<2x2xf32> {\n"
    "  %2 = tandem.gather %0, %1 {dim = 1 : i64, batch_dims = 1 : i64} : "
    "(tensor<2x3xf32>, tensor<2x2xi32>) -> tensor<2x2xf32>\n"
    "  return %2 : tensor<2x2xf32>\n}\n";

TEST(Operations, GatherTakesElementsOfItsBatchRow) {
  Fixture fixture;
  auto results = fixture.run(gatherText, {tensor({2, 3}, {1, 2, 3, 4, 5, 6}),
                                          tensor({2, 2}, {2, 0, 1, 1})});
  expectEqual(results[0], tensor({2, 2}, {3, 1, 5, 5}));
}

TEST(Operations, AnIndexThatDoesNotExistIsRefused) {
  for (double index : {3.0, -1.0}) {
    Fixture fixture;
    auto module = fixture.parse(gatherText);
    auto results = evaluate(
        module->lookupSymbol<mlir::func::FuncOp>("f"),
        {tensor({2, 3}, {1, 2, 3, 4, 5, 6}), tensor({2, 2}, {2, index, 1, 1})});
    EXPECT_TRUE(failed(results));
    EXPECT_NE(fixture.errors().find("'tandem.gather' op index " +
                                    std::to_string(int(index)) +
                                    " is outside 0 to 2"),
              std::string::npos)
        << fixture.errors();
  }
}

TEST(Operations, EmbeddingTakesRows) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<3x2xf32>, %1: tensor<2xi32>",
               "tandem.embedding %0, %1 : (tensor<3x2xf32>, tensor<2xi32>) -> "
               "tensor<2x2xf32>",
               "tensor<2x2xf32>"),
      {tensor({3, 2}, {1, 2, 3, 4, 5, 6}), tensor({2}, {2, 0})});
  expectEqual(results[0], tensor({2, 2}, {5, 6, 1, 2}));
}

TEST(Operations, ScatterAddAddsRowsOfOnePlace) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<3x2xf32>, %1: tensor<3xi32>, %2: tensor<3x2xf32>",
               "tandem.scatter_add %0, %1, %2 {dim = 0 : i64, batch_dims = 0 "
               ": i64} : (tensor<3x2xf32>, tensor<3xi32>, tensor<3x2xf32>) -> "
               "tensor<3x2xf32>",
               "tensor<3x2xf32>"),
      {tensor({3, 2}, {1, 1, 1, 1, 1, 1}), tensor({3}, {2, 0, 2}),
       tensor({3, 2}, {10, 20, 30, 40, 50, 60})});
  expectEqual(results[0], tensor({3, 2}, {31, 41, 1, 1, 61, 81}));
}

TEST(Operations, UpdateSliceNeverClamps) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<3x4xf32>, %1: tensor<3x2xf32>, %2: tensor<3xi32>, "
               "%3: tensor<3xi32>",
               "tandem.update_slice %0, %1, %2, %3 : (tensor<3x4xf32>, "
               "tensor<3x2xf32>, tensor<3xi32>, tensor<3xi32>) -> "
               "tensor<3x4xf32>",
               "tensor<3x4xf32>"),
      {tensor({3, 4}, std::vector<double>(12, 0)),
       tensor({3, 2}, {1, 2, 3, 4, 5, 6}), tensor({3}, {1, 3, 0}),
       tensor({3}, {2, 2, 1})});
  // Row 1 has no place for its second token, row 2 is one token long.
  expectEqual(results[0], tensor({3, 4}, {0, 1, 2, 0, 0, 0, 0, 3, 5, 0, 0, 0}));
}

TEST(Operations, TopKDescendsAndTiesGoToTheLowerIndex) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<1x5xf32>",
               "tandem.top_k %0 : (tensor<1x5xf32>) -> (tensor<1x5xf32>, "
               "tensor<1x5xi32>)",
               "tensor<1x5xf32>, tensor<1x5xi32>", 2),
      {tensor({1, 5}, {2, nan, 7, 2, 7})});
  expectEqual(results[0], tensor({1, 5}, {7, 7, 2, 2, nan}));
  expectEqual(results[1], tensor({1, 5}, {2, 4, 0, 3, 1}));
}

TEST(Operations, TopKOfAPayloadGivesItsEntries) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<1x4xf32>, %1: tensor<1x4xi32>",
               "tandem.top_k %0 payload %1 : (tensor<1x4xf32>, "
               "tensor<1x4xi32>) -> (tensor<1x3xf32>, tensor<1x3xi32>)",
               "tensor<1x3xf32>, tensor<1x3xi32>", 2),
      {tensor({1, 4}, {5, 9, 5, 1}), tensor({1, 4}, {80, 70, 20, 10})});
  expectEqual(results[0], tensor({1, 3}, {9, 5, 5}));
  expectEqual(results[1], tensor({1, 3}, {70, 20, 80}));
}

//===----------------------------------------------------------------------===//
// Sampling
//===----------------------------------------------------------------------===//

TEST(Operations, PhiloxMatchesThePublishedVectors) {
  // kat_vectors of Random123 1.14, philox4x32-10.
  using Words = std::array<uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
                       {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

std::vector<double> sample(const Tensor &logits, double temperature, double k,
                           double p, double seed, double position) {
  std::string n = std::to_string(logits.dim(0).global);
  std::string rows =
      "tensor<" + n + "x" + std::to_string(logits.dim(1).global) + "xf32>";
  std::string f = "tensor<" + n + "xf32>", i = "tensor<" + n + "xi32>",
              l = "tensor<" + n + "xi64>";
  auto each = [&](double value) {
    return tensor({logits.dim(0).global},
                  std::vector<double>(logits.dim(0).global, value));
  };
  Fixture fixture;
  auto results = fixture.run(
      function("%0: " + rows + ", %1: " + f + ", %2: " + i + ", %3: " + f +
                   ", %4: " + l + ", %5: " + i,
               "tandem.sample %0, %1, %2, %3, %4, %5 : (" + rows + ", " + f +
                   ", " + i + ", " + f + ", " + l + ", " + i + ") -> " + i,
               i),
      {logits, each(temperature), each(k), each(p), each(seed),
       each(position)});
  return results.at(0).data();
}

TEST(Operations, SampleWithoutTemperatureTakesTheFirstLargest) {
  EXPECT_EQ(sample(tensor({2, 3}, {1, 5, 5, 4, 3, 4}), 0, 0, 1, 7, 3),
            (std::vector<double>{1, 0}));
}

TEST(Operations, SampleOfOneCandidateIsTheLargest) {
  Tensor logits = tensor({1, 4}, {0, 3, 1, 2});
  for (int position = 0; position < 20; ++position) {
    EXPECT_EQ(sample(logits, 1, 1, 1, 7, position)[0], 1);
    EXPECT_EQ(sample(logits, 1, 0, 0.01, 7, position)[0], 1);
  }
}

TEST(Operations, SampleFollowsTheSoftmax) {
  // Four equal logits over 4000 rows: each id is drawn by about a quarter.
  Tensor logits = tensor({4000, 4}, std::vector<double>(16000, 0.5));
  std::vector<int> count(4);
  for (double id : sample(logits, 1, 0, 1, 11, 0))
    ++count[static_cast<int>(id)];
  for (int drawn : count)
    EXPECT_NEAR(drawn, 1000, 120); // Four standard deviations.
}

TEST(Operations, SampleKeepsTopKAndTopP) {
  std::vector<double> row = {std::log(0.4), std::log(0.1), std::log(0.3),
                             std::log(0.2)};
  std::vector<double> values;
  for (int i = 0; i < 500; ++i)
    values.insert(values.end(), row.begin(), row.end());
  Tensor logits = tensor({500, 4}, values);
  // The two largest; then those whose mass reaches 0.65, also two.
  for (auto &ids :
       {sample(logits, 1, 2, 1, 5, 0), sample(logits, 1, 0, 0.65, 5, 0)})
    for (double id : ids)
      EXPECT_TRUE(id == 0 || id == 2) << id;
}

TEST(Operations, SampleNeedsSomethingToDrawFrom) {
  std::string error = Fixture().errorOf(
      "func.func @f(%0: tensor<1x0xf32>, %1: tensor<1xf32>, %2: "
      "tensor<1xi32>) -> tensor<1xi32> {\n"
      "%3 = tandem.sample %0, %1, %2, %1, %2, %2 : (tensor<1x0xf32>, "
      "tensor<1xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi32>, "
      "tensor<1xi32>) -> tensor<1xi32>\nreturn %3 : tensor<1xi32>\n}",
      {{"argument:0", tensor({1, 0}, {})},
       {"argument:1", tensor({1}, {0})},
       {"argument:2", tensor({1}, {0})}});
  EXPECT_NE(error.find("'tandem.sample' op logits have no entries to draw "
                       "from"),
            std::string::npos)
      << error;
}

TEST(Operations, AConstantWithoutElementsHasNoMeaning) {
  std::string error = Fixture().errorOf(
      "func.func @f() -> tensor<1xf32> {\n"
      "%0 = tandem.constant dense_resource<blob> : tensor<1xf32>\n"
      "return %0 : tensor<1xf32>\n}",
      {});
  EXPECT_NE(error.find("'tandem.constant' op value has no elements that can "
                       "be read"),
            std::string::npos)
      << error;
}

//===----------------------------------------------------------------------===//
// Transformer operations
//===----------------------------------------------------------------------===//

TEST(Operations, RmsNorm) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<1x2xf32>, %1: tensor<2xf32>",
               "tandem.rms_norm %0, %1 {epsilon = 11.5 : f64, weight_offset = "
               "1.0 : f64} : (tensor<1x2xf32>, tensor<2xf32>) -> "
               "tensor<1x2xf32>",
               "tensor<1x2xf32>"),
      {tensor({1, 2}, {3, 4}), tensor({2}, {0, 1})});
  // The mean square is 12.5, with epsilon 24.
  expectEqual(results[0],
              tensor({1, 2}, {3 / std::sqrt(24.0), 8 / std::sqrt(24.0)}));
}

TEST(Operations, LayerNorm) {
  Fixture fixture;
  auto results = fixture.run(
      function("%0: tensor<1x4xf32>, %1: tensor<4xf32>, %2: tensor<4xf32>",
               "tandem.layer_norm %0, %1, %2 {epsilon = 2.75 : f64} : "
               "(tensor<1x4xf32>, tensor<4xf32>, tensor<4xf32>) -> "
               "tensor<1x4xf32>",
               "tensor<1x4xf32>"),
      {tensor({1, 4}, {1, 2, 3, 4}), tensor({4}, {1, 1, 2, 2}),
       tensor({4}, {0, 10, 0, 10})});
  // Mean 2.5, variance 1.25, with epsilon 4: the deviation is 2.
  expectEqual(results[0], tensor({1, 4}, {-0.75, 9.75, 0.5, 11.5}));
}

TEST(Operations, SoftmaxSurvivesLargeValues) {
  Fixture fixture;
  auto results = fixture.run(function("%0: tensor<1x2xf32>",
                                      "tandem.softmax %0 : tensor<1x2xf32>",
                                      "tensor<1x2xf32>"),
                             {tensor({1, 2}, {1000, 1000 + std::log(3.0)})});
  EXPECT_NEAR(results[0].data()[0], 0.25, 1e-12);
  EXPECT_NEAR(results[0].data()[1], 0.75, 1e-12);
}

TEST(Operations, RopeTurnsPairs) {
  for (bool halves : {true, false}) {
    // One pair turns by a quarter a token, the other stands still; a fifth
    // lane passes.
    Fixture fixture;
    auto results = fixture.run(
        function("%0: tensor<1x2x5xf32>, %1: tensor<1xi32>",
                 std::string("tandem.rope %0, %1 {style = #tandem.rope<") +
                     (halves ? "half_split" : "interleaved") +
                     ">, frequencies = array<f64: 1.5707963267948966, 0.0>} : "
                     "(tensor<1x2x5xf32>, tensor<1xi32>) -> tensor<1x2x5xf32>",
                 "tensor<1x2x5xf32>"),
        {tensor({1, 2, 5}, {1, 2, 3, 4, 5, 1, 2, 3, 4, 5}), tensor({1}, {1})});
    // Token 0 is at position 1, token 1 at 2: a quarter and a half turn.
    std::vector<double> expected =
        halves ? std::vector<double>{-3, 2, 1, 4, 5, -1, 2, -3, 4, 5}
               : std::vector<double>{-2, 1, 3, 4, 5, -1, -2, 3, 4, 5};
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(results[0].data()[i], expected[i], 1e-12) << i;
  }
}

std::vector<Tensor> attend(const std::string &flags, const Tensor &q,
                           const Tensor &k, const Tensor &v,
                           const Tensor &positions,
                           const Tensor *mask = nullptr,
                           const Tensor *slopes = nullptr) {
  auto type = [](const Tensor &t, const char *element) {
    std::string text = "tensor<";
    for (const LocalDim &dim : t.dims())
      text += std::to_string(dim.global) + "x";
    return text + element + ">";
  };
  Tensor result(q.dims());
  std::vector<LocalDim> dims = q.dims();
  dims.pop_back();
  Tensor lse(dims);
  dims.push_back(v.dim(3));
  std::string types = type(q, "f32") + ", " + type(k, "f32") + ", " +
                      type(v, "f32") + ", " + type(positions, "i32");
  std::string arguments = "%0: " + type(q, "f32") + ", %1: " + type(k, "f32") +
                          ", %2: " + type(v, "f32") +
                          ", %3: " + type(positions, "i32");
  std::string operands = "%0, %1, %2, %3";
  std::vector<Tensor> inputs = {q, k, v, positions};
  if (mask) {
    arguments += ", %4: " + type(*mask, "i32");
    types += ", " + type(*mask, "i32");
    operands += " mask %4";
    inputs.push_back(*mask);
  }
  if (slopes) {
    std::string name = "%" + std::to_string(inputs.size());
    arguments += ", " + name + ": " + type(*slopes, "f32");
    types += ", " + type(*slopes, "f32");
    operands += " slopes " + name;
    inputs.push_back(*slopes);
  }
  std::string results = type(Tensor(dims), "f32") + ", " + type(lse, "f32");
  Fixture fixture;
  return fixture.run(function(arguments,
                              "tandem.attention " + operands + " {" + flags +
                                  "} : (" + types + ") -> (" + results + ")",
                              results, 2),
                     inputs);
}

TEST(Operations, AttentionOfEqualScoresIsTheMeanOfWhatIsSeen) {
  Tensor q = tensor({1, 2, 1, 1, 1}, {0, 0});
  Tensor k = tensor({1, 4, 1, 1}, {1, 2, 3, 4});
  Tensor v = tensor({1, 4, 1, 1}, {1, 10, 100, 1000});
  Tensor at1 = tensor({1}, {1});
  struct Case {
    const char *flags;
    double first, second;
    int seenFirst, seenSecond;
  };
  // Queries stand at positions 1 and 2.
  const Case cases[] = {
      {"scale = 1.0 : f64", 1111 / 4.0, 1111 / 4.0, 4, 4},
      {"causal, scale = 1.0 : f64", 11 / 2.0, 111 / 3.0, 2, 3},
      {"causal, scale = 1.0 : f64, window = 2 : i64", 11 / 2.0, 110 / 2.0, 2,
       2},
      {"causal, scale = 1.0 : f64, window = 1 : i64", 10, 100, 1, 1},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.flags);
    auto results = attend(c.flags, q, k, v, at1);
    ASSERT_EQ(results.size(), 2u);
    expectEqual(results[0], tensor({1, 2, 1, 1, 1}, {c.first, c.second}));
    expectEqual(results[1], tensor({1, 2, 1, 1}, {std::log(c.seenFirst),
                                                  std::log(c.seenSecond)}));
  }
}

TEST(Operations, AttentionMaskHidesKeysAndNothingSeenGivesZero) {
  Tensor q = tensor({1, 2, 1, 1, 1}, {0, 0});
  Tensor k = tensor({1, 2, 1, 1}, {1, 2}), v = tensor({1, 2, 1, 1}, {5, 7});
  Tensor mask = tensor({1, 2}, {0, 1});
  auto results =
      attend("causal, scale = 1.0 : f64", q, k, v, tensor({1}, {0}), &mask);
  double none = -std::numeric_limits<double>::infinity();
  expectEqual(results[0], tensor({1, 2, 1, 1, 1}, {0, 7}));
  expectEqual(results[1], tensor({1, 2, 1, 1}, {none, 0}));
}

TEST(Operations, AttentionGroupsShareKeysAndScoresAreScaledCappedAndBiased) {
  // One KV head, two query heads, head_dim 2.
  Tensor q = random({1, 1, 1, 2, 2}, 1), k = random({1, 3, 1, 2}, 2),
         v = random({1, 3, 1, 1}, 3);
  Tensor slopes = tensor({1, 2}, {0.5, 0.25});
  auto results = attend("scale = 0.5 : f64, softcap = 2.0 : f64", q, k, v,
                        tensor({1}, {2}), nullptr, &slopes);
  std::vector<double> outputs, lses;
  for (int g = 0; g < 2; ++g) {
    double total = 0, output = 0;
    for (int j = 0; j < 3; ++j) {
      double dot = q.data()[2 * g] * k.data()[2 * j] +
                   q.data()[2 * g + 1] * k.data()[2 * j + 1];
      double score = 2 * std::tanh(dot * 0.5 / 2) + slopes.data()[g] * (j - 2);
      total += std::exp(score);
      output += std::exp(score) * v.data()[j];
    }
    outputs.push_back(output / total);
    lses.push_back(std::log(total));
  }
  expectEqual(results[0], tensor({1, 1, 1, 2, 1}, outputs));
  expectEqual(results[1], tensor({1, 1, 1, 2}, lses));
}

//===----------------------------------------------------------------------===//
// Costs and kernels
//===----------------------------------------------------------------------===//

TEST(Operations, FlopsOfProducts) {
  Fixture fixture;
  auto module = fixture.parse(
      "func.func @f(%0: tensor<2x3xf32>, %1: tensor<3x5xf32>, %q: "
      "tensor<2x3x1x4x5xf32>, %k: tensor<2x7x1x5xf32>, %v: "
      "tensor<2x7x1x6xf32>, %p: tensor<2xi32>) {\n"
      "%2 = tandem.einsum \"ab,bc->ac\" %0, %1 : (tensor<2x3xf32>, "
      "tensor<3x5xf32>) -> tensor<2x5xf32>\n"
      "%3, %4 = tandem.attention %q, %k, %v, %p {causal, scale = 1.0 : f64} : "
      "(tensor<2x3x1x4x5xf32>, tensor<2x7x1x5xf32>, tensor<2x7x1x6xf32>, "
      "tensor<2xi32>) -> (tensor<2x3x1x4x6xf32>, tensor<2x3x1x4xf32>)\n"
      "return\n}");
  ASSERT_TRUE(module) << fixture.errors();
  std::vector<uint64_t> flops;
  module->walk([&](CostOpInterface op) { flops.push_back(op.getFlops()); });
  EXPECT_EQ(flops, (std::vector<uint64_t>{2 * 2 * 3 * 5,
                                          2 * (2 * 3 * 4) * 7 * (5 + 6)}));
}

} // namespace

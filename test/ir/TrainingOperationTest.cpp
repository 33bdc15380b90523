// What the operations of a training step compute, against formulas written
// otherwise: explicit Jacobians, and values worked out by hand.

#include "test/ir/ReferenceModules.h"

#include "ir/Dialect.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace tandem;
using namespace tandem::test;

namespace {

using Values = std::vector<double>;

/// Applies `tandem.NAME ATTRIBUTES` to operands of those types.
std::vector<Tensor> apply(const std::string &name,
                          const std::string &attributes,
                          const std::vector<std::string> &types,
                          const std::vector<std::string> &resultTypes,
                          const std::vector<Tensor> &inputs) {
  std::string arguments, operands, typeList, results, values;
  for (size_t i = 0; i < types.size(); ++i) {
    std::string comma = i ? ", " : "", number = "%" + std::to_string(i);
    arguments += comma + number + ": tensor<" + types[i] + ">";
    operands += comma + number;
    typeList += comma + "tensor<" + types[i] + ">";
  }
  for (size_t i = 0; i < resultTypes.size(); ++i) {
    std::string comma = i ? ", " : "";
    results += comma + "tensor<" + resultTypes[i] + ">";
    values += comma + "%r#" + std::to_string(i);
  }
  Fixture fixture;
  return fixture.run("func.func @f(" + arguments + ") -> (" + results +
                         ") {\n%r:" + std::to_string(resultTypes.size()) +
                         " = tandem." + name + " " + operands + " {" +
                         attributes + "} : (" + typeList + ") -> (" + results +
                         ")\nreturn " + values + " : " + results + "\n}\n",
                     inputs);
}

/// EXPECTs lanes equal within 1e-12 (1 + |x|).
void expectValues(const Tensor &got, const Values &expected) {
  ASSERT_EQ(got.data().size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(got.data()[i], expected[i],
                1e-12 * (1 + std::fabs(expected[i])))
        << i;
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

/// x s(z(x)) has the slope s + x z' s (1 - s), s the logistic function.
double gated(double x, double z, double slope) {
  double s = (1 + std::tanh(z / 2)) / 2;
  return s + x * slope * s * (1 - s);
}

TEST(TrainingOperations, SlopesOfActivations) {
  struct Case {
    const char *name, *attributes;
    double (*slope)(double);
  };
  const Case cases[] = {
      {"silu_grad", "", [](double x) { return gated(x, x, 1); }},
      {"gelu_grad", "approximate = #tandem.gelu<quick>",
       [](double x) { return gated(x, 1.702 * x, 1.702); }},
      {"gelu_grad", "approximate = #tandem.gelu<tanh>",
       [](double x) {
         double root = std::sqrt(8 / M_PI);
         return gated(x, root * (x + 0.044715 * std::pow(x, 3)),
                      root * (1 + 0.134145 * x * x));
       }},
      {"gelu_grad", "",
       [](double x) {
         return std::erfc(-x * M_SQRT1_2) / 2 +
                x * std::exp(-x * x / 2) * M_SQRT1_2 * M_2_SQRTPI / 2;
       }},
  };
  Values x = {-3, -0.75, 0, 0.5, 2}, dy = {1, -2, 3, 0.5, -1};
  for (const Case &c : cases) {
    SCOPED_TRACE(std::string(c.name) + c.attributes);
    Values expected;
    for (size_t i = 0; i < x.size(); ++i)
      expected.push_back(c.slope(x[i]) * dy[i]);
    auto results = apply(c.name, c.attributes, {"5xf32", "5xf32"}, {"5xf32"},
                         {tensor({5}, x), tensor({5}, dy)});
    expectValues(results.at(0), expected);
  }
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

// Logits 0 and log 3 have the probabilities 1/4 and 3/4, at any level.
const Tensor logits =
    tensor({3, 2}, {0, std::log(3.0), 1000, 1000 + std::log(3.0), 0, 0});
const Tensor labels = tensor({3}, {0, 1, -100});

TEST(TrainingOperations, CrossEntropyIsTheLogOfTheLabelsShare) {
  auto results = apply("cross_entropy", "", {"3x2xf32", "3xi32"},
                       {"3xf32", "3xf32"}, {logits, labels});
  expectValues(results.at(0), {std::log(4.0), std::log(4 / 3.0), 0});
  expectValues(results.at(1), {std::log(4.0), 1000 + std::log(4.0), M_LN2});
}

TEST(TrainingOperations, CrossEntropyOfOneRow) {
  auto results =
      apply("cross_entropy", "ignored = 7 : i64", {"2xf32", "i32"},
            {"f32", "f32"}, {tensor({2}, {std::log(3.0), 0}), tensor({}, {0})});
  expectValues(results.at(0), {std::log(4 / 3.0)});
}

TEST(TrainingOperations, CrossEntropyPullsTowardsTheLabel) {
  Tensor lse = tensor({3}, {std::log(4.0), 1000 + std::log(4.0), M_LN2});
  auto results =
      apply("cross_entropy_grad", "", {"3x2xf32", "3xi32", "3xf32", "3xf32"},
            {"3x2xf32"}, {logits, labels, lse, tensor({3}, {2, 4, 8})});
  expectValues(results.at(0), {-1.5, 1.5, 1, -1, 0, 0});
}

TEST(TrainingOperations, ALabelThatDoesNotExistIsRefused) {
  for (double wrong : {2.0, -1.0}) {
    Fixture fixture;
    std::string error = fixture.errorOf(
        "func.func @f(%x: tensor<1x2xf32>, %l: tensor<1xi32>) {\n"
        "%r:2 = tandem.cross_entropy %x, %l : (tensor<1x2xf32>, tensor<1xi32>) "
        "-> (tensor<1xf32>, tensor<1xf32>)\nreturn\n}",
        {{"argument:0", tensor({1, 2}, {0, 0})},
         {"argument:1", tensor({1}, {wrong})}});
    EXPECT_NE(error.find("label " + std::to_string(int(wrong)) +
                         " is outside 0 to 1 and not -100"),
              std::string::npos)
        << error;
  }
}

TEST(TrainingOperations, EmbeddingGradAddsRowsOfOneId) {
  auto results =
      apply("embedding_grad", "", {"3xi32", "3x2xf32"}, {"4x2xf32"},
            {tensor({3}, {2, 0, 2}), tensor({3, 2}, {1, 2, 10, 20, 100, 200})});
  expectValues(results.at(0), {10, 20, 0, 0, 101, 202, 0, 0});
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

constexpr int kRows = 3, kLanes = 5;

double meanOf(const double *x, double (*f)(double)) {
  double sum = 0;
  for (int i = 0; i < kLanes; ++i)
    sum += f(x[i]);
  return sum / kLanes;
}

/// Of rows y = (x - level) r w, with r = 1 / sqrt(mean square + 0.1), by the
/// Jacobian of every row: dn_i/dx_j = r ([i = j] - c - n_i n_j / lanes), where
/// c is 1 / lanes if the level is the mean and 0 if it is 0.
struct NormGradients {
  Values dx, dw = Values(kLanes), db = Values(kLanes);

  NormGradients(const Tensor &x, const Values &w, const Tensor &dy,
                bool centred) {
    for (int row = 0; row < kRows; ++row)
      add(&x.data()[row * kLanes], w, &dy.data()[row * kLanes], centred);
  }

  void add(const double *x, const Values &w, const double *dy, bool centred) {
    double level = centred ? meanOf(x, [](double v) { return v; }) : 0;
    double square = meanOf(x, [](double v) { return v * v; }) - level * level;
    double r = 1 / std::sqrt(square + 0.1);
    Values n;
    for (int i = 0; i < kLanes; ++i)
      n.push_back((x[i] - level) * r);
    for (int j = 0; j < kLanes; ++j) {
      double sum = 0;
      for (int i = 0; i < kLanes; ++i)
        sum += dy[i] * w[i] * r *
               ((i == j) - centred / double(kLanes) - n[i] * n[j] / kLanes);
      dx.push_back(sum);
      dw[j] += dy[j] * n[j];
      db[j] += dy[j];
    }
  }
};

TEST(TrainingOperations, RmsNormGradIsTheTransposedJacobian) {
  Tensor x = random({kRows, kLanes}, 1), w = random({kLanes}, 2),
         dy = random({kRows, kLanes}, 3);
  Values weight = w.data();
  for (double &value : weight)
    value += 1;
  NormGradients expected(x, weight, dy, false);
  auto results =
      apply("rms_norm_grad", "epsilon = 0.1 : f64, weight_offset = 1.0 : f64",
            {"3x5xf32", "5xf32", "3x5xf32"}, {"3x5xf32", "5xf32"}, {x, w, dy});
  expectValues(results.at(0), expected.dx);
  expectValues(results.at(1), expected.dw);
}

TEST(TrainingOperations, LayerNormGradIsTheTransposedJacobian) {
  Tensor x = random({kRows, kLanes}, 4), w = random({kLanes}, 5),
         dy = random({kRows, kLanes}, 6);
  NormGradients expected(x, w.data(), dy, true);
  auto results = apply("layer_norm_grad", "epsilon = 0.1 : f64",
                       {"3x5xf32", "5xf32", "3x5xf32"},
                       {"3x5xf32", "5xf32", "5xf32"}, {x, w, dy});
  expectValues(results.at(0), expected.dx);
  expectValues(results.at(1), expected.dw);
  expectValues(results.at(2), expected.db);
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

// Queries of two heads that share keys, at positions 1 and 2 of four keys,
// each two lanes wide; values are three lanes wide.
constexpr int kQueries = 2, kHeads = 2, kKeys = 4, kWidth = 2, kValues = 3;

struct AttentionGradients {
  const Values &q, &k, &v, &dy;
  Values dq = Values(kQueries * kHeads * kWidth);
  Values dk = Values(kKeys * kWidth), dv = Values(kKeys * kValues);
  Values y, lse;

  /// Scores 2 tanh(q . k / 4), causal, of the last two keys only.
  AttentionGradients(const Tensor &q, const Tensor &k, const Tensor &v,
                     const Tensor &dy)
      : q(q.data()), k(k.data()), v(v.data()), dy(dy.data()) {
    for (int s = 0; s < kQueries; ++s)
      for (int h = 0; h < kHeads; ++h)
        addQuery(s * kHeads + h, s, s + 2);
  }

  /// Query `row` sees keys `from` up to `to`.
  void addQuery(int row, int from, int to) {
    Values bent(kKeys), p(kKeys), dp(kKeys);
    double sum = 0;
    for (int j = from; j < to; ++j) {
      double dot = 0;
      for (int d = 0; d < kWidth; ++d)
        dot += q[row * kWidth + d] * k[j * kWidth + d];
      bent[j] = std::tanh(dot / 4);
      sum += p[j] = std::exp(2 * bent[j]);
    }
    lse.push_back(std::log(sum));
    for (int j = from; j < to; ++j)
      p[j] /= sum;
    for (int e = 0; e < kValues; ++e) {
      double output = 0, gradient = dy[row * kValues + e];
      for (int j = from; j < to; ++j) {
        output += p[j] * v[j * kValues + e];
        dp[j] += gradient * v[j * kValues + e];
        dv[j * kValues + e] += gradient * p[j];
      }
      y.push_back(output);
    }
    for (int j = from; j < to; ++j)
      addScore(row, j, from, to, p, dp, (1 - bent[j] * bent[j]) / 2);
  }

  /// By the softmax's Jacobian p_i ([i = j] - p_j); `slope` is the score's.
  void addScore(int row, int j, int from, int to, const Values &p,
                const Values &dp, double slope) {
    double ds = 0;
    for (int i = from; i < to; ++i)
      ds += dp[i] * p[i] * ((i == j) - p[j]);
    for (int d = 0; d < kWidth; ++d) {
      dq[row * kWidth + d] += ds * slope * k[j * kWidth + d];
      dk[j * kWidth + d] += ds * slope * q[row * kWidth + d];
    }
  }
};

TEST(TrainingOperations, AttentionGradIsTheTransposedJacobian) {
  Tensor q = random({1, kQueries, 1, kHeads, kWidth}, 1),
         k = random({1, kKeys, 1, kWidth}, 2),
         v = random({1, kKeys, 1, kValues}, 3),
         dy = random({1, kQueries, 1, kHeads, kValues}, 4);
  AttentionGradients expected(q, k, v, dy);
  auto results =
      apply("attention_grad",
            "causal, window = 2 : i64, scale = 0.5 : f64, softcap = 2.0 : f64",
            {"1x2x1x2x2xf32", "1x4x1x2xf32", "1x4x1x3xf32", "1xi32",
             "1x2x1x2x3xf32", "1x2x1x2xf32", "1x2x1x2x3xf32"},
            {"1x2x1x2x2xf32", "1x4x1x2xf32", "1x4x1x3xf32"},
            {q, k, v, tensor({1}, {1}),
             tensor({1, kQueries, 1, kHeads, kValues}, expected.y),
             tensor({1, kQueries, 1, kHeads}, expected.lse), dy});
  expectValues(results.at(0), expected.dq);
  expectValues(results.at(1), expected.dk);
  expectValues(results.at(2), expected.dv);
}

TEST(TrainingOperations, AttentionGradCountsItsFiveProducts) {
  Fixture fixture;
  auto module = fixture.parse(
      "func.func @f(%q: tensor<2x3x1x4x5xf32>, %k: tensor<2x7x1x5xf32>, %v: "
      "tensor<2x7x1x6xf32>, %p: tensor<2xi32>, %y: tensor<2x3x1x4x6xf32>, %s: "
      "tensor<2x3x1x4xf32>) {\n"
      "%r:3 = tandem.attention_grad %q, %k, %v, %p, %y, %s, %y {scale = 1.0 : "
      "f64} : (tensor<2x3x1x4x5xf32>, tensor<2x7x1x5xf32>, "
      "tensor<2x7x1x6xf32>, tensor<2xi32>, tensor<2x3x1x4x6xf32>, "
      "tensor<2x3x1x4xf32>, tensor<2x3x1x4x6xf32>) -> (tensor<2x3x1x4x5xf32>, "
      "tensor<2x7x1x5xf32>, tensor<2x7x1x6xf32>)\nreturn\n}");
  ASSERT_TRUE(module) << fixture.errors();
  module->walk([&](CostOpInterface op) {
    EXPECT_EQ(op.getFlops(), 2u * (2 * 3 * 4) * 7 * (3 * 5 + 2 * 6));
  });
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

std::vector<Tensor> adamw(const std::string &attributes, const Values &p,
                          const Values &m, const Values &v, const Values &g,
                          const Values &scalars) {
  std::vector<std::string> types(4, "2xf32");
  std::vector<Tensor> inputs = {tensor({2}, p), tensor({2}, m), tensor({2}, v),
                                tensor({2}, g)};
  for (double scalar : scalars) {
    types.push_back("f32");
    inputs.push_back(tensor({}, {scalar}));
  }
  types.back() = "i32";
  return apply("adamw", attributes, types, {"2xf32", "2xf32", "2xf32"}, inputs);
}

TEST(TrainingOperations, TheFirstStepOfAdamWIsOneOfTheLearningRate) {
  // Whatever the gradient's size: m / sqrt(v) is its sign.
  auto results = adamw("", {1, 1}, {0, 0}, {0, 0}, {8, -0.5},
                       {0.5, 0.25, 0.75, 0.5, 0, 100, 1});
  expectValues(results.at(0), {0.75, 1.25});
  expectValues(results.at(1), {1, -0.0625});
  expectValues(results.at(2), {8, 0.03125});
}

TEST(TrainingOperations, AdamWDecaysAndCorrectsItsMeans) {
  // Step 2: means are divided by 1 - 1/4 and 1 - 9/16; with the decay the
  // weight is halved first.
  auto results = adamw("decay", {4, 4}, {1, 1}, {0.75, 1.5}, {2, -5},
                       {1, 0.25, 0.5, 0.75, 0.5, 2, 2});
  double v0 = 0.75 * 0.75 + 0.25 * 4, v1 = 0.75 * 1.5 + 0.25 * 25;
  auto moved = [](double m, double v) {
    return 2 - 0.25 * (m * 4 / 3) / (std::sqrt(v * 16 / 7) + 0.5);
  };
  expectValues(results.at(0), {moved(1.5, v0), moved(-2, v1)});
  expectValues(results.at(1), {1.5, -2});
  expectValues(results.at(2), {v0, v1});
}

TEST(TrainingOperations, SgdFollowsItsMomentum) {
  for (bool decay : {false, true}) {
    auto results =
        apply("sgd", decay ? "decay" : "",
              {"2xf32", "2xf32", "2xf32", "f32", "f32", "f32", "f32"},
              {"2xf32", "2xf32"},
              {tensor({2}, {1, 2}), tensor({2}, {4, -4}), tensor({2}, {10, 20}),
               tensor({}, {0.5}), tensor({}, {0.25}), tensor({}, {0.75}),
               tensor({}, {2})});
    // 3/4 of the momentum, half of the gradient, and twice the weight.
    Values m = decay ? Values{3 + 5 + 2, -3 + 10 + 4} : Values{8, 7};
    expectValues(results.at(1), m);
    expectValues(results.at(0), {1 - m[0] / 4, 2 - m[1] / 4});
  }
}

//===----------------------------------------------------------------------===//
// Numbers of a step: tensors without dimensions
//===----------------------------------------------------------------------===//

TEST(TrainingOperations, TensorsWithoutDimensions) {
  struct Case {
    const char *operation, *result;
    Values expected;
  };
  const Case cases[] = {
      {"sum %a, %b, %a : tensor<f32>", "f32", {8}},
      {"binary div, %b, %a : tensor<f32>", "f32", {2 / 3.0}},
      {"binary min, %a, %b : tensor<f32>", "f32", {2}},
      {"unary sqrt, %b : tensor<f32>", "f32", {M_SQRT2}},
      {"compare gt, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>",
       "i1",
       {1}},
      {"select %c, %a, %b : (tensor<i1>, tensor<f32>, tensor<f32>) -> "
       "tensor<f32>",
       "f32",
       {2}},
      {"cast %a : (tensor<f32>) -> tensor<i32>", "i32", {3}},
      {"einsum \"ij,ij->\" %x, %x : (tensor<1x2xf32>, tensor<1x2xf32>) -> "
       "tensor<f32>",
       "f32",
       {41}},
      {"einsum \",i->i\" %a, %y : (tensor<f32>, tensor<2xf32>) -> "
       "tensor<2xf32>",
       "2xf32",
       {21, 24}},
      {"reduce max, %x [0, 1] : (tensor<1x2xf32>) -> tensor<f32>", "f32", {5}},
      {"broadcast_in_dim %a [] : (tensor<f32>) -> tensor<2xf32>",
       "2xf32",
       {3, 3}},
      {"reshape %a : (tensor<f32>) -> tensor<1x1xf32>", "1x1xf32", {3}},
      {"accumulate %a : (tensor<f32>) -> tensor<f32>", "f32", {3}},
  };
  for (const Case &c : cases) {
    SCOPED_TRACE(c.operation);
    std::string type = "tensor<" + std::string(c.result) + ">";
    Fixture fixture;
    auto results = fixture.run(
        "func.func @f(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i1>, %x: "
        "tensor<1x2xf32>, %y: tensor<2xf32>) -> " +
            type + " {\n%r = tandem." + c.operation + "\nreturn %r : " + type +
            "\n}\n",
        {tensor({}, {3}), tensor({}, {2}), tensor({}, {0}),
         tensor({1, 2}, {4, 5}), tensor({2}, {7, 8})});
    ASSERT_EQ(results.size(), 1u);
    expectValues(results[0], c.expected);
  }
}

} // namespace

#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>

using namespace tandem;

namespace {

const DType kFloats[] = {DType::F32, DType::F64, DType::BF16, DType::F16};
constexpr double kEpsilon = 1e-2;

double tolerance(DType type) {
  return type == DType::F64 ? 1e-12 : type == DType::F32 ? 2e-5 : 1e-2;
}

struct NormCase {
  bool centred;
  DType type;
  int64_t outer, rows, d;
  double offset = 0;
  bool biased = true;
};

/// Gradients by the definition of the norm alone: with y_i = f_i(x), dx_j is
/// the sum over i of dy_i df_i/dx_j, df_i/dx_j = w_i (delta_ij - 1/n - n_i n_j
/// / n) / s for layer_norm.
class NormGradients {
public:
  explicit NormGradients(const NormCase &c)
      : c(c), x(c.type, shape()), w(DType::F32, {extent(c.d, 3)}),
        dy(c.type, shape()), dx(c.type, shape()),
        dw(sumType(), {extent(c.d, 3)}), db(sumType(), {extent(c.d, 3)}) {
    std::mt19937 generator(3);
    x.random(generator, -2, 3);
    w.random(generator, -1, 1);
    dy.random(generator, -1, 1);
  }

  void run() {
    TestCall call{c.centred ? "layer_norm_grad" : "rms_norm_grad",
                  {&x, &w, &dy},
                  {&dx, &dw},
                  {bitsOf(kEpsilon)},
                  ""};
    if (!c.centred)
      call.numbers.push_back(bitsOf(c.offset));
    if (c.centred && c.biased)
      call.outputs.push_back(&db);
    Status status = call.run();
    ASSERT_TRUE(status.ok()) << status.message();
    std::vector<double> wantW(c.d), wantB(c.d);
    std::vector<double> wantX(c.outer * c.rows * c.d);
    for (int64_t o = 0; o < c.outer; ++o)
      for (int64_t r = 0; r < c.rows; ++r)
        reference(o, r, &wantX[(o * c.rows + r) * c.d], wantW, wantB);
    double bound = tolerance(c.type);
    expectLanes(
        dx,
        [&](const Index &i) {
          return wantX[(i[0] * c.rows + i[1]) * c.d + i[2]];
        },
        bound);
    double sums = c.type == DType::F64 ? bound : 2e-5;
    expectLanes(dw, [&](const Index &i) { return wantW[i[0]]; }, sums);
    if (c.centred && c.biased)
      expectLanes(db, [&](const Index &i) { return wantB[i[0]]; }, sums);
  }

private:
  std::vector<TensorDim> shape() const {
    return {extent(c.outer, 1), extent(c.rows, 2), extent(c.d, 3)};
  }
  DType sumType() const { return c.type == DType::F64 ? c.type : DType::F32; }

  void reference(int64_t o, int64_t r, double *wantX,
                 std::vector<double> &wantW, std::vector<double> &wantB) {
    int64_t n = c.d;
    std::vector<double> normal(n), up(n);
    double mean = 0, variance = 0;
    for (int64_t i = 0; i < n; ++i)
      mean += c.centred ? x.at({o, r, i}) / n : 0;
    for (int64_t i = 0; i < n; ++i)
      variance += std::pow(x.at({o, r, i}) - mean, 2) / n;
    double scale = 1 / std::sqrt(variance + kEpsilon);
    for (int64_t i = 0; i < n; ++i) {
      normal[i] = (x.at({o, r, i}) - mean) * scale;
      up[i] = dy.at({o, r, i});
      wantW[i] += up[i] * normal[i];
      wantB[i] += up[i];
    }
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < n; ++i) {
        double slope =
            (i == j) - (c.centred ? 1.0 / n : 0) - normal[i] * normal[j] / n;
        wantX[j] += up[i] * (c.offset + w.at({i})) * slope * scale;
      }
  }

  NormCase c;
  TestTensor x, w, dy, dx, dw, db;
};

void runCase(const NormCase &c) {
  SCOPED_TRACE((c.centred ? "layer " : "rms ") + std::string(name(c.type)) +
               " " + std::to_string(c.rows) + " x " + std::to_string(c.d));
  NormGradients(c).run();
}

TEST(NormGrad, RmsNorm) {
  for (DType type : kFloats)
    for (int64_t d : {1, 23, 96})
      runCase({false, type, 3, 5, d, 1.0});
  runCase({false, DType::F32, 2, 3, 600});
}

TEST(NormGrad, LayerNorm) {
  for (DType type : kFloats)
    for (bool biased : {false, true})
      for (int64_t d : {2, 23, 96})
        runCase({true, type, 3, 5, d, 0, biased});
  runCase({true, DType::F32, 2, 3, 600});
}

TEST(NormGrad, ManyRowsInPieces) {
  for (bool centred : {false, true}) {
    runCase({centred, DType::F32, 3, 67, 19});
    runCase({centred, DType::F64, 3, 67, 19});
    runCase({centred, DType::F32, 31, 83, 5}); // more than the most pieces
  }
}

TEST(NormGrad, NoRowsGiveZeroSums) {
  runCase({false, DType::F32, 3, 0, 19});
  runCase({true, DType::F32, 0, 2, 19});
}

TEST(NormGrad, Refusals) {
  TestTensor x(DType::F32, {extent(3), extent(8)}), w(DType::F32, {extent(8)});
  TestTensor dx(DType::F32, x.dims()), dw(DType::F32, {extent(7)});
  TestCall call{
      "rms_norm_grad", {&x, &w, &x}, {&dx, &dw}, {bitsOf(0), bitsOf(0)}, ""};
  EXPECT_EQ(call.check().message(),
            "rms_norm_grad: dimension 0 of output 1 is 7 but dimension -1 of "
            "input 0 is 8");
  call.outputs = {&dx};
  EXPECT_EQ(call.check().message(), "rms_norm_grad: got 1 outputs, expected 2");
  call.kernel = "layer_norm_grad";
  call.outputs = {&dx, &w};
  EXPECT_EQ(call.check().message(),
            "layer_norm_grad: got 2 numbers, expected 3");
  call.numbers = {bitsOf(0)};
  EXPECT_TRUE(call.check().ok());
}

} // namespace

//===- MlpSketch.h - A two-layer perceptron as a plan -----------*- C++ -*-===//
//
//   h = relu(x w1^T),  y = h w2^T      x [b, d], w1 [f, d], w2 [o, f]
//
// on tp ranks (f split, y reduced) or on two stages (h sent). Weights and
// inputs follow from their indices; `expectedY` computes y in float64.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_EXEC_MLPSKETCH_H
#define TANDEM_TEST_UNIT_EXEC_MLPSKETCH_H

#include "runtime/kernels/MapOp.h"
#include "test/unit/exec/PlanSketch.h"

#include <cmath>

namespace tandem {

struct Mlp {
  int64_t b = 3, d = 5, f = 7, o = 4;

  static double weight1(const std::vector<int64_t> &i) {
    return std::sin(static_cast<double>(3 * i[0] + 7 * i[1] + 1));
  }
  static double weight2(const std::vector<int64_t> &i) {
    return std::cos(static_cast<double>(5 * i[0] + 2 * i[1]));
  }
  static double input(const std::vector<int64_t> &i) {
    return std::sin(static_cast<double>(i[0] * 11 + i[1]));
  }
  double expectedY(const std::vector<int64_t> &at) const {
    double y = 0;
    for (int64_t j = 0; j < f; ++j) {
      double h = 0;
      for (int64_t k = 0; k < d; ++k)
        h += input({at[0], k}) * weight1({j, k});
      y += std::max(h, 0.0) * weight2({at[1], j});
    }
    return y;
  }

  ShardingRule einsum(const char *equation, char reduced,
                      std::vector<std::vector<int64_t>> operands,
                      std::vector<std::vector<int64_t>> results) const {
    RuleBuilder rule(equation);
    rule.kind(reduced, FactorKind::Reduction).linear(0).linear(1);
    return rule.build(operands, results);
  }
  ShardingRule first() const {
    return einsum("bd,fd->bf", 'd', {{b, d}, {f, d}}, {{b, f}});
  }
  ShardingRule second() const {
    return einsum("bf,of->bo", 'f', {{b, f}, {o, f}}, {{b, o}});
  }
  ShardingRule relu() const {
    return RuleBuilder("bf->bf").build({{b, f}}, {{b, f}});
  }
  static std::vector<int64_t> reluNumbers() {
    return {kMapInput, 0, kMapRelu, 0};
  }

  /// Column-parallel, row-parallel, one all-reduce.
  Plan tensorParallel(int64_t tp) const {
    PlanSketch sketch(("tp=" + std::to_string(tp)).c_str());
    uint32_t w1 = sketch.parameter("w1", sketch.type({f, d}, "[{\"tp\"}, {}]"));
    uint32_t w2 = sketch.parameter("w2", sketch.type({o, f}, "[{}, {\"tp\"}]"));
    TensorType hidden = sketch.type({b, f}, "[{}, {\"tp\"}]");
    TensorType partial = sketch.type({b, o}, "[{}, {}], unreduced={\"tp\"}");
    TensorType whole = sketch.type({b, o}, "[{}, {}]");
    sketch.entry("forward");
    uint32_t x = sketch.input("x", sketch.type({b, d}, "[{}, {}]"));
    uint32_t h = sketch.value(0, hidden), g = sketch.value(0, hidden);
    uint32_t p = sketch.value(0, partial), y = sketch.value(0, whole);
    sketch.launch(0, "einsum", first(), {x, sketch.use(0, w1)}, {h}, {},
                  {0, "mlp.up"});
    sketch.launch(0, "map", relu(), {h}, {g}, reluNumbers(), {0, "mlp.act"});
    sketch.launch(0, "einsum", second(), {g, sketch.use(0, w2)}, {p}, {},
                  {0, "mlp.down"});
    uint64_t bytes = static_cast<uint64_t>(tp * ((b * o + tp - 1) / tp) * 4);
    sketch.collective(0, fb::Opcode::AllReduce, {sketch.axis("tp")}, p, y, 0, 0,
                      bytes, {0, "mlp.reduce"});
    sketch.output("y", whole, {y});
    return sketch.finish();
  }

  /// Stage 0 makes h and sends it, stage 1 makes y.
  Plan pipelined() const {
    PlanSketch sketch("pp=2");
    TensorType hidden = sketch.type({b, f}, "[{}, {}]");
    TensorType whole = sketch.type({b, o}, "[{}, {}]");
    uint32_t w1 = sketch.parameter("w1", sketch.type({f, d}, "[{}, {}]"), {0});
    uint32_t w2 = sketch.parameter("w2", sketch.type({o, f}, "[{}, {}]"), {1});
    sketch.entry("forward");
    uint32_t x = sketch.input("x", sketch.type({b, d}, "[{}, {}]"));
    uint32_t h = sketch.value(0, hidden), g = sketch.value(0, hidden);
    sketch.launch(0, "einsum", first(), {x, sketch.use(0, w1)}, {h});
    sketch.launch(0, "map", relu(), {h}, {g}, reluNumbers());
    sketch.send(0, g, 1);
    uint32_t r = sketch.value(1, hidden), y = sketch.value(1, whole);
    sketch.receive(1, r, 0);
    sketch.launch(1, "einsum", second(), {r, sketch.use(1, w2)}, {y});
    sketch.output("y", whole, {kNone, y});
    return sketch.finish();
  }
};

} // namespace tandem

#endif // TANDEM_TEST_UNIT_EXEC_MLPSKETCH_H

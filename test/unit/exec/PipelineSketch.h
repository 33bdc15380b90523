//===- PipelineSketch.h - A step of training as a plan ----------*- C++ -*-===//
//
// Two stages, M microbatches of rows x [M, b, d]; weights w1 [f, d] and
// w2 [o, f]:
//
//   stage 0   forward    h = x w1^T,  r = h * h        send r
//   stage 1   forward    y = r w2^T
//             backward   g2 += y^T r,  dr = y w2       send dr
//   stage 0   backward   g1 += (h * dr)^T x
//   both      epilogue   w = w - g / 2, in place
//
// h, r and y live in slots. `Order` says how the actions follow each other.
// With `streams` transfers are on streams of their own, between events; without
// them a forward that is sent ahead would wait for a backward that waits for
// it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_EXEC_PIPELINESKETCH_H
#define TANDEM_TEST_UNIT_EXEC_PIPELINESKETCH_H

#include "runtime/kernels/MapOp.h"
#include "test/unit/exec/PlanSketch.h"

#include <cstring>

namespace tandem {

struct Pipeline {
  enum class Order { GPipe, OneForwardOneBackward };

  int64_t b = 3, d = 5, f = 4, o = 2;
  uint32_t microbatches = 3;
  Order order = Order::OneForwardOneBackward;
  bool streams = true;

  static double input(int64_t m, int64_t row, int64_t col) {
    return static_cast<double>((7 * m + 3 * row + 5 * col) % 11 - 5) / 8;
  }
  static double weight1(const std::vector<int64_t> &i) {
    return static_cast<double>((3 * i[0] + 2 * i[1]) % 7 - 3) / 4;
  }
  static double weight2(const std::vector<int64_t> &i) {
    return static_cast<double>((5 * i[0] + i[1]) % 5 - 2) / 4;
  }

  /// What w1 and w2 are after some steps, in float64.
  struct Weights {
    std::vector<double> w1, w2;
  };
  Weights expected(int steps) const {
    Weights now = initial();
    for (; steps > 0; --steps) {
      Weights next = now;
      for (uint32_t m = 0; m < microbatches; ++m)
        for (int64_t row = 0; row < b; ++row)
          addRow(m, row, now, next);
      now = next;
    }
    return now;
  }

  PlanSketch sketch() const {
    PlanSketch s("pp=2");
    Types t(s, *this);
    uint32_t w1 = s.parameter("w1", t.w1, {0}),
             w2 = s.parameter("w2", t.w2, {1});
    for (auto &parameter : s.builder.plan.parameters)
      parameter->trained = true;
    s.entry("train");
    s.microbatches(microbatches);
    uint32_t x = s.input("x", t.x);
    uint32_t g1 = first(s, t, w1, x), g2 = second(s, t, w2);
    s.output("grad.w1", t.w1, {g1, kNone}, w1);
    s.output("grad.w2", t.w2, {kNone, g2}, w2);
    s.schedule(0, items(microbatches > 1 ? 1 : 0));
    s.schedule(1, items(0));
    return s;
  }

private:
  struct Types {
    Types(const PlanSketch &s, const Pipeline &p)
        : x(s.type({p.microbatches, p.b, p.d}, "[{}, {}, {}]")),
          slice(s.type({p.b, p.d}, "[{}, {}]")),
          hidden(s.type({p.b, p.f}, "[{}, {}]")),
          y(s.type({p.b, p.o}, "[{}, {}]")), w1(s.type({p.f, p.d}, "[{}, {}]")),
          w2(s.type({p.o, p.f}, "[{}, {}]")) {}
    TensorType x, slice, hidden, y, w1, w2;
  };

  /// Slots that a stage needs when `ahead` forwards run before a backward.
  uint32_t slots(uint32_t ahead) const {
    return order == Order::GPipe ? microbatches : ahead + 1;
  }

  /// Prologue, forwards and backwards, epilogue.
  std::vector<fb::ScheduleItem> items(uint32_t ahead) const {
    uint32_t count = slots(ahead), forward = 0, backward = 0;
    std::vector<fb::ScheduleItem> list = {{0, 0, 0}};
    while (backward < microbatches) {
      while (forward < microbatches && forward - backward < count) {
        list.emplace_back(1, forward, forward % count);
        ++forward;
      }
      list.emplace_back(2, backward, backward % count);
      ++backward;
    }
    list.emplace_back(3, 0, 0);
    return list;
  }

  std::vector<double> matrix(int64_t rows, int64_t cols,
                             double (*at)(const std::vector<int64_t> &)) const {
    std::vector<double> values;
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        values.push_back(at({i, j}));
    return values;
  }
  Weights initial() const {
    return {matrix(f, d, weight1), matrix(o, f, weight2)};
  }

  void addRow(uint32_t m, int64_t row, const Weights &now,
              Weights &next) const {
    std::vector<double> h(f, 0), y(o, 0), dr(f, 0);
    for (int64_t j = 0; j < f; ++j)
      for (int64_t k = 0; k < d; ++k)
        h[j] += input(m, row, k) * now.w1[j * d + k];
    for (int64_t i = 0; i < o; ++i)
      for (int64_t j = 0; j < f; ++j)
        y[i] += h[j] * h[j] * now.w2[i * f + j];
    for (int64_t i = 0; i < o; ++i)
      for (int64_t j = 0; j < f; ++j) {
        dr[j] += y[i] * now.w2[i * f + j];
        next.w2[i * f + j] -= y[i] * h[j] * h[j] / 2;
      }
    for (int64_t j = 0; j < f; ++j)
      for (int64_t k = 0; k < d; ++k)
        next.w1[j * d + k] -= h[j] * dr[j] * input(m, row, k) / 2;
  }

  //===--- Instructions ---------------------------------------------------===//

  using Numbers = std::vector<int64_t>;

  static int64_t bits(double number) {
    int64_t word;
    std::memcpy(&word, &number, sizeof word);
    return word;
  }

  static void einsum(PlanSketch &s, uint32_t stage, const char *equation,
                     char reduced, uint32_t a, const TensorType &ta, uint32_t w,
                     const TensorType &tw, uint32_t out,
                     const TensorType &tout) {
    RuleBuilder rule(equation);
    rule.kind(reduced, FactorKind::Reduction).linear(0).linear(1);
    s.launch(stage, "einsum", rule.build({ta.shape, tw.shape}, {tout.shape}),
             {a, w}, {out}, {}, {0, equation});
  }

  /// Elementwise on two tensors of one shape, in place of the first or not.
  static void map(PlanSketch &s, uint32_t stage, const TensorType &type,
                  uint32_t a, uint32_t other, uint32_t out, Numbers numbers,
                  const char *location) {
    ShardingRule rule =
        RuleBuilder("ij,ij->ij").build({type.shape, type.shape}, {type.shape});
    s.launch(stage, "map", rule, {a, other}, {out}, numbers, {0, location});
  }

  static Numbers multiply() { return {kMapInput, 0, kMapInput, 1, kMapMul, 0}; }
  static Numbers add() { return {kMapInput, 0, kMapInput, 1, kMapAdd, 0}; }
  static Numbers subtractHalf() {
    return {kMapInput, 0,       kMapInput, 1,       kMapConst,
            bits(0.5), kMapMul, 0,         kMapSub, 0};
  }

  static void zeros(PlanSketch &s, uint32_t stage, const TensorType &type,
                    uint32_t out) {
    s.launch(stage, "fill", RuleBuilder("->ij").build({}, {type.shape}), {},
             {out}, {bits(0)}, {0, "zeros"});
  }

  /// What surrounds the body: zeros before, the weight's update behind.
  uint32_t beginStage(PlanSketch &s, uint32_t stage,
                      const TensorType &type) const {
    uint32_t g = s.value(stage, type);
    zeros(s, stage, type, g);
    if (streams) // Nothing was sent yet.
      s.order(stage, fb::Opcode::Record, 1, stage == 0 ? 1 : 3);
    s.endAction(stage, "prologue");
    return g;
  }
  static void endStage(PlanSketch &s, uint32_t stage, const TensorType &type,
                       uint32_t parameter, uint32_t w, uint32_t g) {
    map(s, stage, type, w, g, s.use(stage, parameter), subtractHalf(),
        "update");
    s.endAction(stage, "epilogue");
  }

  /// Sends and receives, on streams of their own where asked for: `event`
  /// tells the transfer's stream that it may begin, or the others that it is
  /// done; `freed` that what is received over was used.
  void sendOn(PlanSketch &s, uint32_t stage, uint32_t value, uint32_t event,
              const char *location) const {
    if (streams) {
      s.order(stage, fb::Opcode::Record, 0, event);
      s.order(stage, fb::Opcode::Wait, 1, event);
    }
    s.send(stage, value, 1 - stage, {uint16_t(streams ? 1 : 0), location});
    if (streams)
      s.order(stage, fb::Opcode::Record, 1, event + 1);
  }
  void receiveOn(PlanSketch &s, uint32_t stage, uint32_t value, uint32_t event,
                 const char *location) const {
    if (streams) {
      s.order(stage, fb::Opcode::Record, 0, event);
      s.order(stage, fb::Opcode::Wait, 2, event);
    }
    s.receive(stage, value, 1 - stage, {uint16_t(streams ? 2 : 0), location});
    if (streams) {
      s.order(stage, fb::Opcode::Record, 2, event + 1);
      s.order(stage, fb::Opcode::Wait, 0, event + 1);
    }
  }

  uint32_t first(PlanSketch &s, const Types &t, uint32_t parameter,
                 uint32_t whole) const {
    uint32_t p = s.pool(0, slots(microbatches > 1 ? 1 : 0));
    uint32_t h = s.slotValue(0, p, t.hidden), r = s.slotValue(0, p, t.hidden);
    s.placePool(0, p);
    uint32_t x = s.slice(0, whole, t.slice), w = s.use(0, parameter);
    uint32_t g = beginStage(s, 0, t.w1);
    einsum(s, 0, "bd,fd->bf", 'd', x, t.slice, w, t.w1, h, t.hidden);
    map(s, 0, t.hidden, h, h, r, multiply(), "square");
    sendOn(s, 0, r, 0, "boundary");
    s.endAction(0, "forward.0", p);
    uint32_t dr = s.value(0, t.hidden), dh = s.value(0, t.hidden);
    uint32_t dw = s.value(0, t.w1);
    receiveOn(s, 0, dr, 2, "boundary backward");
    map(s, 0, t.hidden, h, dr, dh, multiply(), "square backward");
    einsum(s, 0, "bf,bd->fd", 'b', dh, t.hidden, x, t.slice, dw, t.w1);
    map(s, 0, t.w1, g, dw, g, add(), "accumulate");
    if (streams) // The slot is free only when it was sent.
      s.order(0, fb::Opcode::Wait, 0, 1);
    s.endAction(0, "backward.0", p);
    endStage(s, 0, t.w1, parameter, w, g);
    return g;
  }

  uint32_t second(PlanSketch &s, const Types &t, uint32_t parameter) const {
    uint32_t p = s.pool(1, slots(0));
    uint32_t r = s.slotValue(1, p, t.hidden), y = s.slotValue(1, p, t.y);
    s.placePool(1, p);
    uint32_t w = s.use(1, parameter), g = beginStage(s, 1, t.w2);
    receiveOn(s, 1, r, 0, "boundary");
    einsum(s, 1, "bf,of->bo", 'f', r, t.hidden, w, t.w2, y, t.y);
    s.endAction(1, "forward.1", p);
    uint32_t dw = s.value(1, t.w2), dr = s.value(1, t.hidden);
    einsum(s, 1, "bo,bf->of", 'b', y, t.y, r, t.hidden, dw, t.w2);
    map(s, 1, t.w2, g, dw, g, add(), "accumulate");
    if (streams) // What was sent before lies in the same bytes.
      s.order(1, fb::Opcode::Wait, 0, 3);
    einsum(s, 1, "bo,of->bf", 'o', y, t.y, w, t.w2, dr, t.hidden);
    sendOn(s, 1, dr, 2, "boundary backward");
    s.endAction(1, "backward.1", p);
    endStage(s, 1, t.w2, parameter, w, g);
    return g;
  }
};

} // namespace tandem

#endif // TANDEM_TEST_UNIT_EXEC_PIPELINESKETCH_H

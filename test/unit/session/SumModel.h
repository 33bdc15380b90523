//===- SumModel.h - A model whose next id is a sum, for tests ---*- C++ -*-===//
//
// Its cache holds the ids themselves and the next id is the sum of all ids so
// far, modulo 17: so that a test knows the continuation of any prompt, and an
// id missing from the cache, or there twice, shows at once.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_SESSION_SUMMODEL_H
#define TANDEM_TEST_UNIT_SESSION_SUMMODEL_H

#include "runtime/kernels/MapOp.h"
#include "test/unit/exec/PlanSketch.h"

#include <cstring>

namespace tandem {

struct SumModel {
  static constexpr int64_t vocabulary = 17;
  int64_t batch = 1, maxSequence = 40;
  std::vector<int64_t> chunks = {4, 16};
  const char *mesh = "tp=2";

  /// The cache is split along the sequence over tp.
  Plan plan() const {
    PlanSketch sketch(mesh);
    sketch.builder.fact("max_seq", std::to_string(maxSequence));
    sketch.builder.fact("vocab_size", std::to_string(vocabulary));
    uint32_t cache =
        sketch.state("cache", integers(sketch, {batch, maxSequence}, true));
    for (int64_t chunk : chunks) {
      sketch.entry("prefill_" + std::to_string(chunk));
      update(sketch, cache, chunk);
    }
    sketch.entry("decode");
    next(sketch, update(sketch, cache, 1));
    return sketch.finish();
  }

  static std::vector<int64_t> continuation(std::vector<int64_t> ids,
                                           int64_t count) {
    std::vector<int64_t> made;
    for (int64_t i = 0; i < count; ++i) {
      int64_t sum = 0;
      for (int64_t id : ids)
        sum += id;
      made.push_back(sum % vocabulary);
      ids.push_back(made.back());
    }
    return made;
  }

private:
  static TensorType integers(const PlanSketch &sketch,
                             std::vector<int64_t> shape, bool split = false) {
    return sketch.type(shape,
                       shape.size() == 1 ? "[{}]"
                       : split           ? "[{}, {\"tp\"}]"
                                         : "[{}, {}]",
                       DType::I32);
  }

  /// Puts the entry's ids into the cache; returns the cache's value.
  uint32_t update(PlanSketch &sketch, uint32_t cache, int64_t chunk) const {
    uint32_t ids = sketch.input("input_ids", integers(sketch, {batch, chunk}));
    uint32_t positions = sketch.input("positions", integers(sketch, {batch}));
    uint32_t lengths = sketch.input("lengths", integers(sketch, {batch}));
    ShardingRule rule =
        RuleBuilder("bt,bs,b,b->bt")
            .kind('s', FactorKind::MustReplicate)
            .build({{batch, maxSequence}, {batch, chunk}, {batch}, {batch}},
                   {{batch, maxSequence}});
    uint32_t in = sketch.useState(0, cache), out = sketch.useState(0, cache);
    sketch.launch(0, "update_slice", rule, {in, ids, positions, lengths},
                  {out});
    // So that what was left of the last text does not count: ids beyond the
    // position are masked by what reads the cache.
    clearBeyond(sketch, out, positions, lengths);
    return out;
  }

  /// cache[b, t] = t < positions[b] + lengths[b] ? cache[b, t] : 0
  void clearBeyond(PlanSketch &sketch, uint32_t cache, uint32_t positions,
                   uint32_t lengths) const {
    TensorType type = integers(sketch, {batch, maxSequence}, true);
    uint32_t places = sketch.value(0, type);
    ShardingRule make = RuleBuilder("->bt").build({}, {{batch, maxSequence}});
    sketch.launch(0, "iota", make, {}, {places}, {1, bits(0), bits(1)});
    ShardingRule rule =
        RuleBuilder("bt,bt,b,b->bt")
            .build(
                {{batch, maxSequence}, {batch, maxSequence}, {batch}, {batch}},
                {{batch, maxSequence}});
    sketch.launch(0, "map", rule, {cache, places, positions, lengths}, {cache},
                  {kMapInput, 1, kMapInput, 2, kMapInput, 3, kMapAdd, 0,
                   kMapCmpLt, 0, kMapInput, 0, kMapConst, bits(0), kMapSelect,
                   0});
  }

  void next(PlanSketch &sketch, uint32_t cache) const {
    TensorType whole = integers(sketch, {batch});
    TensorType partial = whole;
    partial.sharding.unreduced = {sketch.axis("tp")};
    uint32_t terms = sketch.value(0, partial), sum = sketch.value(0, whole);
    uint32_t next = sketch.value(0, whole);
    sketch.launch(0, "reduce",
                  RuleBuilder("bt->b")
                      .kind('t', FactorKind::Reduction)
                      .build({{batch, maxSequence}}, {{batch}}),
                  {cache}, {terms}, {0});
    sketch.collective(0, fb::Opcode::AllReduce, {sketch.axis("tp")}, terms, sum,
                      0, 0, 256, {0, "sum"});
    sketch.launch(0, "map", RuleBuilder("b->b").build({{batch}}, {{batch}}),
                  {sum}, {next},
                  {kMapInput, 0, kMapConst, bits(vocabulary), kMapRem, 0});
    sketch.output("next_ids", whole, {next});
  }

  static int64_t bits(double value) {
    int64_t result;
    std::memcpy(&result, &value, sizeof result);
    return result;
  }
};

} // namespace tandem

#endif // TANDEM_TEST_UNIT_SESSION_SUMMODEL_H

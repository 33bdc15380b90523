#include "runtime/session/Bench.h"
#include "test/unit/exec/MlpSketch.h"

#include <cstring>

namespace tandem {
namespace {

TEST(Bench, WorkOfProductsCountsEveryWeightOnce) {
  // 2 b f d + 2 b o f operations on f d + o f weights, however many ranks.
  Mlp mlp;
  for (int64_t tp : {1, 2, 3}) {
    Work work = workOf(mlp.tensorParallel(tp), 0, 0);
    EXPECT_EQ(work.flops, 2 * 3 * 7 * 5 + 2 * 3 * 4 * 7);
    EXPECT_EQ(work.bytes, 4 * (7 * 5 + 4 * 7));
  }
  EXPECT_EQ(workOf(mlp.pipelined(), 0, 0).flops, 378);
  EXPECT_EQ(workOf(mlp.pipelined(), 0, 0).bytes, 252);
}

/// One attention of `s` queries over a cache of 100 keys: 1 key head, 2 query
/// heads, 8 lanes.
Plan attentionPlan(int64_t s, int64_t window) {
  PlanSketch sketch("tp=1");
  TensorType query = sketch.type({1, s, 1, 2, 8}, "[{}, {}, {}, {}, {}]");
  TensorType cache = sketch.type({1, 100, 1, 8}, "[{}, {}, {}, {}]");
  TensorType rows = sketch.type({1}, "[{}]", DType::I32);
  sketch.entry("attend");
  uint32_t q = sketch.input("q", query), k = sketch.input("k", cache);
  uint32_t v = sketch.input("v", cache), p = sketch.input("p", rows);
  uint32_t out = sketch.value(0, query);
  ShardingRule rule =
      RuleBuilder("bskgd,btkd,btke,b->bskge")
          .build({query.shape, cache.shape, cache.shape, {1}}, {query.shape});
  sketch.launch(0, "attention", rule, {q, k, v, p}, {out},
                {0, 1, window, 0, 0});
  sketch.output("out", query, {out});
  return sketch.finish();
}

TEST(Bench, WorkOfAttentionEndsAtTheCausalLimit) {
  // A token at position 9 sees 10 keys: 2 heads, 16 lanes, 2 operations each.
  Work decode = workOf(attentionPlan(1, 0), 0, 9);
  EXPECT_EQ(decode.flops, 10 * 2 * 16 * 2);
  EXPECT_EQ(decode.bytes, 2 * 10 * 8 * 4);
  // Four tokens from 0 on see 1 + 2 + 3 + 4.
  EXPECT_EQ(workOf(attentionPlan(4, 0), 0, 0).flops, 10 * 2 * 16 * 2);
  // A window of 3: 1 + 2 + 3 + 3.
  EXPECT_EQ(workOf(attentionPlan(4, 3), 0, 0).flops, 9 * 2 * 16 * 2);
  EXPECT_EQ(workOf(attentionPlan(1, 3), 0, 50).bytes, 2 * 3 * 8 * 4);
}

} // namespace
} // namespace tandem

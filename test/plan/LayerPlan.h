//===- LayerPlan.h - Plans of a small network, made without a compiler ----===//
//
// A stack of feed-forward layers with a cache, over any mesh of pp, dp and tp:
//
//   ids -> embedding (vocabulary over tp) -> layers -> head -> logits, ids
//   layer:  n = rms_norm x;  cache = update_slice cache, n
//           f = gelu (n w1); x = sum x, all_reduce (f w2)
//
// with sequence parallelism the residual stream is split along the sequence
// and all_reduce becomes reduce_scatter and all_gather. With two streams what
// a collective needs and who needs it wait for events. Buffers are placed by
// first fit over lifetimes. The plans are right by construction; tests mutate
// them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_PLAN_LAYERPLAN_H
#define TANDEM_TEST_PLAN_LAYERPLAN_H

#include "runtime/plan/PlanBuilder.h"

namespace tandem::test {

struct LayerOptions {
  const char *mesh = "tp=2";
  int layers = 2;
  int64_t batch = 4, sequence = 8, width = 16, hidden = 32, vocabulary = 40;
  bool sequenceParallel = false;
  /// Collectives run on a stream of their own, between events.
  bool twoStreams = false;
};

fb::PlanT layerPlan(const LayerOptions &options);

} // namespace tandem::test

#endif // TANDEM_TEST_PLAN_LAYERPLAN_H

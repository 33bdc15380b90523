//===- Bench.h - How near a plan comes to its machine -----------*- C++ -*-===//
//
// Decode reads every weight and the used part of the cache once a token, so
// that it is measured against read bandwidth; prefill multiplies matrices and
// is measured against the sgemm peak. Both peaks are taken in the same run,
// before and after, with as many threads as the ranks have together.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_BENCH_H
#define TANDEM_RUNTIME_SESSION_BENCH_H

#include "runtime/session/Generator.h"

namespace tandem {

/// What one run of an entry has to do at least, over all ranks, every value
/// counted once however many ranks hold it.
struct Work {
  double bytes = 0; ///< Of parameters and cache that are read.
  double flops = 0; ///< Products and attention within the causal limit.
};

/// The work of `entry` where every row's first token is at `position`.
Work workOf(const Plan &plan, uint32_t entry, int64_t position);

struct BenchOptions {
  int64_t prefillTokens = 256; ///< At most; a prefill chunk of the plan.
  int64_t decodeTokens = 32;
  int repeats = 5;
  /// Called before each phase with what comes next.
  std::function<void(const char *phase)> progress;
};

/// Shares are of the machine's peak: 1 is all of it.
struct BenchResult {
  double decodeTokensPerSecond = 0, decodeShare = 0;
  double prefillTokensPerSecond = 0, prefillShare = 0;
  double readGbPerSecond = 0, sgemmGflopPerSecond = 0;
  int64_t prefillTokens = 0; ///< The chunk that was measured, 0: none.
  double bytesPerToken = 0;
};

/// Measures `session`, whose ranks are all on this machine.
Result<BenchResult> bench(Session &session, const BenchOptions &options);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_BENCH_H

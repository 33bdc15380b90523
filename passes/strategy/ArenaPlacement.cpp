#include "passes/strategy/ArenaPlacement.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tandem {
namespace {

int64_t aligned(int64_t bytes, int64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

bool meet(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.first <= b.last && b.first <= a.last;
}

int64_t mostAlive(const ArenaProblem &problem) {
  std::map<int64_t, int64_t> change; // instruction -> bytes more
  for (const ArenaBuffer &buffer : problem.buffers) {
    int64_t bytes = aligned(buffer.bytes, problem.alignment);
    change[buffer.first] += bytes;
    change[buffer.last + 1] -= bytes;
  }
  int64_t alive = 0, most = 0;
  for (auto [at, bytes] : change)
    most = std::max(most, alive += bytes);
  return most;
}

using Order = bool (*)(const ArenaBuffer &, const ArenaBuffer &);

/// Places buffers one after another in `order`, each into the tightest gap
/// between those placed that are alive with it.
ArenaSolution place(const ArenaProblem &problem, Order order) {
  size_t count = problem.buffers.size();
  std::vector<size_t> sequence(count);
  std::iota(sequence.begin(), sequence.end(), 0);
  std::stable_sort(sequence.begin(), sequence.end(), [&](size_t a, size_t b) {
    return order(problem.buffers[a], problem.buffers[b]);
  });
  ArenaSolution solution;
  solution.offsets.assign(count, 0);
  std::vector<size_t> placed; // by offset
  for (size_t index : sequence) {
    const ArenaBuffer &buffer = problem.buffers[index];
    int64_t bytes = aligned(buffer.bytes, problem.alignment);
    int64_t end = 0, best = -1, bestGap = INT64_MAX;
    for (size_t other : placed) {
      if (!meet(buffer, problem.buffers[other]))
        continue;
      int64_t gap = solution.offsets[other] - end;
      if (gap >= bytes && gap < bestGap) {
        best = end;
        bestGap = gap;
      }
      end = std::max(
          end, solution.offsets[other] +
                   aligned(problem.buffers[other].bytes, problem.alignment));
    }
    solution.offsets[index] = best < 0 ? end : best;
    solution.peak = std::max(solution.peak, solution.offsets[index] + bytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), index,
                                   [&](size_t a, size_t b) {
                                     return solution.offsets[a] <
                                            solution.offsets[b];
                                   }),
                  index);
  }
  return solution;
}

bool largeFirst(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.bytes > b.bytes;
}
bool longFirst(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.last - a.first > b.last - b.first;
}
bool earlyFirst(const ArenaBuffer &a, const ArenaBuffer &b) {
  return a.first < b.first;
}

} // namespace

Status ArenaProblem::check() const {
  if (alignment < 1 || (alignment & (alignment - 1)))
    return Status::refused("arena: alignment " + std::to_string(alignment) +
                           " is no power of two");
  for (size_t i = 0; i < buffers.size(); ++i)
    if (buffers[i].bytes < 0 || buffers[i].last < buffers[i].first)
      return Status::refused("arena: buffer " + std::to_string(i) +
                             " has a negative size or life");
  return Status();
}

Status ArenaSolution::verify(const ArenaProblem &problem) const {
  TANDEM_TRY(problem.check());
  if (offsets.size() != problem.buffers.size())
    return Status::refused("arena: places " + std::to_string(offsets.size()) +
                           " buffers of " +
                           std::to_string(problem.buffers.size()));
  for (size_t i = 0; i < offsets.size(); ++i) {
    const ArenaBuffer &a = problem.buffers[i];
    if (offsets[i] < 0 || offsets[i] % problem.alignment ||
        offsets[i] + a.bytes > peak)
      return Status::refused("arena: buffer " + std::to_string(i) +
                             " lies outside the arena or unaligned");
    for (size_t j = 0; j < i; ++j) {
      const ArenaBuffer &b = problem.buffers[j];
      if (meet(a, b) && offsets[i] < offsets[j] + b.bytes &&
          offsets[j] < offsets[i] + a.bytes)
        return Status::refused("arena: buffers " + std::to_string(j) + " and " +
                               std::to_string(i) +
                               " overlap while both are alive");
    }
  }
  if (lowerBound > peak)
    return Status::refused("arena: the lower bound is above the peak");
  return Status();
}

Result<ArenaSolution> solve(const ArenaProblem &problem) {
  TANDEM_TRY(problem.check());
  ArenaSolution best;
  int64_t bound = mostAlive(problem);
  best.peak = INT64_MAX;
  for (Order order : {earlyFirst, largeFirst, longFirst}) {
    ArenaSolution solution = place(problem, order);
    if (solution.peak < best.peak)
      best = std::move(solution);
    if (best.peak == bound)
      break;
  }
  best.lowerBound = bound;
  return best;
}

} // namespace tandem

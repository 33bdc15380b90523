#include "runtime/plan/MemoryLimit.h"
#include "runtime/plan/LivePeak.h"

#include <algorithm>

namespace tandem {
namespace {

constexpr uint64_t kPage = 4096;
/// Of the tensors at the peak, those that a message names.
constexpr size_t kNamed = 5;

std::string bytesOf(uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

/// Where the last of some tables (parameters or states) ends.
template <typename Tables>
uint64_t endOf(const Plan &plan, const Tables &tables, uint32_t stage) {
  uint64_t end = 0;
  for (const auto *table : tables)
    for (uint32_t i = 0; i < table->stages()->size(); ++i)
      if (table->stages()->Get(i) == stage)
        end = std::max(end, table->offsets()->Get(i) +
                                static_cast<uint64_t>(
                                    plan.type(table->type()).localBytes()));
  return end;
}

} // namespace

uint64_t persistentBytes(const Plan &plan, uint32_t stage) {
  const fb::Plan &table = plan.table();
  uint64_t end = std::max(endOf(plan, *table.parameters(), stage),
                          endOf(plan, *table.states(), stage));
  return (end + kPage - 1) / kPage * kPage;
}

uint64_t arenaBytes(const Plan &plan, uint32_t stage) {
  return persistentBytes(plan, stage) +
         plan.table().memory()->Get(stage)->arena_peak();
}

std::string memoryParts(const Plan &plan, uint32_t stage, uint64_t workspace) {
  const fb::Memory &memory = *plan.table().memory()->Get(stage);
  std::string text = "parameters " + bytesOf(memory.parameters()) + ", state " +
                     bytesOf(memory.state()) + ", arena " +
                     bytesOf(memory.arena_peak());
  return workspace ? text + ", workspace " + bytesOf(workspace) : text;
}

std::string peakText(const Plan &plan, uint32_t stage) {
  LivePeak peak = livePeak(plan, stage);
  return "most lives at " + peak.at + ": " + peak.largest(kNamed);
}

Status checkMemoryLimit(const Plan &plan, uint64_t limit,
                        const std::vector<uint64_t> &workspace) {
  for (uint32_t stage = 0; limit && stage < plan.stages(); ++stage) {
    uint64_t extra = workspace.empty() ? 0 : workspace[stage];
    uint64_t total = arenaBytes(plan, stage) + extra;
    if (total > limit)
      return Status::refused(
          "pp " + std::to_string(stage) + " needs " + bytesOf(total) + " (" +
          memoryParts(plan, stage, extra) + "), allowed are " + bytesOf(limit) +
          ": " + std::to_string(total - limit) + " too many; " +
          peakText(plan, stage) +
          "; compile with a smaller --max-seq, --batch or --dtype, with "
          "--recompute or --zero for training, or for more ranks");
  }
  return Status();
}

} // namespace tandem

#include "runtime/comm/mpi/Tags.h"

#include "runtime/comm/control/ActivityTable.h"

namespace tandem {
namespace {

constexpr int wayBits = 6;
static_assert(ActivityTable::channels + TagLayout::lanes <= 1 << wayBits);

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

uint64_t hashCall(const Call &call) {
  // Send and receive are the two ends of one call.
  CallKind kind = call.kind == CallKind::Receive ? CallKind::Send : call.kind;
  uint64_t hash = mix(1, static_cast<uint64_t>(kind));
  hash = mix(hash, static_cast<uint64_t>(call.dtype));
  hash = mix(hash, static_cast<uint64_t>(call.reduction));
  hash = mix(hash, static_cast<uint64_t>(call.root));
  return mix(hash, static_cast<uint64_t>(call.bytes));
}

uint32_t append(uint32_t tag, uint64_t value, int bits) {
  return tag << bits | static_cast<uint32_t>(value & ((1u << bits) - 1));
}

} // namespace

TagLayout::TagLayout(int64_t limit) {
  int bits = 0;
  while (bits < 31 && (int64_t(2) << bits) - 1 <= limit)
    ++bits;
  int free = bits - wayBits;
  groupBits = free * 2 / 5;
  callBits = free * 2 / 5;
  sequenceBits = free - groupBits - callBits;
}

int32_t TagLayout::tag(int way, uint64_t group, uint32_t sequence,
                       const Call &call) const {
  auto tag = static_cast<uint32_t>(way);
  tag = append(tag, group, groupBits);
  tag = append(tag, sequence, sequenceBits);
  tag = append(tag, hashCall(call), callBits);
  return static_cast<int32_t>(tag);
}

uint64_t hashRanks(const std::vector<int64_t> &ranks) {
  uint64_t hash = ranks.size();
  for (int64_t rank : ranks)
    hash = mix(hash, static_cast<uint64_t>(rank));
  return hash;
}

} // namespace tandem

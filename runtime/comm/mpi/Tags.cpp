#include "runtime/comm/mpi/Tags.h"

#include "runtime/comm/control/ActivityTable.h"

namespace tandem {
namespace {

constexpr int channelBits = 5;
static_assert(ActivityTable::channels == 1 << channelBits);

uint32_t lowBits(uint32_t value, int bits) {
  return value & ((1u << bits) - 1);
}

} // namespace

TagLayout::TagLayout(int64_t limit) {
  int bits = 0;
  while (bits < 31 && (int64_t(2) << bits) - 1 <= limit)
    ++bits;
  int free = bits - channelBits;
  sequenceBits = free / 3;
  groupBits = free - sequenceBits;
}

int32_t TagLayout::tag(int channel, uint32_t group, uint32_t sequence) const {
  uint32_t value = static_cast<uint32_t>(channel);
  value = value << groupBits | lowBits(group, groupBits);
  value = value << sequenceBits | lowBits(sequence, sequenceBits);
  return static_cast<int32_t>(value);
}

uint32_t TagLayout::groupKey(const std::vector<int64_t> &members) const {
  uint64_t hash = 0xcbf29ce484222325u; // FNV-1a
  for (int64_t member : members)
    hash = (hash ^ static_cast<uint64_t>(member)) * 0x100000001b3u;
  uint32_t span = (1u << groupBits) - 1;
  return 1 + static_cast<uint32_t>((hash ^ hash >> 32) % span);
}

} // namespace tandem

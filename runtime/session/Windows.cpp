#include "runtime/session/Windows.h"

#include "runtime/kernels/Philox.h"

#include <algorithm>

namespace tandem {
namespace {

uint32_t low(uint64_t wide) { return static_cast<uint32_t>(wide); }
uint32_t high(uint64_t wide) { return static_cast<uint32_t>(wide >> 32); }

} // namespace

EpochOrder::EpochOrder(int64_t size, uint64_t seed, uint64_t epoch)
    : size_(static_cast<uint64_t>(size)), seed_(seed), epoch_(epoch) {
  while ((uint64_t(1) << 2 * halfBits_) < size_)
    ++halfBits_;
}

uint64_t EpochOrder::permute(uint64_t value) const {
  uint64_t mask = (uint64_t(1) << halfBits_) - 1;
  uint64_t left = value >> halfBits_, right = value & mask;
  for (uint32_t round = 0; round < 8; ++round) {
    PhiloxCounter bits = philox({low(right), round, low(epoch_), high(epoch_)},
                                {low(seed_), high(seed_)});
    uint64_t mixed = left ^ (bits[0] & mask);
    left = right;
    right = mixed;
  }
  return left << halfBits_ | right;
}

int64_t EpochOrder::at(int64_t index) const {
  uint64_t value = permute(static_cast<uint64_t>(index));
  while (value >= size_)
    value = permute(value);
  return static_cast<int64_t>(value);
}

Windows::Windows(int64_t tokens, int64_t sequence, uint64_t seed)
    : sequence_(sequence),
      count_(std::max<int64_t>(0, (tokens - 1) / sequence)),
      dropped_(count_ > 0 ? tokens - 1 - count_ * sequence
                          : std::max<int64_t>(0, tokens)),
      seed_(seed) {}

int64_t Windows::begin(int64_t number) const {
  EpochOrder order(count_, seed_, static_cast<uint64_t>(number / count_));
  return order.at(number % count_) * sequence_;
}

} // namespace tandem

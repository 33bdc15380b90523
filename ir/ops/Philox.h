//===- Philox.h - One random number for a (seed, row, position) -*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", 2011): ten rounds of multiplication turn a 128-bit counter and a 64-bit
// key into 128 random bits, so that any number of the sequence is had without
// those before it.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_OPS_PHILOX_H
#define TANDEM_IR_OPS_PHILOX_H

#include <array>
#include <cstdint>

namespace tandem {

/// The four words of `counter` under `key`.
inline std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter,
                                          std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t first = uint64_t(0xD2511F53u) * counter[0];
    uint64_t second = uint64_t(0xCD9E8D57u) * counter[2];
    counter = {uint32_t(second >> 32) ^ counter[1] ^ key[0], uint32_t(second),
               uint32_t(first >> 32) ^ counter[3] ^ key[1], uint32_t(first)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// 53 bits of the first two words as a number in [0, 1): the seed is the key,
/// position and row the counter.
inline double uniformNumber(uint64_t seed, uint64_t row, uint64_t position) {
  auto words = philox4x32(
      {uint32_t(position), uint32_t(position >> 32), uint32_t(row), 0},
      {uint32_t(seed), uint32_t(seed >> 32)});
  uint64_t wide = uint64_t(words[0]) << 32 | words[1];
  return double(wide >> 11) * 0x1p-53;
}

} // namespace tandem

#endif // TANDEM_IR_OPS_PHILOX_H

//===- Philox.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Philox4x32-10: 128 bits of counter and 64 of key give 128 random bits, the
// same everywhere and in any order.
//
//   philox({0, 0, 0, 0}, {0, 0}) = {0x6627e8d5, 0xe169c58d, 0xbc57ac4c,
//   0x9b00dbd8}
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_PHILOX_H
#define TANDEM_RUNTIME_KERNELS_PHILOX_H

#include <array>
#include <cstdint>

namespace tandem {

using PhiloxCounter = std::array<uint32_t, 4>;
using PhiloxKey = std::array<uint32_t, 2>;

inline PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    uint64_t even = uint64_t(0xD2511F53) * counter[0];
    uint64_t odd = uint64_t(0xCD9E8D57) * counter[2];
    counter = {static_cast<uint32_t>(odd >> 32) ^ counter[1] ^ key[0],
               static_cast<uint32_t>(odd),
               static_cast<uint32_t>(even >> 32) ^ counter[3] ^ key[1],
               static_cast<uint32_t>(even)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// 53 random bits as a number in [0, 1).
inline double toUnit(const PhiloxCounter &bits) {
  uint64_t wide = (static_cast<uint64_t>(bits[0]) << 32) | bits[1];
  return static_cast<double>(wide >> 11) * 0x1p-53;
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_PHILOX_H

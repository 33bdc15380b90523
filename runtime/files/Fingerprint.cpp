#include "runtime/files/Fingerprint.h"

#include <cinttypes>
#include <cstdio>

namespace tandem {

std::string Fingerprint::toString() const {
  char text[48];
  std::snprintf(text, sizeof text, "%" PRIu64 ":%016" PRIx64, size, hash);
  return text;
}

uint64_t fnv1a(const std::byte *data, uint64_t size, uint64_t state) {
  for (uint64_t i = 0; i < size; ++i)
    state = (state ^ static_cast<uint64_t>(data[i])) * 0x100000001b3u;
  return state;
}

Fingerprint fingerprintOf(const std::byte *data, uint64_t size) {
  constexpr uint64_t piece = 64 * 1024;
  if (size <= 3 * piece)
    return {size, fnv1a(data, size)};
  uint64_t hash = fnv1a(data, piece);
  hash = fnv1a(data + size / 2 - piece / 2, piece, hash);
  hash = fnv1a(data + size - piece, piece, hash);
  return {size, hash};
}

} // namespace tandem

#include "runtime/files/Checksum.h"

#include <cinttypes>
#include <cstdio>

// Within this file, so that what links the runtime needs no other library.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace tandem {

struct Checksum::State {
  XXH3_state_t inner;
};

Checksum::Checksum() : state(std::make_unique<State>()) {
  XXH3_INITSTATE(&state->inner);
  reset();
}

Checksum::~Checksum() = default;

void Checksum::reset() { XXH3_64bits_reset(&state->inner); }

void Checksum::add(const void *data, size_t size) {
  XXH3_64bits_update(&state->inner, data, size);
}

uint64_t Checksum::value() const { return XXH3_64bits_digest(&state->inner); }

uint64_t checksumOf(const void *data, size_t size) {
  return XXH3_64bits(data, size);
}

std::string checksumText(uint64_t checksum) {
  char text[24];
  std::snprintf(text, sizeof text, "%016" PRIx64, checksum);
  return text;
}

} // namespace tandem

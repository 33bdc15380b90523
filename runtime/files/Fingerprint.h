//===- Fingerprint.h - Tells one weight file from another -------*- C++ -*-===//
//
// A plan remembers the files its weights came from by size and by a hash of
// their first, middle and last 64 KiB: cheap on files of any size, and enough
// to refuse the weights of another model or training step.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_FINGERPRINT_H
#define TANDEM_RUNTIME_FILES_FINGERPRINT_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace tandem {

struct Fingerprint {
  uint64_t size = 0;
  uint64_t hash = 0;

  bool operator==(const Fingerprint &other) const {
    return size == other.size && hash == other.hash;
  }
  bool operator!=(const Fingerprint &other) const { return !(*this == other); }
  /// `SIZE:HASH`, the hash as 16 hexadecimal digits.
  std::string toString() const;
};

/// The 64-bit FNV-1a hash of `size` bytes, continuing from `state`.
uint64_t fnv1a(const std::byte *data, uint64_t size,
               uint64_t state = 0xcbf29ce484222325u);

/// The fingerprint of a file's bytes. Files of up to 192 KiB are hashed whole.
Fingerprint fingerprintOf(const std::byte *data, uint64_t size);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_FINGERPRINT_H

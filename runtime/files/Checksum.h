//===- Checksum.h - Tells changed bytes from written ones -------*- C++ -*-===//
//
// XXH3 of 64 bits (xxHash's specification, seed 0): a change of any bit shows
// but for one chance in 2^64, at the speed of memory, so that checking a
// checkpoint costs no more than reading it. Not against forgery.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CHECKSUM_H
#define TANDEM_RUNTIME_FILES_CHECKSUM_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

/// The checksum of bytes that come one after another.
class Checksum {
public:
  Checksum();
  ~Checksum();
  void add(const void *data, size_t size);
  /// Begins anew.
  void reset();
  uint64_t value() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

uint64_t checksumOf(const void *data, size_t size);
inline uint64_t checksumOf(std::string_view text) {
  return checksumOf(text.data(), text.size());
}
/// 16 hexadecimal digits, as xxhsum prints it.
std::string checksumText(uint64_t checksum);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CHECKSUM_H

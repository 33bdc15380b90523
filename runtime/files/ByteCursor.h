//===- ByteCursor.h - Reads little-endian values in bounds ------*- C++ -*-===//
//
// Steps through bytes that may be cut short anywhere. A read past the end
// yields zero and turns the cursor bad for good, so that a reader checks once
// after a group of reads.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_BYTECURSOR_H
#define TANDEM_RUNTIME_FILES_BYTECURSOR_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tandem {

class ByteCursor {
public:
  explicit ByteCursor(std::string_view bytes) : bytes_(bytes) {}

  bool good() const { return good_; }
  uint64_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  template <typename T> T read() {
    T value{};
    if (need(sizeof value)) {
      std::memcpy(&value, bytes_.data() + position_, sizeof value);
      position_ += sizeof value;
    }
    return value;
  }

  /// The next `size` bytes; empty where fewer are left.
  std::string_view take(uint64_t size) {
    if (!need(size))
      return {};
    std::string_view result = bytes_.substr(position_, size);
    position_ += size;
    return result;
  }

private:
  bool need(uint64_t size) {
    good_ &= size <= remaining();
    return good_;
  }

  std::string_view bytes_;
  uint64_t position_ = 0;
  bool good_ = true;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_BYTECURSOR_H

//===- Frame.h - What control threads say to each other ---------*- C++ -*-===//
//
// A frame is a length, a kind and fields in a fixed order. Bytes are those of
// the machine: a world has machines of one kind. Readers check every length;
// a frame that does not fit its kind closes the connection.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_FRAME_H
#define TANDEM_RUNTIME_COMM_CONTROL_FRAME_H

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

namespace tandem {

enum class FrameKind : uint8_t {
  Hello = 1,     ///< token, rank: opens a connection
  Heartbeat = 2, ///< state
  Question = 3,  ///< origin, number, target: what does `target` do?
  Answer = 4,    ///< origin, number, responder, state
  Fault = 5,     ///< fault
  Crash = 6,     ///< cause, instruction, location: from a signal handler
  Goodbye = 7,   ///< the sender has ended well
};

/// The largest frame that is read; states and faults are far smaller.
constexpr uint32_t largestFrame = 1u << 20;
/// The length (of kind and fields) and the kind.
constexpr size_t frameHeader = sizeof(uint32_t) + 1;

class FrameWriter {
public:
  explicit FrameWriter(FrameKind kind) : bytes(frameHeader, '\0') {
    bytes[sizeof(uint32_t)] = static_cast<char>(kind);
  }
  template <typename T> FrameWriter &put(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes.append(reinterpret_cast<const char *>(&value), sizeof value);
    return *this;
  }
  FrameWriter &put(const std::string &text) {
    put(static_cast<uint32_t>(text.size()));
    bytes += text;
    return *this;
  }
  /// The whole frame.
  const std::string &finish() {
    auto length = static_cast<uint32_t>(bytes.size() - sizeof(uint32_t));
    std::memcpy(bytes.data(), &length, sizeof length);
    return bytes;
  }

private:
  std::string bytes;
};

/// Reads fields in order; after the first that is not there all are zero and
/// `ok` is false.
class FrameReader {
public:
  FrameReader(const char *data, size_t size) : data(data), left(size) {}

  template <typename T> T get() {
    T value{};
    if (take(sizeof value))
      std::memcpy(&value, data - sizeof value, sizeof value);
    return value;
  }
  std::string getText() {
    auto length = get<uint32_t>();
    return take(length) ? std::string(data - length, length) : std::string();
  }
  bool ok() const { return good; }

private:
  bool take(size_t bytes) {
    good = good && bytes <= left;
    if (!good)
      return false;
    data += bytes, left -= bytes;
    return true;
  }
  const char *data;
  size_t left;
  bool good = true;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_FRAME_H

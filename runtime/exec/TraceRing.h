//===- TraceRing.h - What one stream did, and when --------------*- C++ -*-===//
//
// The last so many instructions of one stream, in memory that is there before
// they run: the stream's thread adds, others read between steps.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_TRACERING_H
#define TANDEM_RUNTIME_EXEC_TRACERING_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

/// One instruction that ran. Strings live as long as the plan.
struct TraceEvent {
  const char *op = "";       ///< The kernel's or the operation's name.
  const char *location = ""; ///< In the model.
  uint32_t instruction = 0;
  uint32_t microbatch = 0xffffffff; ///< kNone where there is only one.
  int stream = 0;
  bool launch = false;
  int64_t bytes = 0; ///< Of what it reads and writes.
  int64_t step = 0;
  int64_t begin = 0, end = 0; ///< ns of the steady clock.
};

class TraceRing {
public:
  explicit TraceRing(size_t capacity) : ring(capacity) {}

  void add(const TraceEvent &event) { ring[count++ % ring.size()] = event; }

  /// What is still there, oldest first.
  std::vector<TraceEvent> events() const {
    std::vector<TraceEvent> result;
    for (size_t i = count > ring.size() ? count - ring.size() : 0; i < count;
         ++i)
      result.push_back(ring[i % ring.size()]);
    return result;
  }

private:
  std::vector<TraceEvent> ring; ///< Not empty.
  size_t count = 0;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_TRACERING_H

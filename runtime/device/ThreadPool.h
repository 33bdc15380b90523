//===- ThreadPool.h - The threads of one rank's kernels ---------*- C++ -*-===//
//
// `run(n, body)` calls body(0) ... body(n - 1), each once, on this pool's
// threads (the caller is one of them), and returns when all are done. A body
// sees which pieces it works on from its index alone, so results do not
// depend on which thread ran what.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_THREADPOOL_H
#define TANDEM_RUNTIME_DEVICE_THREADPOOL_H

#include <cstdint>
#include <memory>

namespace tandem {

class ThreadPool {
public:
  /// A pool of `threads` threads, the caller included; at least 1. `cores` is
  /// how many CPUs all pools of the process share: waits spin (at most 50 us)
  /// only while threads of all ranks fit.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return size_; }

  /// Not to be called from within a body, nor by two threads at once.
  template <typename Body> void run(int64_t pieces, const Body &body) {
    runErased(
        pieces,
        [](const void *erased, int64_t index) {
          (*static_cast<const Body *>(erased))(index);
        },
        &body);
  }

private:
  using Function = void (*)(const void *body, int64_t index);
  void runErased(int64_t pieces, Function function, const void *body);
  struct State;
  std::unique_ptr<State> state_;
  int size_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_THREADPOOL_H

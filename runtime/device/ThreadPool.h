//===- ThreadPool.h - The threads of one rank's kernels ---------*- C++ -*-===//
//
// `run(n, body)` calls body(0) ... body(n - 1), each once, on this pool's
// threads (the caller is one of them), and returns when all are done. A body
// sees which pieces it works on from its index alone, so results do not
// depend on which thread ran what.
//
//   pool of 2, run(5, body):   caller  body(0) body(1)
//                              worker  body(2) body(3) body(4)
//
// Pieces are handed out statically, contiguous ranges in thread order, so that
// a thread finds what it touched last time in its cache. A body does not
// throw.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_THREADPOOL_H
#define TANDEM_RUNTIME_DEVICE_THREADPOOL_H

#include <cstdint>
#include <memory>

namespace tandem {

class ThreadPool {
public:
  /// A pool of `threads` threads, the caller included; at least 1. Waits spin
  /// (at most 50 us) only while the threads of all pools of the process fit
  /// the CPUs of its affinity mask. Smaller, with a warning, where the system
  /// refuses threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int size() const { return size_; }

  /// Callable from any thread. Where the pool is at work already (another
  /// stream's kernel, or a call from within a body), all pieces run on the
  /// caller.
  template <typename Body> void run(int64_t pieces, const Body &body) {
    if (size_ == 1 || pieces <= 1) {
      for (int64_t index = 0; index < pieces; ++index)
        body(index);
      return;
    }
    runErased(
        pieces,
        [](const void *erased, int64_t begin, int64_t end) {
          const Body &body = *static_cast<const Body *>(erased);
          for (int64_t index = begin; index < end; ++index)
            body(index);
        },
        &body);
  }

private:
  using Function = void (*)(const void *body, int64_t begin, int64_t end);
  void runErased(int64_t pieces, Function function, const void *body);
  struct State;
  std::unique_ptr<State> state_;
  int size_;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_THREADPOOL_H

#include "runtime/device/ThreadPool.h"

#include "runtime/base/Log.h"
#include "runtime/device/WaitWord.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace tandem {

struct ThreadPool::State {
  explicit State(int threads) : claim(threads) {}

  void work(int thread);
  void runShare(int thread) {
    int64_t begin = pieces * thread / size, end = pieces * (thread + 1) / size;
    function(body, begin, end);
  }

  CoreClaim claim;
  int size = 1;
  std::vector<std::thread> workers;
  // The job; written by the caller before `epoch` advances.
  Function function = nullptr;
  const void *body = nullptr;
  int64_t pieces = 0;
  bool stop = false;
  // Each on its own cache line: written by different threads.
  alignas(64) WaitWord epoch;
  alignas(64) WaitWord running;
  alignas(64) std::atomic<bool> busy{false};
};

void ThreadPool::State::work(int thread) {
  auto never = [] { return false; };
  for (uint32_t next = 1;; ++next) {
    epoch.wait([next](uint32_t now) { return WaitWord::reached(now, next); },
               never);
    if (stop)
      return;
    runShare(thread);
    running.add(~uint32_t(0), 0);
  }
}

ThreadPool::ThreadPool(int threads)
    : state_(std::make_unique<State>(std::max(threads, 1))),
      size_(std::max(threads, 1)) {
  State &state = *state_;
  try {
    for (int thread = 1; thread < size_; ++thread)
      state.workers.emplace_back([&state, thread] { state.work(thread); });
  } catch (const std::system_error &error) {
    size_ = static_cast<int>(state.workers.size()) + 1;
    logWarning("cannot start thread " + std::to_string(size_ + 1) + " of " +
               std::to_string(threads) + " (" + error.what() +
               "); going on with " + std::to_string(size_));
  }
  state.size = size_;
}

ThreadPool::~ThreadPool() {
  state_->stop = true;
  state_->epoch.set(state_->epoch.value() + 1);
  for (std::thread &worker : state_->workers)
    worker.join();
}

void ThreadPool::runErased(int64_t pieces, Function function,
                           const void *body) {
  State &state = *state_;
  if (state.busy.exchange(true, std::memory_order_acquire)) {
    function(body, 0, pieces);
    return;
  }
  state.function = function;
  state.body = body;
  state.pieces = pieces;
  state.running.set(static_cast<uint32_t>(size_ - 1));
  state.epoch.set(state.epoch.value() + 1);
  state.runShare(0);
  state.running.wait([](uint32_t left) { return left == 0; },
                     [] { return false; });
  state.busy.store(false, std::memory_order_release);
}

} // namespace tandem

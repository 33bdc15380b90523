//===- WaitWord.h - A number that threads wait for --------------*- C++ -*-===//
//
// One atomic number of 31 bits. Some threads advance it, others wait until a
// condition on it holds: first by spinning (at most 50 us, and only while the
// threads that compute fit the CPUs), then asleep on a futex. Advancing costs
// one atomic instruction while nobody sleeps.
//
//   WaitWord ready;                             // 0
//   writer: data = 42; ready.set(1);
//   reader: ready.wait([](uint32_t v) { return v >= 1; },
//                      [&] { return aborted.load(); });   // false: gave up
//
// Everything written before `set` or `add` is visible to whoever saw it in
// `wait`. A sleeper looks at `giveUp` every few milliseconds, so that no
// waker has to know who sleeps where.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_WAITWORD_H
#define TANDEM_RUNTIME_DEVICE_WAITWORD_H

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tandem {

/// Holds CPUs for `threads` threads that compute, for as long as it lives.
/// Every ThreadPool holds one; a communicator between processes holds one for
/// the threads of the other processes of its machine.
class CoreClaim {
public:
  explicit CoreClaim(int threads);
  ~CoreClaim();
  CoreClaim(const CoreClaim &) = delete;
  CoreClaim &operator=(const CoreClaim &) = delete;

  /// The CPUs of the process's affinity mask.
  static int cores();
  /// CPUs that no claim holds; negative when claims exceed the CPUs.
  static int spare();

private:
  int threads;
};

/// One turn of a spinning loop: tells the CPU that nothing happens here.
inline void relaxCpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class WaitWord {
public:
  /// How many CPUs must be unclaimed for a wait to spin.
  static constexpr int spinWhenFits = 0;
  static constexpr int spinWhenSpare = 1;
  static constexpr std::chrono::microseconds spinTime{50};
  static constexpr std::chrono::microseconds politeAfter{4};

  uint32_t value() const { return word.load(std::memory_order_acquire) >> 1; }

  /// Makes the number `value` (31 bits) and wakes all sleepers.
  void set(uint32_t value) {
    if (word.exchange(value << 1, std::memory_order_acq_rel) & sleeping)
      wake();
  }

  /// Makes the number `value` unless it has reached that already.
  void raise(uint32_t value) {
    uint32_t seen = word.load(std::memory_order_relaxed);
    do {
      if (reached(seen >> 1, value))
        return;
    } while (!word.compare_exchange_weak(seen, value << 1,
                                         std::memory_order_acq_rel));
    if (seen & sleeping)
      wake();
  }

  /// Adds `amount` (modulo 2^31; two's complement subtracts) and returns the
  /// new number. Sleepers are woken only when it is `wakeAt`: the number that
  /// they all wait for.
  uint32_t add(uint32_t amount, uint32_t wakeAt) {
    uint32_t before = word.fetch_add(amount << 1, std::memory_order_acq_rel);
    uint32_t after = (before + (amount << 1)) >> 1;
    if ((before & sleeping) && after == (wakeAt & mask)) {
      word.fetch_and(~sleeping, std::memory_order_acq_rel);
      wake();
    }
    return after;
  }

  /// Wakes all sleepers so that they look at `done` and `giveUp` again.
  void wake();

  /// Returns true when `done(number)` holds, false when `giveUp()` held
  /// before. `giveUp` is asked before each sleep only.
  template <typename Done, typename GiveUp>
  bool wait(const Done &done, const GiveUp &giveUp,
            int sparesNeeded = spinWhenFits) {
    if (done(value()))
      return true;
    if (CoreClaim::spare() >= sparesNeeded && spin(done))
      return true;
    while (true) {
      uint32_t seen = word.load(std::memory_order_acquire);
      if (done(seen >> 1))
        return true;
      if (giveUp())
        return false;
      if (!(seen & sleeping) &&
          !word.compare_exchange_weak(seen, seen | sleeping,
                                      std::memory_order_acq_rel))
        continue;
      sleep(seen | sleeping);
    }
  }

  /// Whether `number` has reached `target`, across the wrap at 2^31.
  static bool reached(uint32_t number, uint32_t target) {
    return static_cast<int32_t>((number - target) << 1) >= 0;
  }

private:
  static constexpr uint32_t sleeping = 1;
  static constexpr uint32_t mask = 0x7fffffffu;

  template <typename Done> bool spin(const Done &done) {
    auto start = std::chrono::steady_clock::now();
    auto elapsed = start - start;
    do {
      for (int turn = 0; turn < 32; ++turn) {
        if (done(value()))
          return true;
        relaxCpu();
      }
      elapsed = std::chrono::steady_clock::now() - start;
      // On a busy machine the thread that is waited for may share this CPU.
      if (elapsed > politeAfter)
        yieldCpu();
    } while (elapsed < spinTime);
    return false;
  }
  static void yieldCpu();

  /// Sleeps while the word is `seen`, at most a few milliseconds.
  void sleep(uint32_t seen);

  /// The number shifted by one; the low bit says that somebody may sleep.
  std::atomic<uint32_t> word{0};
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_WAITWORD_H

#include "runtime/device/WaitWord.h"

#include <climits>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <thread>
#include <time.h>
#include <unistd.h>

namespace tandem {
namespace {

std::atomic<int> claimedCores{0};

int countCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  unsigned known = std::thread::hardware_concurrency();
  return known == 0 ? 1 : static_cast<int>(known);
}

long futex(std::atomic<uint32_t> &word, int operation, uint32_t value,
           const timespec *timeout) {
  static_assert(sizeof word == sizeof(uint32_t), "a futex is four bytes");
  return syscall(SYS_futex, reinterpret_cast<uint32_t *>(&word),
                 operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
}

} // namespace

CoreClaim::CoreClaim(int threads) : threads(threads) {
  claimedCores.fetch_add(threads, std::memory_order_relaxed);
}

CoreClaim::~CoreClaim() {
  claimedCores.fetch_sub(threads, std::memory_order_relaxed);
}

int CoreClaim::cores() {
  static const int count = countCores();
  return count;
}

int CoreClaim::spare() {
  return cores() - claimedCores.load(std::memory_order_relaxed);
}

void WaitWord::yieldCpu() { sched_yield(); }

void WaitWord::wake() { futex(word, FUTEX_WAKE, INT_MAX, nullptr); }

void WaitWord::sleep(uint32_t seen) {
  // Short enough that an abort that nobody announced here is seen in time,
  // long enough to cost nothing.
  timespec slice{0, 4'000'000};
  futex(word, FUTEX_WAIT, seen, &slice);
}

} // namespace tandem

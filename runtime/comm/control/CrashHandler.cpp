#include "runtime/comm/control/CrashHandler.h"

#include <atomic>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace tandem {
namespace {

struct CrashActivity {
  int64_t rank = -1;
  const char *instruction = "";
  const char *location = "";
};

thread_local CrashActivity ofThread;
std::atomic<int64_t> lastRank{-1};
std::atomic<const char *> lastInstruction{""};
std::atomic<const char *> lastLocation{""};
std::atomic<CrashListener> crashListener{nullptr};

/// A line in a fixed buffer, built without allocation.
class Line {
public:
  Line &operator<<(const char *text) {
    while (*text && length < sizeof buffer - 1)
      buffer[length++] = *text++;
    return *this;
  }
  Line &number(uint64_t value, unsigned base) {
    char digits[32];
    size_t count = 0;
    do
      digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) > 0);
    while (count > 0 && length < sizeof buffer - 1)
      buffer[length++] = digits[--count];
    return *this;
  }
  /// Ends with a zero.
  const char *text() const { return buffer; }
  size_t size() const { return length; }

private:
  char buffer[2048] = {};
  size_t length = 0;
};

CrashActivity current() {
  if (ofThread.rank >= 0)
    return ofThread;
  return {lastRank.load(), lastInstruction.load(), lastLocation.load()};
}

const char *nameOf(int signal) {
  switch (signal) {
  case SIGBUS:
    return "SIGBUS";
  case SIGABRT:
    return "SIGABRT";
  case SIGFPE:
    return "SIGFPE";
  case SIGILL:
    return "SIGILL";
  default:
    return "SIGSEGV";
  }
}

void composeCause(Line &line, int signal, const siginfo_t *info) {
  line << nameOf(signal);
  // An abort, or a signal that somebody sent, has no address.
  if (info->si_code > 0 && signal != SIGABRT)
    (line << " at address 0x")
        .number(reinterpret_cast<uintptr_t>(info->si_addr), 16);
  if (signal == SIGBUS)
    line << ": a mapped file was cut or cannot be read";
}

/// As Status::toString says where.
void composePlace(Line &line, const CrashActivity &at) {
  if (at.rank < 0)
    return;
  (line << " (rank ").number(static_cast<uint64_t>(at.rank), 10);
  if (*at.instruction)
    line << ", instruction " << at.instruction;
  if (*at.location)
    line << ", location " << at.location;
  line << ")";
}

void onCrash(int signal, siginfo_t *info, void *) {
  CrashActivity at = current();
  Line cause, whole;
  composeCause(cause, signal, info);
  if (CrashListener listener = crashListener.load())
    listener({cause.text(), at.instruction, at.location});
  whole << "tandem: error: " << cause.text();
  composePlace(whole, at);
  whole << "\n";
  [[maybe_unused]] ssize_t written = ::write(2, whole.text(), whole.size());
  _exit(3);
}

// Sanitizers report crashes themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasOwnHandler = true;
#else
constexpr bool kHasOwnHandler = false;
#endif

// A stack that has overflowed cannot carry the handler.
alignas(16) char crashStack[64 * 1024];

} // namespace

void installCrashHandler() {
  if (kHasOwnHandler)
    return;
  stack_t stack{};
  stack.ss_sp = crashStack;
  stack.ss_size = sizeof crashStack;
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = onCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  for (int signal : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    sigaction(signal, &action, nullptr);
}

void setCrashActivity(int64_t rank, const char *instruction,
                      const char *location) {
  ofThread = {rank, instruction, location};
  lastRank.store(rank, std::memory_order_relaxed);
  lastInstruction.store(instruction, std::memory_order_relaxed);
  lastLocation.store(location, std::memory_order_relaxed);
}

void setCrashListener(CrashListener listener) { crashListener.store(listener); }

} // namespace tandem

#include "runtime/comm/control/CrashHandler.h"

#include <atomic>
#include <csignal>
#include <cstring>
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
  const char *data() const { return buffer; }
  size_t size() const { return length; }

private:
  char buffer[1024];
  size_t length = 0;
};

CrashActivity current() {
  if (ofThread.rank >= 0)
    return ofThread;
  return {lastRank.load(), lastInstruction.load(), lastLocation.load()};
}

void compose(Line &line, int signal, const siginfo_t *info) {
  CrashActivity at = current();
  if (at.rank >= 0)
    (line << "rank ").number(static_cast<uint64_t>(at.rank), 10) << ": ";
  line << (signal == SIGBUS ? "SIGBUS" : "SIGSEGV") << " at address 0x";
  line.number(reinterpret_cast<uintptr_t>(info->si_addr), 16);
  if (signal == SIGBUS)
    line << ": a mapped file was cut or cannot be read";
  if (*at.instruction)
    line << "; at " << at.instruction;
  if (*at.location)
    line << " (" << at.location << ")";
}

void onCrash(int signal, siginfo_t *info, void *) {
  Line cause;
  compose(cause, signal, info);
  if (CrashListener listener = crashListener.load())
    listener(cause.data(), cause.size());
  Line whole;
  whole << "tandem: error: ";
  char text[1024];
  std::memcpy(text, cause.data(), cause.size());
  text[cause.size()] = 0;
  whole << text << "\n";
  [[maybe_unused]] ssize_t written = ::write(2, whole.data(), whole.size());
  _exit(3);
}

// A stack that has overflowed cannot carry the handler.
alignas(16) char crashStack[64 * 1024];

} // namespace

void installCrashHandler() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  stack_t stack{};
  stack.ss_sp = crashStack;
  stack.ss_size = sizeof crashStack;
  sigaltstack(&stack, nullptr);
  struct sigaction action{};
  action.sa_sigaction = onCrash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
#endif
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

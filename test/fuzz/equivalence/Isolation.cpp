#include "test/fuzz/equivalence/Isolation.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <optional>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tandem::test {
namespace {

using Clock = std::chrono::steady_clock;

/// Cases that one process takes, so that what leaks stays small.
constexpr uint64_t kCasesOfProcess = 100;

void writeAll(int file, const void *data, size_t size) {
  auto *bytes = static_cast<const char *>(data);
  while (size > 0) {
    ssize_t written = write(file, bytes, size);
    if (written <= 0)
      _exit(1); // no one reads any more
    bytes += written;
    size -= static_cast<size_t>(written);
  }
}

void sendString(int file, const std::string &text) {
  uint64_t size = text.size();
  writeAll(file, &size, sizeof size);
  writeAll(file, text.data(), size);
}

/// A process that makes and checks cases and tells what it finds: for each
/// case its text, then its verdict's stage and message.
class Worker {
public:
  Worker(uint64_t first, uint64_t count, const MakeCase &make,
         const CheckCase &check) {
    int ends[2];
    if (pipe(ends) != 0)
      return;
    std::fflush(nullptr);
    process = fork();
    if (process == 0) {
      close(ends[0]);
      for (uint64_t number = first; number < first + count; ++number)
        serve(ends[1], number, make, check);
      _exit(0);
    }
    close(ends[1]);
    file = ends[0];
  }
  Worker(const Worker &) = delete;

  ~Worker() {
    if (process > 0) {
      kill(process, SIGKILL);
      waitpid(process, nullptr, 0);
    }
    if (file >= 0)
      close(file);
  }

  /// What the worker sends next; nothing when it ends or the time is over.
  std::optional<std::string> next(Clock::time_point end) {
    uint64_t size = 0;
    if (!readAll(&size, sizeof size, end))
      return std::nullopt;
    std::string text(size, '\0');
    if (!readAll(text.data(), size, end))
      return std::nullopt;
    return text;
  }

  /// Why there was nothing.
  Verdict failure(double deadlineSeconds) {
    if (late)
      return {"hang", "did not end within " +
                          std::to_string(static_cast<int>(deadlineSeconds)) +
                          " s"};
    int status = 0;
    waitpid(process, &status, 0);
    process = -1;
    if (WIFSIGNALED(status))
      return {"crash", "ended by signal " + std::to_string(WTERMSIG(status))};
    return {"crash", "left with " + std::to_string(WEXITSTATUS(status))};
  }

private:
  static void serve(int file, uint64_t number, const MakeCase &make,
                    const CheckCase &check) {
    std::string text = make(number);
    sendString(file, text);
    Verdict verdict = check(text);
    sendString(file, verdict.stage);
    sendString(file, verdict.message);
  }

  bool readAll(void *data, size_t size, Clock::time_point end) {
    auto *bytes = static_cast<char *>(data);
    while (size > 0) {
      auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          end - Clock::now());
      pollfd poller{file, POLLIN, 0};
      int wait = static_cast<int>(std::max<int64_t>(left.count(), 0));
      if (poll(&poller, 1, wait) <= 0) {
        late = true;
        return false;
      }
      ssize_t got = read(file, bytes, size);
      if (got <= 0)
        return false;
      bytes += got;
      size -= static_cast<size_t>(got);
    }
    return true;
  }

  pid_t process = -1;
  int file = -1;
  bool late = false;
};

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}

/// One case of a worker; false when the worker cannot go on.
bool receive(Worker &worker, double deadlineSeconds, CaseResult &result) {
  Clock::time_point end = after(deadlineSeconds);
  std::optional<std::string> text = worker.next(end), stage, message;
  if (text) {
    result.text = *text;
    stage = worker.next(end);
    message = stage ? worker.next(end) : std::nullopt;
  }
  if (!message) {
    result.verdict = worker.failure(deadlineSeconds);
    return false;
  }
  result.verdict = {*stage, *message};
  return true;
}

} // namespace

void runIsolated(uint64_t first, uint64_t count, double deadlineSeconds,
                 const MakeCase &make, const CheckCase &check,
                 const std::function<void(const CaseResult &)> &report) {
  uint64_t number = first, last = first + count;
  while (number < last) {
    uint64_t cases = std::min(kCasesOfProcess, last - number);
    Worker worker(number, cases, make, check);
    for (bool goesOn = true; goesOn && cases > 0; --cases) {
      CaseResult result;
      result.number = number++;
      goesOn = receive(worker, deadlineSeconds, result);
      report(result);
    }
  }
}

Verdict checkIsolated(const std::string &text, double deadlineSeconds,
                      const CheckCase &check) {
  Verdict verdict;
  runIsolated(
      0, 1, deadlineSeconds, [&](uint64_t) { return text; }, check,
      [&](const CaseResult &result) { verdict = result.verdict; });
  return verdict;
}

} // namespace tandem::test

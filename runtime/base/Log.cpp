#include "runtime/base/Log.h"

#include <atomic>
#include <cstdlib>
#include <string_view>
#include <unistd.h>

namespace tandem {
namespace {

LogLevel initialLevel() {
  const char *text = std::getenv("TANDEM_LOG");
  std::string_view value = text ? text : "";
  if (value == "error")
    return LogLevel::Error;
  if (value == "warning")
    return LogLevel::Warning;
  if (value == "debug")
    return LogLevel::Debug;
  return LogLevel::Info;
}

std::atomic<LogLevel> &level() {
  static std::atomic<LogLevel> current{initialLevel()};
  return current;
}

/// Messages quote what files hold: nothing of it may steer a terminal.
std::string printable(const std::string &text) {
  static const char digits[] = "0123456789abcdef";
  std::string result;
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f)
      result += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
    else
      result += c;
  }
  return result;
}

} // namespace

LogLevel logLevel() { return level().load(std::memory_order_relaxed); }
void setLogLevel(LogLevel to) { level().store(to, std::memory_order_relaxed); }

void log(LogLevel at, const std::string &message) {
  if (at > logLevel())
    return;
  static const char *const prefixes[] = {"error: ", "warning: ", "", ""};
  std::string line = std::string("tandem: ") + prefixes[static_cast<int>(at)] +
                     printable(message) + "\n";
  // One write call, so that lines of several threads never interleave.
  [[maybe_unused]] ssize_t written = ::write(2, line.data(), line.size());
}

} // namespace tandem

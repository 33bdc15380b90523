//===- Log.h - Messages for people, on standard error -----------*- C++ -*-===//
//
// Results go to standard output; everything here goes to standard error.
// TANDEM_LOG=error|warning|info|debug sets the level, as -q and -v do.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_BASE_LOG_H
#define TANDEM_RUNTIME_BASE_LOG_H

#include <string>

namespace tandem {

enum class LogLevel { Error = 0, Warning = 1, Info = 2, Debug = 3 };

/// The level in force: TANDEM_LOG at first, else Info.
LogLevel logLevel();
void setLogLevel(LogLevel level);

/// Prints one line `tandem: warning: MESSAGE`, whole even when threads print
/// at once, unless the level in force is below.
void log(LogLevel level, const std::string &message);
inline void logWarning(const std::string &message) {
  log(LogLevel::Warning, message);
}
inline void logInfo(const std::string &message) {
  log(LogLevel::Info, message);
}

} // namespace tandem

#endif // TANDEM_RUNTIME_BASE_LOG_H

//===- UsageError.h - What is wrong with a command line ---------*- C++ -*-===//

#ifndef TANDEM_TOOLS_COMMANDS_USAGEERROR_H
#define TANDEM_TOOLS_COMMANDS_USAGEERROR_H

#include "runtime/base/Status.h"

#include <CLI/CLI.hpp>

namespace tandem {

/// `error` of parsing for `app` in one line: an unknown command or flag with
/// the nearest known one, and whose --help says more.
Status usageError(const CLI::App &app, const CLI::ParseError &error);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_USAGEERROR_H

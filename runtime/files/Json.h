//===- Json.h - JSON text from files, checked -------------------*- C++ -*-===//
//
// The door through which JSON comes in: no exception leaves it, a key that
// stands twice in one object is an error (parsers silently keep the last),
// and so is nesting too deep for what follows. For readers that need the
// whole tree at hand; what reads single settings uses ConfigNode.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_JSON_H
#define TANDEM_RUNTIME_FILES_JSON_H

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace tandem {

/// Parses `text`. `what` (a file's path) goes in front of the message.
Result<nlohmann::json> parseJson(std::string_view text,
                                 const std::string &what);

/// What a value is, for messages: `string "eight"`, `number 3`, `an array`.
std::string describeJson(const nlohmann::json &value);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_JSON_H

//===- FreeMemory.h - What this machine has left ----------------*- C++ -*-===//

#ifndef TANDEM_RUNTIME_SESSION_FREEMEMORY_H
#define TANDEM_RUNTIME_SESSION_FREEMEMORY_H

#include <cstdint>
#include <string>

namespace tandem {

/// Bytes that this process can still take without swapping or being killed:
/// the least of what the kernel says is available and what the memory limits
/// of its control groups (versions 1 and 2) leave. UINT64_MAX where nothing
/// says. Files are looked for under `root`.
uint64_t freeMemory(const std::string &root = "");

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_FREEMEMORY_H

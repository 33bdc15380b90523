//===- FaultyDisk.h - The machine's disk with a planted fault ---*- C++ -*-===//

#ifndef TANDEM_RUNTIME_SESSION_FAULTYDISK_H
#define TANDEM_RUNTIME_SESSION_FAULTYDISK_H

#include "runtime/exec/FaultPoint.h"
#include "runtime/files/Disk.h"

namespace tandem {

/// The machine's disk, before each of whose operations `fault` is reached for
/// `kind` on `rank`.
std::unique_ptr<Disk> faultyDisk(int64_t rank, const std::string &kind,
                                 const FaultPoint &fault);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_FAULTYDISK_H

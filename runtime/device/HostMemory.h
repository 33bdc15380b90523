//===- HostMemory.h - Zeroed pages that a device owns -----------*- C++ -*-===//
//
// Anonymous mappings, zero-filled, huge pages advised; unmapped by the
// destructor. Pages cost memory only once they are touched.
//
// Tests set TANDEM_FAIL_ALLOCATION=n to make the n-th allocation of the
// process (counted from when the variable was set) fail.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_DEVICE_HOSTMEMORY_H
#define TANDEM_RUNTIME_DEVICE_HOSTMEMORY_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <vector>

namespace tandem {

class HostMemory {
public:
  HostMemory() = default;
  ~HostMemory();
  HostMemory(const HostMemory &) = delete;
  HostMemory &operator=(const HostMemory &) = delete;

  /// `bytes` of zeros, aligned to 4096 (to 2 MiB where it is that large).
  /// Never null; 0 bytes may be asked for. Refused when the system has none.
  Result<std::byte *> allocate(size_t bytes);

private:
  struct Mapping {
    void *address;
    size_t bytes;
  };
  std::vector<Mapping> mappings;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_DEVICE_HOSTMEMORY_H

#include "runtime/device/HostMemory.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

namespace tandem {
namespace {

constexpr size_t page = 4096;
constexpr size_t hugePage = size_t(2) << 20;

/// Whether TANDEM_FAIL_ALLOCATION says that this allocation fails.
bool failureInjected() {
  static std::atomic<long> counted{0};
  const char *text = std::getenv("TANDEM_FAIL_ALLOCATION");
  if (!text || !*text) {
    counted.store(0);
    return false;
  }
  return ++counted == std::strtol(text, nullptr, 10);
}

Status allocationFailed(size_t bytes, const char *reason) {
  return Status::rankFailed(
      "cannot allocate " + std::to_string(bytes) + " bytes of memory (" +
      reason +
      "); use more ranks, a shorter sequence or batch, or a machine with more "
      "memory");
}

} // namespace

HostMemory::~HostMemory() {
  for (const Mapping &mapping : mappings)
    munmap(mapping.address, mapping.bytes);
}

Result<std::byte *> HostMemory::allocate(size_t bytes) {
  if (bytes > SIZE_MAX / 2)
    return allocationFailed(bytes, "more than an address space holds");
  if (failureInjected())
    return allocationFailed(bytes, "TANDEM_FAIL_ALLOCATION");
  size_t rounded = (bytes + page - 1) / page * page;
  if (rounded == 0)
    rounded = page;
  // Room to start on a huge page, which the system does not promise.
  size_t alignment = rounded >= hugePage ? hugePage : page;
  size_t mapped = rounded + (alignment - page);
  void *address = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    return allocationFailed(bytes, std::strerror(errno));
  mappings.push_back({address, mapped});
  auto start = reinterpret_cast<uintptr_t>(address);
  start = (start + alignment - 1) / alignment * alignment;
  if (alignment == hugePage)
    madvise(reinterpret_cast<void *>(start), rounded, MADV_HUGEPAGE);
  return reinterpret_cast<std::byte *>(start);
}

} // namespace tandem

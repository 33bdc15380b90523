#include "test/fuzz/readers/ReaderInput.h"

#include "runtime/files/ReadElements.h"

#include <algorithm>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

namespace tandem::test {

std::string asFile(const uint8_t *data, size_t size) {
  static const int fd = ::memfd_create("input", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, 0) != 0 ||
      ::pwrite(fd, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();
  return "/proc/self/fd/" + std::to_string(fd);
}

void readTensors(const TensorStore &store) {
  constexpr uint64_t most = 4096; // What a block type holds, many times over.
  std::vector<float> values(most);
  for (const StoredTensor &tensor : store.tensors()) {
    uint64_t elements = tensor.elements(), count = std::min(elements, most);
    for (uint64_t first : {uint64_t(0), elements - count})
      if (!readElements(tensor, first, count, DType::F32, values.data()).ok())
        break;
  }
}

} // namespace tandem::test

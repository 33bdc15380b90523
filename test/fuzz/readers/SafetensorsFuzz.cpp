#include "test/fuzz/readers/ReaderInput.h"

#include "runtime/files/Safetensors.h"

using namespace tandem;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::map<std::string, std::string> metadata;
  Result<TensorStore> store =
      readSafetensors(test::asFile(data, size), &metadata);
  if (store.ok())
    test::readTensors(*store);
  return 0;
}

//===- ReaderInput.h - Bytes that readers see as a file ---------*- C++ -*-===//

#ifndef TANDEM_TEST_FUZZ_READERS_READERINPUT_H
#define TANDEM_TEST_FUZZ_READERS_READERINPUT_H

#include "runtime/files/TensorStore.h"

#include <cstdint>
#include <string>

namespace tandem::test {

/// The path of a file in memory that holds these bytes until the next call.
std::string asFile(const uint8_t *data, size_t size);

/// Reads the values of all tensors, as loading does.
void readTensors(const TensorStore &store);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_READERS_READERINPUT_H

#include "runtime/session/Session.h"

#include "runtime/base/Log.h"
#include "runtime/device/WaitWord.h"
#include "runtime/session/FreeMemory.h"
#include "runtime/session/Inputs.h"

#include <algorithm>

namespace tandem {

Session::~Session() = default;

Result<HostTensors> Session::run(const std::string &entry,
                                 const HostTensors &inputs) {
  TANDEM_ASSIGN(uint32_t index, findEntry(*plan_, entry));
  TANDEM_ASSIGN(BoundInputs bound, bindInputs(*plan_, index, inputs));
  PortTensors outputs = emptyOutputs(*plan_, index);
  TANDEM_TRY(step(index, bound.tensors, outputs));
  return nameOutputs(*plan_, index, bound.tokens, std::move(outputs));
}

uint64_t memoryFor(const SessionOptions &options) {
  return options.memoryBytes ? options.memoryBytes : freeMemory();
}

int defaultThreads(int64_t ranksHere) {
  int64_t share = CoreClaim::cores() / std::max<int64_t>(1, ranksHere);
  return static_cast<int>(std::max<int64_t>(1, share));
}

void warnOfTooManyThreads(int threads, int64_t ranksHere) {
  if (threads * ranksHere > CoreClaim::cores())
    logWarning(std::to_string(threads) + " threads for each of " +
               std::to_string(ranksHere) + " ranks are more than the " +
               std::to_string(CoreClaim::cores()) +
               " CPUs that this process may use");
}

} // namespace tandem

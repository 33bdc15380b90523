#include "runtime/comm/Communicator.h"

namespace tandem {

int64_t Communicator::allReduceWorkspaceBytes(DType dtype, int64_t count,
                                              int64_t ranks) {
  int64_t piece = (count + ranks - 1) / ranks;
  return ranks * piece * blockBytes(dtype);
}

} // namespace tandem

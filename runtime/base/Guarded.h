//===- Guarded.h - Exceptions of libraries as a Status ----------*- C++ -*-===//

#ifndef TANDEM_RUNTIME_BASE_GUARDED_H
#define TANDEM_RUNTIME_BASE_GUARDED_H

#include "runtime/base/Status.h"

#include <exception>
#include <new>

namespace tandem {

/// The Status that `work` returns; what it throws is a failure of the rank.
template <typename Work> Status guarded(const Work &work) {
  try {
    return work();
  } catch (const std::bad_alloc &) {
    return Status::rankFailed("out of memory; use more ranks, a shorter "
                              "sequence or batch, or a machine with more "
                              "memory");
  } catch (const std::exception &error) {
    return Status::rankFailed(error.what());
  }
}

} // namespace tandem

#endif // TANDEM_RUNTIME_BASE_GUARDED_H

//===- Box.h - A part of a tensor between two corners -----------*- C++ -*-===//
//
// What one rank holds of a tensor: a begin and an extent in each dimension.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_FILES_CHECKPOINT_BOX_H
#define TANDEM_RUNTIME_FILES_CHECKPOINT_BOX_H

#include "runtime/base/Status.h"

#include <vector>

namespace tandem {

struct Box {
  std::vector<int64_t> begin, shape;

  /// 1 for a scalar's.
  int64_t elements() const;
  bool operator==(const Box &other) const {
    return begin == other.begin && shape == other.shape;
  }
};

/// What both boxes hold; nothing where that is empty. Of equal rank.
std::optional<Box> intersection(const Box &a, const Box &b);

/// Refuses boxes that leave a tensor of `shape`, overlap, or leave a part of
/// it out; the message says which part of the three, and where.
Status checkTiling(const std::vector<int64_t> &shape, std::vector<Box> boxes);

} // namespace tandem

#endif // TANDEM_RUNTIME_FILES_CHECKPOINT_BOX_H

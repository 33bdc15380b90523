#include "runtime/files/checkpoint/Box.h"

#include "runtime/files/TensorStore.h"

#include <algorithm>

namespace tandem {
namespace {

std::string textOf(const Box &box) {
  return shapeToString(box.shape) + " at " + shapeToString(box.begin);
}

Status checkInside(const std::vector<int64_t> &shape, const Box &box) {
  bool inside =
      box.begin.size() == shape.size() && box.shape.size() == shape.size();
  for (size_t i = 0; inside && i < shape.size(); ++i)
    inside = box.begin[i] >= 0 && box.shape[i] >= 0 &&
             box.begin[i] <= shape[i] &&
             box.shape[i] <= shape[i] - box.begin[i];
  if (inside)
    return Status();
  return Status::refused("the piece " + textOf(box) +
                         " is not within the tensor's shape " +
                         shapeToString(shape));
}

/// Of boxes in the order of their first begin: only those that begin before
/// another ends can overlap it.
Status checkApart(const std::vector<Box> &boxes) {
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t j = i + 1; j < boxes.size(); ++j) {
      const Box &a = boxes[i], &b = boxes[j];
      if (!a.begin.empty() && b.begin[0] >= a.begin[0] + a.shape[0])
        break;
      if (intersection(a, b))
        return Status::refused("the pieces " + textOf(a) + " and " + textOf(b) +
                               " overlap");
    }
  return Status();
}

} // namespace

int64_t Box::elements() const {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

std::optional<Box> intersection(const Box &a, const Box &b) {
  Box both;
  for (size_t i = 0; i < a.begin.size(); ++i) {
    int64_t begin = std::max(a.begin[i], b.begin[i]);
    int64_t end = std::min(a.begin[i] + a.shape[i], b.begin[i] + b.shape[i]);
    if (end <= begin)
      return std::nullopt;
    both.begin.push_back(begin);
    both.shape.push_back(end - begin);
  }
  return both;
}

Status checkTiling(const std::vector<int64_t> &shape, std::vector<Box> boxes) {
  int64_t covered = 0;
  for (const Box &box : boxes) {
    TANDEM_TRY(checkInside(shape, box));
    covered += box.elements();
  }
  std::sort(boxes.begin(), boxes.end(),
            [](const Box &a, const Box &b) { return a.begin < b.begin; });
  TANDEM_TRY(checkApart(boxes));
  int64_t whole = Box{{}, shape}.elements();
  if (covered == whole)
    return Status();
  return Status::refused("its pieces hold " + std::to_string(covered) +
                         " of its " + std::to_string(whole) + " elements");
}

} // namespace tandem

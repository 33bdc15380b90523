#include "runtime/mesh/Mesh.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <tuple>

namespace tandem {

bool AxisRef::operator<(const AxisRef &other) const {
  return std::tie(name, preSize, size) <
         std::tie(other.name, other.preSize, other.size);
}

bool AxisRef::overlaps(const AxisRef &other) const {
  return name == other.name && other.preSize % (preSize * size) != 0 &&
         preSize % (other.preSize * other.size) != 0;
}

int64_t sizeOf(const AxisList &axes) {
  int64_t size = 1;
  for (const AxisRef &axis : axes)
    size *= axis.size;
  return size;
}

bool overlaps(const AxisList &axes, const AxisRef &axis) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const AxisRef &a) { return a.overlaps(axis); });
}

AxisList withoutTrivial(const AxisList &axes) {
  AxisList result;
  for (const AxisRef &axis : axes)
    if (axis.size > 1)
      result.push_back(axis);
  return result;
}

AxisList merged(const AxisList &axes) {
  AxisList result;
  for (const AxisRef &axis : axes) {
    if (!result.empty() && result.back().precedes(axis))
      result.back().size *= axis.size;
    else
      result.push_back(axis);
  }
  return result;
}

AxisList commonPrefix(const AxisList &a, const AxisList &b) {
  AxisList left = merged(a), right = merged(b), result;
  for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    if (left[i] == right[i]) {
      result.push_back(left[i]);
      continue;
    }
    if (left[i].name == right[i].name && left[i].preSize == right[i].preSize) {
      int64_t small = std::min(left[i].size, right[i].size);
      int64_t large = std::max(left[i].size, right[i].size);
      if (large % small == 0)
        result.push_back({left[i].name, left[i].preSize, small});
    }
    break;
  }
  return result;
}

bool isPrefix(const AxisList &prefix, const AxisList &axes) {
  return commonPrefix(prefix, axes) == merged(prefix);
}

AxisList withoutPrefix(const AxisList &axes, const AxisList &prefix) {
  assert(isPrefix(prefix, axes) && "not a leading list");
  AxisList rest, all = merged(axes), lead = merged(prefix);
  for (size_t i = 0; i < all.size(); ++i) {
    if (i >= lead.size()) {
      rest.push_back(all[i]);
    } else if (lead[i] != all[i]) {
      rest.push_back({all[i].name, lead[i].preSize * lead[i].size,
                      all[i].size / lead[i].size});
    }
  }
  return rest;
}

namespace {

Status badMesh(std::string_view text, const std::string &why) {
  return Status::usage("mesh '" + std::string(text) + "': " + why +
                       "; expected NAME=SIZE,... such as pp=2,tp=4");
}

bool isAxisName(std::string_view name) {
  auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) {
           return letter(c) || (c >= '0' && c <= '9');
         });
}

Result<Axis> parseAxis(std::string_view text, std::string_view part) {
  size_t equals = part.find('=');
  if (equals == std::string_view::npos)
    return badMesh(text, "'" + std::string(part) + "' has no '='");
  std::string_view name = part.substr(0, equals);
  std::string_view digits = part.substr(equals + 1);
  if (!isAxisName(name))
    return badMesh(text, "'" + std::string(name) + "' is no axis name");
  int64_t size = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), size);
  if (error != std::errc() || end != digits.data() + digits.size())
    return badMesh(text, "the size of axis '" + std::string(name) + "' is '" +
                             std::string(digits) + "', not a number");
  if (size < 1)
    return badMesh(text, "the size of axis '" + std::string(name) + "' is " +
                             std::to_string(size) + ", below 1");
  return Axis{std::string(name), size};
}

} // namespace

Result<Mesh> Mesh::parse(std::string_view text) {
  std::vector<Axis> axes;
  int64_t ranks = 1;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
    if (comma != std::string_view::npos && rest.empty())
      return badMesh(text, "it ends with a comma");
    TANDEM_ASSIGN(Axis axis, parseAxis(text, part));
    for (const Axis &other : axes)
      if (other.name == axis.name)
        return badMesh(text, "axis '" + axis.name + "' is named twice");
    if (axis.size > (int64_t(1) << 31) / ranks)
      return badMesh(text, "axis '" + axis.name + "' of size " +
                               std::to_string(axis.size) +
                               " makes more than 2^31 ranks");
    ranks *= axis.size;
    axes.push_back(std::move(axis));
  }
  return Mesh(std::move(axes));
}

int64_t Mesh::numRanks() const {
  int64_t ranks = 1;
  for (const Axis &axis : axes_)
    ranks *= axis.size;
  return ranks;
}

int Mesh::indexOf(std::string_view axis) const {
  for (size_t i = 0; i < axes_.size(); ++i)
    if (axes_[i].name == axis)
      return static_cast<int>(i);
  return -1;
}

int64_t Mesh::sizeOf(std::string_view axis) const {
  int index = indexOf(axis);
  return index < 0 ? 1 : axes_[index].size;
}

AxisRef Mesh::whole(std::string_view axis) const {
  assert(has(axis) && "no such axis");
  return {std::string(axis), 1, sizeOf(axis)};
}

bool Mesh::contains(const AxisRef &axis) const {
  int64_t whole = sizeOf(axis.name);
  // Bounded first, so that the product cannot overflow.
  return has(axis.name) && axis.preSize >= 1 && axis.size >= 1 &&
         axis.preSize <= whole && axis.size <= whole &&
         whole % (axis.preSize * axis.size) == 0;
}

int64_t Mesh::strideOf(int index) const {
  int64_t stride = 1;
  for (size_t i = index + 1; i < axes_.size(); ++i)
    stride *= axes_[i].size;
  return stride;
}

int64_t Mesh::coordinate(int64_t rank, const AxisRef &axis) const {
  int index = indexOf(axis.name);
  assert(index >= 0 && "no such axis");
  int64_t whole = rank / strideOf(index) % axes_[index].size;
  int64_t after = axes_[index].size / (axis.preSize * axis.size);
  return whole / after % axis.size;
}

int64_t Mesh::coordinate(int64_t rank, const AxisList &axes) const {
  int64_t position = 0;
  for (const AxisRef &axis : axes)
    position = position * axis.size + coordinate(rank, axis);
  return position;
}

int64_t Mesh::withCoordinate(int64_t rank, const AxisList &axes,
                             int64_t position) const {
  for (auto it = axes.rbegin(); it != axes.rend(); ++it) {
    int index = indexOf(it->name);
    int64_t after = axes_[index].size / (it->preSize * it->size);
    int64_t step = strideOf(index) * after;
    rank += (position % it->size - coordinate(rank, *it)) * step;
    position /= it->size;
  }
  return rank;
}

std::vector<int64_t> Mesh::groupRanks(int64_t rank,
                                      const AxisList &axes) const {
  std::vector<int64_t> ranks(tandem::sizeOf(axes));
  for (size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = withCoordinate(rank, axes, static_cast<int64_t>(i));
  return ranks;
}

std::string Mesh::toString() const {
  std::string text;
  for (const Axis &axis : axes_)
    text +=
        (text.empty() ? "" : ",") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

std::string toString(const AxisRef &axis, const Mesh &mesh) {
  std::string text = "\"" + axis.name + "\"";
  if (!mesh.isWhole(axis))
    text +=
        ":(" + std::to_string(axis.preSize) + ")" + std::to_string(axis.size);
  return text;
}

} // namespace tandem

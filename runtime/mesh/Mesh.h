//===- Mesh.h - Named axes over the ranks of a plan -------------*- C++ -*-===//
//
// What it is: a list of named axes with sizes, major to minor as written. A
// rank's number is its row-major index over them, so ranks that differ only
// along the last axis are neighbours.
//
//   mesh pp=2,tp=4:   rank = pp * 4 + tp
//     pp=0: ranks 0 1 2 3      pp=1: ranks 4 5 6 7
//
// An AxisRef names an axis or a part of it, as Shardy does: `"tp"` is the
// whole axis and `"tp":(2)2` the part of size 2 that has 2 positions in front
// of it: with tp=4, "tp":(1)2 is tp / 2 and "tp":(2)2 is tp % 2. A whole axis
// is the part ("tp":(1)size), so there is one representation only.
//
// Coordinates are counted in parts; nothing here enumerates ranks except
// `groupRanks`, so that a mesh of 16,384 ranks costs as much as one of two.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_MESH_MESH_H
#define TANDEM_RUNTIME_MESH_MESH_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

struct Axis {
  std::string name;
  int64_t size = 1;
  bool operator==(const Axis &other) const {
    return name == other.name && size == other.size;
  }
};

/// An axis of a mesh or a part of one; see the file's comment.
struct AxisRef {
  std::string name;
  int64_t preSize = 1; ///< Positions of the axis that are major to the part.
  int64_t size = 1;    ///< Positions of the part itself.

  bool operator==(const AxisRef &other) const {
    return preSize == other.preSize && size == other.size && name == other.name;
  }
  bool operator!=(const AxisRef &other) const { return !(*this == other); }
  bool operator<(const AxisRef &other) const;
  /// Whether they cannot be used side by side: neither lies whole in front of
  /// the other. "tp":(1)2 and "tp":(3)2 of 6 share no digit, but tp / 3 and
  /// tp % 2 do not name the ranks either.
  bool overlaps(const AxisRef &other) const;
  /// Whether `other` directly follows this part within the same axis.
  bool precedes(const AxisRef &other) const {
    return name == other.name && preSize * size == other.preSize;
  }
};

using AxisList = std::vector<AxisRef>;

/// The product of the parts' sizes; 1 for none.
int64_t sizeOf(const AxisList &axes);
bool overlaps(const AxisList &axes, const AxisRef &axis);
/// The parts that have more than one position; the others split nothing.
AxisList withoutTrivial(const AxisList &axes);
/// Joins neighbours that are parts of one axis in order: (1)2,(2)2 -> (1)4.
AxisList merged(const AxisList &axes);
/// The longest common leading list, splitting a part where one list's part is
/// a leading piece of the other's ("x" against "x":(1)2 gives "x":(1)2).
AxisList commonPrefix(const AxisList &a, const AxisList &b);
/// Whether `prefix` is a leading list of `axes` in that sense.
bool isPrefix(const AxisList &prefix, const AxisList &axes);
/// What follows `prefix` in `axes`; `prefix` is a leading list of it.
AxisList withoutPrefix(const AxisList &axes, const AxisList &prefix);

class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<Axis> axes) : axes_(std::move(axes)) {}

  /// Parses `pp=2,tp=4`. An empty text is the mesh of one rank. Refuses
  /// repeated names, sizes below 1 and more than 2^31 ranks, naming which.
  static Result<Mesh> parse(std::string_view text);

  const std::vector<Axis> &axes() const { return axes_; }
  int64_t numRanks() const;
  bool has(std::string_view axis) const { return indexOf(axis) >= 0; }
  /// The axis's size; 1 for a name that is no axis of the mesh.
  int64_t sizeOf(std::string_view axis) const;
  /// The whole axis; one that the mesh has.
  AxisRef whole(std::string_view axis) const;
  /// Whether the part exists: a known axis and sizes that divide it.
  bool contains(const AxisRef &axis) const;
  /// Whether it is all of its axis.
  bool isWhole(const AxisRef &axis) const {
    return axis.preSize == 1 && axis.size == sizeOf(axis.name);
  }

  /// `rank`'s position along an axis or part.
  int64_t coordinate(int64_t rank, const AxisRef &axis) const;
  /// `rank`'s row-major position over the parts, major first.
  int64_t coordinate(int64_t rank, const AxisList &axes) const;
  /// The rank that equals `rank` but for its position over `axes`.
  int64_t withCoordinate(int64_t rank, const AxisList &axes,
                         int64_t position) const;
  /// The ranks that differ from `rank` only along `axes`, ordered by their
  /// position over `axes` (so element i has coordinate i).
  std::vector<int64_t> groupRanks(int64_t rank, const AxisList &axes) const;

  /// `pp=2,tp=4`
  std::string toString() const;
  bool operator==(const Mesh &other) const { return axes_ == other.axes_; }

private:
  int indexOf(std::string_view axis) const;
  /// Ranks between neighbours along axis `index`.
  int64_t strideOf(int index) const;
  std::vector<Axis> axes_;
};

/// `"tp"` or `"tp":(1)2`; `mesh` tells whether a part is a whole axis.
std::string toString(const AxisRef &axis, const Mesh &mesh);

} // namespace tandem

#endif // TANDEM_RUNTIME_MESH_MESH_H

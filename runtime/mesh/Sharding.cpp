#include "runtime/mesh/Sharding.h"

#include "runtime/base/Suggest.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace tandem {

bool Sharding::sameLayout(const Sharding &other) const {
  if (dims.size() != other.dims.size())
    return false;
  for (size_t i = 0; i < dims.size(); ++i)
    if (merged(withoutTrivial(dims[i].axes)) !=
        merged(withoutTrivial(other.dims[i].axes)))
      return false;
  AxisList a = withoutTrivial(unreduced), b = withoutTrivial(other.unreduced);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return merged(a) == merged(b);
}

bool Sharding::isReplicated() const {
  return unreduced.empty() &&
         std::all_of(dims.begin(), dims.end(),
                     [](const DimSharding &d) { return d.axes.empty(); });
}

int64_t capacityOf(int64_t size, const AxisList &axes) {
  for (const AxisRef &axis : axes)
    size = (size + axis.size - 1) / axis.size;
  return size;
}

Extent extentOf(int64_t size, const AxisList &axes, const Mesh &mesh,
                int64_t rank) {
  Extent extent{0, size, size};
  for (const AxisRef &axis : axes) {
    int64_t piece = (extent.capacity + axis.size - 1) / axis.size;
    int64_t skipped =
        std::min(extent.size, mesh.coordinate(rank, axis) * piece);
    extent.begin += skipped;
    extent.size = std::min(extent.size - skipped, piece);
    extent.capacity = piece;
  }
  return extent;
}

bool isPadded(int64_t size, const AxisList &axes) {
  return capacityOf(size, axes) * sizeOf(axes) != size;
}

bool sameSplit(int64_t size, const AxisList &left, const AxisList &right) {
  AxisList a = withoutTrivial(left), b = withoutTrivial(right);
  if (a == b)
    return true;
  if (merged(a) != merged(b))
    return false;
  // What both spell alike may be uneven, a run that only together is the same
  // part of an axis may not.
  for (size_t i = 0, j = 0; i < a.size();) {
    int64_t left = a[i].size, right = b[j].size;
    bool isAlike = a[i++] == b[j++];
    while (left != right)
      if (left < right)
        left *= a[i++].size;
      else
        right *= b[j++].size;
    if (!isAlike && size % left != 0)
      return false;
    size = (size + left - 1) / left;
  }
  return true;
}

std::vector<int64_t> localShape(const std::vector<int64_t> &shape,
                                const Sharding &sharding) {
  std::vector<int64_t> local = shape;
  for (size_t i = 0; i < local.size(); ++i)
    local[i] = capacityOf(shape[i], sharding.dims[i].axes);
  return local;
}

Status check(const Sharding &sharding, size_t rank, const Mesh &mesh) {
  if (sharding.dims.size() != rank)
    return Status::refused(
        "sharding has " + std::to_string(sharding.dims.size()) +
        " dimensions, the tensor has " + std::to_string(rank));
  AxisList seen;
  std::vector<std::string> names;
  for (const Axis &axis : mesh.axes())
    names.push_back(axis.name);
  auto visit = [&](const AxisList &axes) -> Status {
    for (const AxisRef &axis : axes) {
      if (!mesh.has(axis.name))
        return Status::refused("unknown axis \"" + axis.name +
                               "\"; the mesh is " + mesh.toString() +
                               didYouMean(axis.name, names));
      if (!mesh.contains(axis))
        return Status::refused("axis " + toString(axis, mesh) +
                               " is no part of an axis of size " +
                               std::to_string(mesh.sizeOf(axis.name)));
      if (overlaps(seen, axis))
        return Status::refused("axis " + toString(axis, mesh) +
                               " is used twice");
      seen.push_back(axis);
    }
    return Status();
  };
  for (const DimSharding &dim : sharding.dims)
    TANDEM_TRY(visit(dim.axes));
  TANDEM_TRY(visit(sharding.replicated));
  return visit(sharding.unreduced);
}

namespace {

/// A recursive-descent reader of the sharding notation.
class Reader {
public:
  Reader(std::string_view text, const Mesh &mesh) : text(text), mesh(mesh) {}

  Result<Sharding> sharding() {
    Sharding result;
    TANDEM_TRY(expect('['));
    while (!accept(']')) {
      if (!result.dims.empty())
        TANDEM_TRY(expect(','));
      TANDEM_ASSIGN(DimSharding dim, dimension());
      result.dims.push_back(std::move(dim));
    }
    while (accept(',')) {
      if (accept("replicated="))
        TANDEM_TRY(axisSet(result.replicated));
      else if (accept("unreduced="))
        TANDEM_TRY(axisSet(result.unreduced));
      else
        return error("expected 'replicated=' or 'unreduced='");
    }
    skipBlanks();
    if (at != text.size())
      return error("unexpected text");
    return result;
  }

private:
  Result<DimSharding> dimension() {
    DimSharding dim;
    TANDEM_TRY(expect('{'));
    while (!accept('}')) {
      if (!dim.axes.empty())
        TANDEM_TRY(expect(','));
      if (accept('?')) {
        dim.open = true;
        TANDEM_TRY(expect('}'));
        break;
      }
      TANDEM_TRY(axis(dim.axes));
    }
    if (at < text.size() && text[at] == 'p') {
      ++at;
      int64_t priority = 0;
      TANDEM_TRY(number(priority));
      dim.priority = static_cast<int32_t>(priority);
    }
    return dim;
  }

  Status axisSet(AxisList &axes) {
    TANDEM_TRY(expect('{'));
    while (!accept('}')) {
      if (!axes.empty())
        TANDEM_TRY(expect(','));
      TANDEM_TRY(axis(axes));
    }
    return Status();
  }

  Status axis(AxisList &axes) {
    TANDEM_TRY(expect('"'));
    size_t end = text.find('"', at);
    if (end == std::string_view::npos)
      return error("an axis name has no closing quote");
    AxisRef axis;
    axis.name = std::string(text.substr(at, end - at));
    axis.size = mesh.sizeOf(axis.name);
    at = end + 1;
    if (accept(':')) {
      TANDEM_TRY(expect('('));
      TANDEM_TRY(number(axis.preSize));
      TANDEM_TRY(expect(')'));
      TANDEM_TRY(number(axis.size));
    }
    axes.push_back(std::move(axis));
    return Status();
  }

  Status number(int64_t &value) {
    skipBlanks();
    auto [end, failed] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (failed != std::errc() || value < 0 || value > INT32_MAX)
      return error("expected a number");
    at = end - text.data();
    return Status();
  }

  void skipBlanks() {
    while (at < text.size() &&
           std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }
  bool accept(char c) { return accept(std::string_view(&c, 1)); }
  bool accept(std::string_view word) {
    skipBlanks();
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  Status expect(char c) {
    return accept(c) ? Status() : error(std::string("expected '") + c + "'");
  }
  Status error(const std::string &what) const {
    return Status::refused(
        "sharding '" + std::string(text) + "': " + what + " at column " +
        std::to_string(at + 1) +
        "; expected one {...} for each dimension, such as [{\"tp\"}, {}]");
  }

  std::string_view text;
  const Mesh &mesh;
  size_t at = 0;
};

std::string listed(const AxisList &axes, const Mesh &mesh) {
  std::string text;
  for (const AxisRef &axis : axes)
    text += (text.empty() ? "" : ", ") + toString(axis, mesh);
  return text;
}

} // namespace

Result<Sharding> parseSharding(std::string_view text, const Mesh &mesh) {
  return Reader(text, mesh).sharding();
}

std::string toString(const Sharding &sharding, const Mesh &mesh) {
  std::string text = "[";
  for (size_t i = 0; i < sharding.dims.size(); ++i) {
    const DimSharding &dim = sharding.dims[i];
    text += (i ? ", {" : "{") + listed(dim.axes, mesh);
    if (dim.open)
      text += dim.axes.empty() ? "?" : ", ?";
    text += "}";
    if (dim.priority)
      text += "p" + std::to_string(dim.priority);
  }
  text += "]";
  if (!sharding.replicated.empty())
    text += ", replicated={" + listed(sharding.replicated, mesh) + "}";
  if (!sharding.unreduced.empty())
    text += ", unreduced={" + listed(sharding.unreduced, mesh) + "}";
  return text;
}

} // namespace tandem

#include "runtime/files/ReadView.h"

#include "runtime/files/ReadElements.h"

#include <algorithm>
#include <cstdlib>

namespace tandem {
namespace {

/// One dimension of a view: its size, and its strides on both sides.
struct Dimension {
  int64_t size, in, out;
};
using Dimensions = std::vector<Dimension>;

std::vector<int64_t> denseStrides(const std::vector<int64_t> &sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;
       stride *= std::max<int64_t>(sizes[i], 1))
    strides[i] = stride;
  return strides;
}

Status checkView(const StoredTensor &tensor, const StridedView &view,
                 const std::vector<int64_t> &outStrides) {
  if (view.sizes.size() != view.strides.size() ||
      (!outStrides.empty() && outStrides.size() != view.sizes.size()))
    return Status::refused("a view has " + std::to_string(view.sizes.size()) +
                           " sizes but " + std::to_string(view.strides.size()) +
                           " strides and " + std::to_string(outStrides.size()) +
                           " output strides");
  if (!elementCount(view.sizes))
    return Status::refused("a view cannot have the sizes " +
                           shapeToString(view.sizes));
  if (*elementCount(view.sizes) == 0)
    return Status();
  __int128 low = view.offset, high = view.offset;
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    __int128 reach = static_cast<__int128>(view.sizes[i] - 1) * view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  if (low < 0 || high >= static_cast<__int128>(tensor.elements()))
    return Status::refused(
        "the view of sizes " + shapeToString(view.sizes) + " and strides " +
        shapeToString(view.strides) + " at " + std::to_string(view.offset) +
        " leaves the stored shape " + shapeToString(tensor.shape));
  return Status();
}

/// The view's dimensions without those of size 1, neighbours that step as one
/// merged.
Dimensions simplify(const StridedView &view,
                    const std::vector<int64_t> &outStrides) {
  std::vector<int64_t> out =
      outStrides.empty() ? denseStrides(view.sizes) : outStrides;
  Dimensions result;
  for (size_t i = 0; i < view.sizes.size(); ++i) {
    Dimension next{view.sizes[i], view.strides[i], out[i]};
    if (next.size == 1)
      continue;
    if (!result.empty() && result.back().in == next.in * next.size &&
        result.back().out == next.out * next.size) {
      next.size *= result.back().size;
      result.back() = next;
    } else {
      result.push_back(next);
    }
  }
  return result;
}

/// Calls `read(in, out)` with the offsets of each combination of indices.
template <typename Read>
Status forEach(const Dimensions &dimensions, int64_t in, int64_t out, Read read,
               size_t depth = 0) {
  if (depth == dimensions.size())
    return read(in, out);
  const Dimension &d = dimensions[depth];
  for (int64_t i = 0; i < d.size; ++i)
    TANDEM_TRY(
        forEach(dimensions, in + i * d.in, out + i * d.out, read, depth + 1));
  return Status();
}

/// Reads views into elements that are as wide as T.
template <typename T> class ViewReader {
public:
  ViewReader(const StoredTensor &tensor, DType to, void *out)
      : tensor_(tensor), to_(to), out_(static_cast<T *>(out)) {}

  Status read(Dimensions dimensions, int64_t offset) {
    if (dimensions.empty())
      return run(offset, 1, out_);
    Dimension last = dimensions.back();
    dimensions.pop_back();
    if (last.in == 1 && last.out == 1)
      return forEach(dimensions, offset, 0, [&](int64_t in, int64_t out) {
        return run(in, last.size, out_ + out);
      });
    auto unit = std::find_if(dimensions.begin(), dimensions.end(),
                             [](const Dimension &d) { return d.in == 1; });
    if (unit == dimensions.end())
      return forEach(dimensions, offset, 0, [&](int64_t in, int64_t out) {
        return gather(last, in, out);
      });
    Dimension inner = *unit;
    dimensions.erase(unit);
    return forEach(dimensions, offset, 0, [&](int64_t in, int64_t out) {
      return transpose(inner, last, in, out);
    });
  }

private:
  Status run(int64_t first, int64_t count, T *out) {
    return readElements(tensor_, static_cast<uint64_t>(first),
                        static_cast<uint64_t>(count), to_, out);
  }

  /// A plane whose stored neighbours (along `inner`) are not the output's
  /// (along `outer`): a tile at a time, so that both sides use whole cache
  /// lines.
  Status transpose(const Dimension &inner, const Dimension &outer, int64_t in,
                   int64_t out) {
    for (int64_t i0 = 0; i0 < inner.size; i0 += width) {
      int64_t columns = std::min<int64_t>(width, inner.size - i0);
      for (int64_t j0 = 0; j0 < outer.size; j0 += height) {
        int64_t rows = std::min<int64_t>(height, outer.size - j0);
        for (int64_t j = 0; j < rows; ++j)
          TANDEM_TRY(
              run(in + (j0 + j) * outer.in + i0, columns, tile_ + j * width));
        T *to = out_ + out + i0 * inner.out + j0 * outer.out;
        for (int64_t i = 0; i < columns; ++i)
          for (int64_t j = 0; j < rows; ++j)
            to[i * inner.out + j * outer.out] = tile_[j * width + i];
      }
    }
    return Status();
  }

  /// A dimension that steps over stored elements: where the steps are short,
  /// what lies between is read too and left out.
  Status gather(const Dimension &d, int64_t in, int64_t out) {
    constexpr int64_t tile = width * height;
    T *to = out_ + out;
    int64_t step = std::abs(d.in);
    int64_t most = step == 0 || step > 16 ? 1 : (tile - 1) / step + 1;
    for (int64_t i = 0; i < d.size; i += most) {
      int64_t n = std::min(most, d.size - i);
      int64_t reach = (n - 1) * step;
      int64_t first = in + i * d.in - (d.in < 0 ? reach : 0);
      TANDEM_TRY(run(first, reach + 1, tile_));
      for (int64_t j = 0; j < n; ++j)
        to[(i + j) * d.out] = tile_[d.in < 0 ? reach - j * step : j * step];
    }
    return Status();
  }

  // A row of a tile is a block of the largest quantised type.
  static constexpr int64_t width = 256, height = 32;

  const StoredTensor &tensor_;
  DType to_;
  T *out_;
  T tile_[width * height];
};

Status readDimensions(const StoredTensor &tensor, Dimensions dimensions,
                      uint64_t offset, DType to, void *out) {
  auto first = static_cast<int64_t>(offset);
  switch (blockBytes(to)) {
  case 1:
    return ViewReader<uint8_t>(tensor, to, out).read(dimensions, first);
  case 2:
    return ViewReader<uint16_t>(tensor, to, out).read(dimensions, first);
  case 4:
    return ViewReader<uint32_t>(tensor, to, out).read(dimensions, first);
  default:
    return ViewReader<uint64_t>(tensor, to, out).read(dimensions, first);
  }
}

} // namespace

StridedView wholeView(const StoredTensor &tensor) {
  return {0, tensor.shape, denseStrides(tensor.shape)};
}

Status readView(const StoredTensor &tensor, const StridedView &view, DType to,
                void *out, const std::vector<int64_t> &outStrides) {
  Status status = checkView(tensor, view, outStrides);
  if (status.ok() && isQuantised(to))
    status =
        Status::refused("a view cannot be read as " + std::string(name(to)));
  if (!status.ok())
    return status.withContext("tensor '" + tensor.name + "'");
  if (*elementCount(view.sizes) == 0)
    return Status();
  return readDimensions(tensor, simplify(view, outStrides), view.offset, to,
                        out);
}

const std::byte *mappedView(const StoredTensor &tensor, const StridedView &view,
                            DType to) {
  if (tensor.dtype != to || !checkView(tensor, view, {}).ok() ||
      *elementCount(view.sizes) == 0)
    return nullptr;
  Dimensions dimensions = simplify(view, {});
  bool dense =
      dimensions.empty() || (dimensions.size() == 1 && dimensions[0].in == 1);
  const auto block = static_cast<uint64_t>(blockElements(to));
  if (!dense || view.offset % block != 0 ||
      *elementCount(view.sizes) % block != 0)
    return nullptr;
  const std::byte *at =
      tensor.data + view.offset / block * static_cast<uint64_t>(blockBytes(to));
  auto alignment = isQuantised(to) ? 1 : static_cast<uintptr_t>(blockBytes(to));
  return reinterpret_cast<uintptr_t>(at) % alignment == 0 ? at : nullptr;
}

} // namespace tandem

#include "runtime/kernels/Product.h"

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/VectorOps.h"

#include <oneapi/dnnl/dnnl.h>

// libgomp's; its header is not on every compiler's path.
extern "C" void omp_set_num_threads(int threads);

namespace tandem {
namespace {

// Tiles of a large product: small enough that few leave a thread idle, large
// enough that oneDNN packs little per multiplication.
constexpr int64_t kTileRows = 128;
constexpr int64_t kTileColumns = 192;

/// Depth that is packed at a time.
constexpr int64_t kPackedDepth = 4096;

/// Columns of a streamed product are handed out in units of a cache line.
constexpr int64_t kColumnUnit = 16;
/// Sums that a streaming thread keeps on its stack (16 KiB).
constexpr int64_t kStreamSums = 4096;

using Offsets = LoopNest<3>::Offsets;

int64_t floatBytes(int64_t count) { return (count * 4 + 63) / 64 * 64; }

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

WeightKind weightKind(DType type) {
  return type == DType::BF16  ? kWeightBF16
         : type == DType::F16 ? kWeightF16
                              : kWeightF32;
}

/// Whether sgemm can read it where it lies, as rows or as columns.
bool isDirect(const ProductMatrix &matrix) {
  return matrix.type == DType::F32 &&
         (matrix.columnStride == 1 || matrix.rowStride == 1);
}

/// Copies `rows` x `columns` from element `first` on to packed row-major
/// floats.
void packRows(float *to, const ProductMatrix &from, int64_t first, int64_t rows,
              int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) {
    float *row = to + r * columns;
    const float *loaded =
        loadTile<float>(from.data, from.type, first + r * from.rowStride,
                        columns, row, from.columnStride);
    if (loaded != row)
      std::memcpy(row, loaded, columns * sizeof(float));
  }
}

/// What sgemm is given of one operand.
struct GemmOperand {
  const float *data;
  int64_t stride;
  bool transposed;
};

GemmOperand readOperand(const ProductMatrix &matrix, int64_t first,
                        int64_t rows, int64_t columns, float *packed) {
  if (isDirect(matrix)) {
    const float *data = reinterpret_cast<const float *>(matrix.data) + first;
    if (matrix.columnStride == 1)
      return {data, std::max(matrix.rowStride, columns), false};
    return {data, std::max(matrix.columnStride, rows), true};
  }
  // Packed along the dimension that is closer in memory.
  if (matrix.rowStride == 1) {
    ProductMatrix turned = matrix;
    std::swap(turned.rowStride, turned.columnStride);
    packRows(packed, turned, first, columns, rows);
    return {packed, rows, true};
  }
  packRows(packed, matrix, first, rows, columns);
  return {packed, columns, false};
}

} // namespace

void multiplyOnThread(bool transposeA, bool transposeB, int64_t rows,
                      int64_t columns, int64_t depth, const float *a,
                      int64_t strideA, const float *b, int64_t strideB,
                      bool accumulate, float *c, int64_t strideC) {
  // Each pool thread multiplies its own tile; a team of libgomp's own threads
  // would fight with the pool for the cores.
  thread_local bool alone = (omp_set_num_threads(1), true);
  (void)alone;
  dnnl_sgemm(transposeA ? 'T' : 'N', transposeB ? 'T' : 'N', rows, columns,
             depth, 1.0f, a, strideA, b, strideB, accumulate ? 1.0f : 0.0f, c,
             strideC);
}

int64_t productScratchBytes(int64_t depth) {
  int64_t packed = std::min(depth, kPackedDepth);
  int64_t tiles = floatBytes(kTileRows * packed) +
                  floatBytes(kTileColumns * packed) +
                  floatBytes(kTileRows * kTileColumns);
  return std::max(tiles, floatBytes(kMaxProductRows * depth));
}

void Product::transpose() {
  std::swap(rows, columns);
  std::swap(a, b);
  std::swap(a.rowStride, a.columnStride);
  std::swap(b.rowStride, b.columnStride);
  std::swap(c.rowStride, c.columnStride);
  for (auto &loop : outer.loops)
    std::swap(loop.strides[0], loop.strides[1]);
  for (auto &loop : deep.loops)
    std::swap(loop.strides[0], loop.strides[1]);
}

void Product::normalise() {
  // The stride of a dimension of one is free: what makes a row contiguous.
  for (ProductMatrix *matrix : {&a, &b, &c}) {
    int64_t high = matrix == &b ? depth : rows;
    int64_t wide = matrix == &a ? depth : columns;
    if (wide == 1 && matrix->rowStride != 1)
      matrix->columnStride = 1;
    else if (high == 1 && matrix->columnStride != 1)
      matrix->rowStride = 1;
  }
  bool fewColumns = columns <= kMaxProductRows && columns < rows;
  bool fewRows = rows <= kMaxProductRows && rows <= columns;
  bool upright = c.columnStride != 1 && c.rowStride == 1;
  if (fewColumns || (upright && !fewRows))
    transpose();
}

bool Product::streams() const {
  return rows <= kMaxProductRows && (b.rowStride == 1 || b.columnStride == 1);
}

void Product::run(std::byte *scratch, ThreadPool &threads) const {
  if (streams())
    runStreaming(scratch, threads);
  else
    runTiles(scratch, threads);
}

void Product::runStreaming(std::byte *scratch, ThreadPool &threads) const {
  int64_t units = ceilDiv(columns, kColumnUnit), total = outer.count() * units;
  int64_t work = rows * depth * deep.count() * kColumnUnit;
  int64_t pieces = pieceCount(threads, total, ceilDiv(32768, work));
  threads.run(pieces, [&](int64_t piece) {
    int64_t unit = total * piece / pieces;
    int64_t last = total * (piece + 1) / pieces;
    auto *packed = reinterpret_cast<float *>(
        scratch ? scratch + piece * productScratchBytes(depth) : nullptr);
    while (unit < last) {
      int64_t index = unit / units, first = unit % units;
      int64_t count = std::min(units - first, last - unit);
      streamColumns(outer.offsets(index), first * kColumnUnit,
                    std::min((first + count) * kColumnUnit, columns), packed);
      unit += count;
    }
  });
}

void Product::streamColumns(const Offsets &at, int64_t begin, int64_t end,
                            float *packed) const {
  const VectorOps &ops = vectorOps();
  WeightKind kind = weightKind(b.type);
  int64_t elementBytes = storageBytes(b.type, 1);
  int64_t block = kStreamSums / rows / kColumnUnit * kColumnUnit;
  bool alongDepth = b.rowStride == 1;
  float sums[kStreamSums];
  for (int64_t j = begin; j < end; j += block) {
    int64_t count = std::min(block, end - j), steps = deep.count();
    if (!alongDepth || steps > 1)
      std::fill_n(sums, rows * count, 0.0f);
    for (int64_t step = 0; step < steps; ++step) {
      auto further = deep.offsets(step);
      const float *x =
          reinterpret_cast<const float *>(a.data) + at[0] + further[0];
      int64_t strideX = a.rowStride;
      if (a.type != DType::F32 || a.columnStride != 1) {
        packRows(packed, a, at[0] + further[0], rows, depth);
        x = packed;
        strideX = depth;
      }
      const std::byte *w =
          b.data + (at[1] + further[1] + j * b.columnStride) * elementBytes;
      if (!alongDepth) {
        ops.addRows[kind](sums, count, x, strideX, w, b.rowStride, rows, count,
                          depth);
      } else if (steps == 1) {
        ops.dotRows[kind](sums, count, x, strideX, w, b.columnStride, rows,
                          count, depth);
      } else {
        // Sums of one step at a time, added in the order of the steps.
        for (int64_t c = 0; c < count; c += kColumnUnit) {
          float part[kMaxProductRows * kColumnUnit];
          int64_t some = std::min(kColumnUnit, count - c);
          ops.dotRows[kind](part, kColumnUnit, x, strideX,
                            w + c * b.columnStride * elementBytes,
                            b.columnStride, rows, some, depth);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t i = 0; i < some; ++i)
              sums[r * count + c + i] += part[r * kColumnUnit + i];
        }
      }
    }
    for (int64_t r = 0; r < rows; ++r)
      storeTile(c.data, c.type, at[2] + r * c.rowStride + j * c.columnStride,
                count, sums + r * count, c.columnStride);
  }
}

void Product::runTiles(std::byte *scratch, ThreadPool &threads) const {
  int64_t rowTiles = ceilDiv(rows, kTileRows);
  int64_t columnTiles = ceilDiv(columns, kTileColumns);
  int64_t total = outer.count() * columnTiles * rowTiles;
  int64_t pieces = pieceCount(threads, total, 1);
  threads.run(pieces, [&](int64_t piece) {
    auto *packed = reinterpret_cast<float *>(
        scratch ? scratch + piece * productScratchBytes(depth) : nullptr);
    int64_t end = total * (piece + 1) / pieces;
    for (int64_t tile = total * piece / pieces; tile < end; ++tile) {
      int64_t rowTile = tile % rowTiles;
      int64_t columnTile = tile / rowTiles % columnTiles;
      runTile(outer.offsets(tile / rowTiles / columnTiles), rowTile * kTileRows,
              columnTile * kTileColumns, packed);
    }
  });
}

void Product::runTile(const Offsets &at, int64_t row, int64_t column,
                      float *packed) const {
  int64_t high = std::min(kTileRows, rows - row);
  int64_t wide = std::min(kTileColumns, columns - column);
  // What lies ready is read in one go, what is packed a part at a time.
  bool direct = isDirect(a) && isDirect(b);
  int64_t part = direct ? depth : std::min(depth, kPackedDepth);
  float *packedB = packed + floatBytes(kTileRows * part) / 4;
  float *packedC = packedB + floatBytes(kTileColumns * part) / 4;
  int64_t firstC = at[2] + row * c.rowStride + column * c.columnStride;
  bool inPlace = c.type == DType::F32 && c.columnStride == 1;
  float *to = inPlace ? reinterpret_cast<float *>(c.data) + firstC : packedC;
  int64_t strideTo = inPlace ? std::max(c.rowStride, wide) : wide;
  for (int64_t step = 0; step < deep.count(); ++step) {
    auto further = deep.offsets(step);
    for (int64_t k = 0; k < depth; k += part) {
      int64_t some = std::min(part, depth - k);
      GemmOperand left = readOperand(
          a, at[0] + further[0] + row * a.rowStride + k * a.columnStride, high,
          some, packed);
      GemmOperand right = readOperand(
          b, at[1] + further[1] + column * b.columnStride + k * b.rowStride,
          some, wide, packedB);
      multiplyOnThread(left.transposed, right.transposed, high, wide, some,
                       left.data, left.stride, right.data, right.stride,
                       step > 0 || k > 0, to, strideTo);
    }
  }
  if (!inPlace)
    for (int64_t r = 0; r < high; ++r)
      storeTile(c.data, c.type, firstC + r * c.rowStride, wide,
                packedC + r * wide, c.columnStride);
}

} // namespace tandem

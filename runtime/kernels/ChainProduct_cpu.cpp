#include "runtime/kernels/ChainProduct.h"

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/MapOp.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/VectorOps.h"

namespace tandem {
namespace {

// Tiles fit the L2 cache, panels of b the L1; no bit depends on them. Both are
// multiples of every chainRows and chainColumns.
constexpr int64_t kTileRows = 264;
constexpr int64_t kTileColumns = 384;
constexpr int64_t kDepth = 336;
constexpr int64_t kTileSums = kTileRows * kTileColumns;
constexpr int64_t kPackedRows = kTileRows * kDepth;
constexpr int64_t kPackedColumns = kTileColumns * kDepth;

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

const float *floatsOf(const ProductMatrix &matrix, int64_t at) {
  return reinterpret_cast<const float *>(matrix.data) + at;
}

/// Copies `high` rows of `depth` into panels of chainRows rows, k outside.
void packRows(float *to, const ProductMatrix &a, int64_t at, int64_t high,
              const LoopNest<2>::Loop &depth) {
  int64_t panel = vectorOps().chainRows, stride = depth.strides[0];
  float buffer[std::max(kTileRows, kDepth)];
  if (a.rowStride == 1) {
    for (int64_t k = 0; k < depth.size; ++k) {
      const float *from =
          loadTile<float>(a.data, a.type, at + k * stride, high, buffer);
      for (int64_t r = 0; r < high; r += panel)
        std::copy_n(from + r, std::min(panel, high - r),
                    to + r * kDepth + k * panel);
    }
    return;
  }
  for (int64_t r = 0; r < high; ++r) {
    const float *from = loadTile<float>(a.data, a.type, at + r * a.rowStride,
                                        depth.size, buffer, stride);
    float *place = to + r / panel * panel * kDepth + r % panel;
    for (int64_t k = 0; k < depth.size; ++k)
      place[k * panel] = from[k];
  }
}

/// Copies `wide` columns of `depth` into panels of chainColumns columns.
void packColumns(float *to, const ProductMatrix &b, int64_t at, int64_t wide,
                 const LoopNest<2>::Loop &depth) {
  const VectorOps &ops = vectorOps();
  int64_t panel = ops.chainColumns, stride = depth.strides[1];
  bool floats = b.type == DType::F32;
  if (floats && b.columnStride == 1)
    return ops.chainPack(to, panel * kDepth, floatsOf(b, at), stride, wide,
                         depth.size);
  for (int64_t j = 0; j < wide; j += panel) {
    int64_t columns = std::min(panel, wide - j);
    float *place = to + j * kDepth;
    if (floats && stride == 1) {
      ops.chainPackTurned(place, floatsOf(b, at + j * b.columnStride),
                          b.columnStride, columns, depth.size);
      continue;
    }
    float buffer[kDepth];
    std::fill_n(place, panel * depth.size, 0.0f);
    for (int64_t i = 0; i < columns; ++i) {
      const float *from =
          loadTile<float>(b.data, b.type, at + (j + i) * b.columnStride,
                          depth.size, buffer, stride);
      for (int64_t k = 0; k < depth.size; ++k)
        place[k * panel + i] = from[k];
    }
  }
}

/// The sizes of tiles: as large as the caches like, but as many as keep the
/// threads equally busy.
struct TileGrid {
  TileGrid(int64_t rows, int64_t columns, int64_t repeats, int threads) {
    rowTiles = ceilDiv(rows, kTileRows);
    columnTiles = ceilDiv(columns, kTileColumns);
    auto idles = [&] {
      int64_t tiles = rowTiles * columnTiles * repeats;
      return 10 * ceilDiv(tiles, threads) * threads > 11 * tiles;
    };
    while (idles() && columns / columnTiles > 48)
      ++columnTiles;
    int64_t high = vectorOps().chainRows, wide = vectorOps().chainColumns;
    tileRows = ceilDiv(ceilDiv(rows, rowTiles), high) * high;
    tileColumns = ceilDiv(ceilDiv(columns, columnTiles), wide) * wide;
    rowTiles = ceilDiv(rows, tileRows);
    columnTiles = ceilDiv(columns, tileColumns);
  }
  int64_t rowTiles, columnTiles, tileRows, tileColumns;
};

int64_t levelsOf(int64_t pieces) {
  int64_t levels = 1;
  for (; pieces > 1; pieces /= 2)
    ++levels;
  return levels;
}

} // namespace

int64_t chainScratchBytes(int64_t pieces) {
  return 4 * (kPackedRows + kPackedColumns + levelsOf(pieces) * kTileSums);
}

struct ChainProduct::Tile {
  int64_t row, column, high, wide;
  int64_t stride() const { // of a row of sums
    int64_t panel = vectorOps().chainColumns;
    return ceilDiv(wide, panel) * panel;
  }
};

ChainProduct ChainProduct::of(const Product &product) {
  ChainProduct chain;
  chain.rows = product.rows;
  chain.columns = product.columns;
  chain.a = product.a;
  chain.b = product.b;
  chain.c = product.c;
  chain.outer = product.outer;
  ChainPiece piece;
  piece.deep = product.deep;
  piece.inner = {product.depth, {product.a.columnStride, product.b.rowStride}};
  chain.pieces = {piece};
  return chain;
}

void ChainProduct::transpose() {
  std::swap(rows, columns);
  std::swap(a, b);
  for (ProductMatrix *matrix : {&a, &b, &c})
    std::swap(matrix->rowStride, matrix->columnStride);
  for (auto &loop : outer.loops)
    std::swap(loop.strides[0], loop.strides[1]);
  for (ChainPiece &piece : pieces) {
    std::swap(piece.first[0], piece.first[1]);
    std::swap(piece.inner.strides[0], piece.inner.strides[1]);
    for (auto &loop : piece.deep.loops)
      std::swap(loop.strides[0], loop.strides[1]);
  }
}

void ChainProduct::normalise() {
  bool upright = columns > 1 && c.columnStride != 1 && c.rowStride == 1;
  bool narrow = columns < vectorOps().chainColumns && rows > columns;
  if (upright || narrow)
    transpose();
}

void ChainProduct::run(std::byte *scratch, ThreadPool &threads) const {
  int64_t repeats = outer.count();
  TileGrid grid(rows, columns, repeats, threads.size());
  int64_t tiles = grid.rowTiles * grid.columnTiles, total = repeats * tiles;
  int64_t own = chainScratchBytes(static_cast<int64_t>(pieces.size()));
  int64_t shares = pieceCount(threads, total, 1);
  threads.run(shares, [&](int64_t share) {
    auto *mine = reinterpret_cast<float *>(scratch + share * own);
    int64_t end = total * (share + 1) / shares;
    for (int64_t i = total * share / shares; i < end; ++i) {
      Tile tile;
      tile.row = i % grid.rowTiles * grid.tileRows;
      tile.column = i / grid.rowTiles % grid.columnTiles * grid.tileColumns;
      tile.high = std::min(grid.tileRows, rows - tile.row);
      tile.wide = std::min(grid.tileColumns, columns - tile.column);
      runTile(outer.offsets(i / tiles), tile, mine);
    }
  });
}

void ChainProduct::runTile(const LoopNest<3>::Offsets &at, const Tile &tile,
                           float *scratch) const {
  float *stack = scratch + kPackedRows + kPackedColumns;
  int64_t used = tile.high * tile.stride(), top = 0;
  for (size_t i = 0; i < pieces.size(); ++i, ++top) {
    runPiece(at, tile, pieces[i], stack + top * kTileSums, scratch);
    // As many merges as 2 divides the pieces so far: a binary tree.
    for (size_t done = i + 1; done % 2 == 0; done /= 2, --top) {
      float *left = stack + (top - 1) * kTileSums;
      vectorOps().binary[kMapAdd](left, left, left + kTileSums, used);
    }
  }
  int64_t first = at[2] + tile.row * c.rowStride + tile.column * c.columnStride;
  for (int64_t r = 0; r < tile.high; ++r)
    storeTile<float>(c.data, c.type, first + r * c.rowStride, tile.wide,
                     stack + r * tile.stride(), c.columnStride);
}

void ChainProduct::runPiece(const LoopNest<3>::Offsets &at, const Tile &tile,
                            const ChainPiece &piece, float *sums,
                            float *scratch) const {
  bool more = false;
  for (int64_t step = 0; step < piece.deep.count(); ++step) {
    auto further = piece.deep.offsets(step);
    for (int64_t k = 0; k < piece.inner.size; k += kDepth, more = true) {
      auto [strideA, strideB] = piece.inner.strides;
      LoopNest<2>::Loop depth = {std::min(kDepth, piece.inner.size - k),
                                 {strideA, strideB}};
      addBlock(tile, depth,
               at[0] + piece.first[0] + further[0] + tile.row * a.rowStride +
                   k * strideA,
               at[1] + piece.first[1] + further[1] +
                   tile.column * b.columnStride + k * strideB,
               more, sums, scratch);
    }
  }
  if (!more)
    std::fill_n(sums, tile.high * tile.stride(), 0.0f);
}

void ChainProduct::addBlock(const Tile &tile, const LoopNest<2>::Loop &depth,
                            int64_t atA, int64_t atB, bool more, float *sums,
                            float *scratch) const {
  const VectorOps &ops = vectorOps();
  float *packed = scratch + kPackedRows;
  packColumns(packed, b, atB, tile.wide, depth);
  // Rows along the depth are read where they lie.
  bool direct = a.type == DType::F32 && depth.strides[0] == 1;
  if (!direct)
    packRows(scratch, a, atA, tile.high, depth);
  const float *left = direct ? floatsOf(a, atA) : scratch;
  int64_t rowStride = direct ? a.rowStride : 1;
  int64_t depthStride = direct ? 1 : ops.chainRows;
  int64_t panelStride = ops.chainRows * (direct ? a.rowStride : kDepth);
  for (int64_t j = 0; j < tile.wide; j += ops.chainColumns)
    for (int64_t r = 0; r < tile.high; r += ops.chainRows) {
      int64_t some = std::min<int64_t>(ops.chainRows, tile.high - r);
      ops.chain(sums + r * tile.stride() + j, tile.stride(),
                left + r / ops.chainRows * panelStride, rowStride, depthStride,
                packed + j * kDepth, depth.size, more, static_cast<int>(some));
    }
}

} // namespace tandem

#include "runtime/kernels/Contract.h"
#include "runtime/kernels/Copy.h"

#include <cstdlib>

namespace tandem {
namespace {

using Loop = LoopNest<2>::Loop;

/// Below this, handing pieces to threads costs more than the copy.
constexpr int64_t kBytesPerPiece = 64 << 10;

/// One loop of elements of type T, `Loop` strides in bytes.
template <typename T>
void copyElements(std::byte *out, const std::byte *in, const Loop &loop) {
  int64_t stepOut = loop.strides[0], stepIn = loop.strides[1];
  if (stepIn == 0 && stepOut == sizeof(T)) {
    std::fill_n(reinterpret_cast<T *>(out), loop.size,
                *reinterpret_cast<const T *>(in));
    return;
  }
  for (int64_t i = 0; i < loop.size; ++i)
    std::memcpy(out + i * stepOut, in + i * stepIn, sizeof(T));
}

/// Two loops of elements in blocks, so that both sides use whole cache lines.
template <typename T>
void copyBlocks(std::byte *out, const std::byte *in, const Loop &across,
                const Loop &inner) {
  constexpr int64_t kBlock = 64 / sizeof(T);
  for (int64_t a = 0; a < across.size; a += kBlock)
    for (int64_t i = 0; i < inner.size; i += kBlock) {
      int64_t endA = std::min(a + kBlock, across.size);
      int64_t endI = std::min(i + kBlock, inner.size);
      for (int64_t x = a; x < endA; ++x)
        for (int64_t y = i; y < endI; ++y)
          std::memcpy(out + x * across.strides[0] + y * inner.strides[0],
                      in + x * across.strides[1] + y * inner.strides[1],
                      sizeof(T));
    }
}

template <typename T>
void copyInner(std::byte *out, const std::byte *in, const Loop &across,
               const Loop &inner) {
  if (across.size == 1)
    copyElements<T>(out, in, inner);
  else
    copyBlocks<T>(out, in, across, inner);
}

} // namespace

StridedCopy::StridedCopy(int64_t elementBytes, LoopNest<2> loops)
    : elementBytes(elementBytes), nest(std::move(loops)) {
  bytes = elementBytes * nest.count();
  for (Loop &loop : nest.loops)
    for (int64_t &stride : loop.strides)
      stride *= elementBytes;
  std::stable_sort(nest.loops.begin(), nest.loops.end(),
                   [](const Loop &a, const Loop &b) {
                     return std::abs(a.strides[0]) > std::abs(b.strides[0]);
                   });
  nest.merge();
  inner = nest.takeInnermost();
  // A loop that walks the input by runs while `inner` does not: transpose.
  for (size_t l = 0; l < nest.loops.size(); ++l)
    if (nest.loops[l].strides[1] == elementBytes &&
        inner.strides[1] != elementBytes && inner.strides[1] != 0) {
      across = nest.loops[l];
      nest.loops.erase(nest.loops.begin() + l);
      break;
    }
}

void StridedCopy::runInner(std::byte *out, const std::byte *in) const {
  if (across.size == 1 && inner.strides[0] == elementBytes &&
      inner.strides[1] == elementBytes) {
    std::memmove(out, in, inner.size * elementBytes);
    return;
  }
  switch (elementBytes) {
  case 1:
    return copyInner<uint8_t>(out, in, across, inner);
  case 2:
    return copyInner<uint16_t>(out, in, across, inner);
  case 4:
    return copyInner<uint32_t>(out, in, across, inner);
  case 8:
    return copyInner<uint64_t>(out, in, across, inner);
  }
  for (int64_t a = 0; a < across.size; ++a)
    for (int64_t i = 0; i < inner.size; ++i)
      std::memcpy(out + a * across.strides[0] + i * inner.strides[0],
                  in + a * across.strides[1] + i * inner.strides[1],
                  elementBytes);
}

void StridedCopy::runLoop(size_t loop, std::byte *out,
                          const std::byte *in) const {
  if (loop == nest.loops.size())
    return runInner(out, in);
  const Loop &here = nest.loops[loop];
  for (int64_t i = 0; i < here.size; ++i)
    runLoop(loop + 1, out + i * here.strides[0], in + i * here.strides[1]);
}

void StridedCopy::run(std::byte *out, const std::byte *in) const {
  if (bytes > 0)
    runLoop(0, out, in);
}

/// Iterations [begin, end) of the outermost loop, or of the only run.
void StridedCopy::runRange(std::byte *out, const std::byte *in, int64_t begin,
                           int64_t end) const {
  if (nest.loops.empty()) {
    if (begin < end)
      std::memmove(out + begin, in + begin, end - begin);
    return;
  }
  const Loop &outer = nest.loops[0];
  for (int64_t i = begin; i < end; ++i)
    runLoop(1, out + i * outer.strides[0], in + i * outer.strides[1]);
}

void StridedCopy::run(std::byte *out, const std::byte *in,
                      ThreadPool &threads) const {
  bool oneRun = nest.loops.empty() && across.size == 1 &&
                inner.strides[0] == elementBytes &&
                inner.strides[1] == elementBytes;
  if (bytes < 2 * kBytesPerPiece || (nest.loops.empty() && !oneRun))
    return run(out, in);
  int64_t total = oneRun ? bytes : nest.loops[0].size;
  int64_t grain = std::max<int64_t>(total * kBytesPerPiece / bytes, 1);
  forRanges(threads, total, grain,
            [&](int64_t begin, int64_t end) { runRange(out, in, begin, end); });
}

void copyStrided(std::byte *out, const std::byte *in, int64_t elementBytes,
                 const std::vector<int64_t> &sizes,
                 const std::vector<int64_t> &outStrides,
                 const std::vector<int64_t> &inStrides) {
  LoopNest<2> nest;
  for (size_t d = 0; d < sizes.size(); ++d)
    nest.add(sizes[d], {outStrides[d], inStrides[d]});
  StridedCopy(elementBytes, std::move(nest)).run(out, in);
}

} // namespace tandem

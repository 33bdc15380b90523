#include "runtime/kernels/Peaks.h"

#include "runtime/kernels/Product.h"
#include "runtime/kernels/VectorOps.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <vector>

namespace tandem {
namespace {

/// Seconds of the median of `times` calls.
template <typename Body> double medianSeconds(int times, const Body &body) {
  std::vector<double> seconds;
  for (int i = 0; i < times; ++i) {
    auto start = std::chrono::steady_clock::now();
    body();
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    seconds.push_back(passed.count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + times / 2, seconds.end());
  return seconds[times / 2];
}

} // namespace

double measureReadBandwidth(ThreadPool &threads, size_t bytes) {
  int64_t count = bytes / sizeof(float), pieces = threads.size();
  std::unique_ptr<float[]> memory(new (std::nothrow) float[count]);
  std::vector<float> sums(pieces * 16);
  if (!memory)
    return 0;
  auto range = [&](int64_t piece) { return count * piece / pieces; };
  threads.run(pieces, [&](int64_t piece) {
    std::fill(memory.get() + range(piece), memory.get() + range(piece + 1),
              1.0f);
  });
  double seconds = medianSeconds(7, [&] {
    threads.run(pieces, [&](int64_t piece) {
      sums[piece * 16] = vectorOps().sum(memory.get() + range(piece),
                                         range(piece + 1) - range(piece));
    });
  });
  return static_cast<double>(bytes) / seconds * 1e-9;
}

double measureSgemmPeak(ThreadPool &threads, int64_t n) {
  std::vector<float> a(n * n, 0.5f), b(n * n, 0.25f), c(n * n);
  int64_t pieces = threads.size();
  auto edge = [&](int64_t piece) {
    return piece == pieces ? n : n * piece / pieces / 64 * 64;
  };
  auto multiply = [&] {
    threads.run(pieces, [&](int64_t piece) {
      int64_t first = edge(piece), columns = edge(piece + 1) - first;
      if (columns > 0)
        multiplyOnThread(false, false, n, columns, n, a.data(), n,
                         b.data() + first, n, false, c.data() + first, n);
    });
  };
  multiply();
  double seconds = medianSeconds(9, multiply);
  return 2e-9 * static_cast<double>(n) * n * n / seconds;
}

} // namespace tandem

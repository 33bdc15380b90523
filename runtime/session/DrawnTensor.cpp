#include "runtime/session/DrawnTensor.h"

#include "runtime/files/ConvertElements.h"
#include "runtime/files/Fingerprint.h"
#include "runtime/kernels/Philox.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

constexpr int64_t kTile = 256;
constexpr double kTwoPi = 6.283185307179586476925287;

uint32_t low(uint64_t wide) { return static_cast<uint32_t>(wide); }
uint32_t high(uint64_t wide) { return static_cast<uint32_t>(wide >> 32); }

/// Draws a view row by row, `tile` elements at a time.
class Drawing {
public:
  Drawing(const DrawnTensor &tensor, const StridedView &view, DType to,
          std::byte *out, const std::vector<int64_t> &outStrides)
      : tensor(tensor), view(view), to(to), out(out), outStrides(outStrides),
        bytes(blockBytes(to)) {}

  Status run(size_t dim, int64_t in, int64_t at) {
    if (view.sizes.empty())
      return row(in, 0, at, 0, 1);
    bool last = dim + 1 == view.sizes.size();
    int64_t step = last ? kTile : 1;
    for (int64_t i = 0; i < view.sizes[dim]; i += step) {
      int64_t from = in + i * view.strides[dim];
      int64_t into = at + i * outStrides[dim];
      TANDEM_TRY(last ? row(from, view.strides[dim], into, outStrides[dim],
                            std::min(kTile, view.sizes[dim] - i))
                      : run(dim + 1, from, into));
    }
    return Status();
  }

private:
  Status row(int64_t in, int64_t inStep, int64_t at, int64_t outStep,
             int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      values[i] = tensor.element(static_cast<uint64_t>(in + i * inStep));
    TANDEM_TRY(convertElements(DType::F64,
                               reinterpret_cast<const std::byte *>(values),
                               static_cast<uint64_t>(count), to, converted));
    for (int64_t i = 0; i < count; ++i)
      std::copy_n(converted + i * bytes, bytes,
                  out + (at + i * outStep) * bytes);
    return Status();
  }

  const DrawnTensor &tensor;
  const StridedView &view;
  DType to;
  std::byte *out;
  const std::vector<int64_t> &outStrides;
  int64_t bytes;
  double values[kTile];
  std::byte converted[kTile * sizeof(double)];
};

} // namespace

DrawnTensor::DrawnTensor(uint64_t seed, std::string_view name, double mean,
                         double deviation)
    : seed_(seed), hash_(fnv1a(reinterpret_cast<const std::byte *>(name.data()),
                               name.size())),
      mean_(mean), deviation_(deviation) {}

double DrawnTensor::element(uint64_t index) const {
  if (deviation_ == 0)
    return mean_;
  PhiloxCounter bits =
      philox({low(index), high(index), low(hash_), high(hash_)},
             {low(seed_), high(seed_)});
  double u = toUnit(bits), v = toUnit({bits[2], bits[3], 0, 0});
  return mean_ +
         deviation_ * std::sqrt(-2 * std::log1p(-u)) * std::cos(kTwoPi * v);
}

Status DrawnTensor::draw(const StridedView &view, DType to, std::byte *out,
                         const std::vector<int64_t> &outStrides) const {
  return Drawing(*this, view, to, out, outStrides)
      .run(0, static_cast<int64_t>(view.offset), 0);
}

} // namespace tandem

#include "runtime/comm/Reduce.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <type_traits>

namespace tandem {
namespace {

/// Elements that are accumulated at a time: they stay in the first cache.
constexpr int64_t blockSize = 1024;

/// Elements stored as they are computed.
template <typename T> struct Plain {
  using Stored = T;
  using Value = T;
  static Value load(Stored stored) { return stored; }
  static Stored store(Value value) { return value; }
};

struct Half {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored stored) { return halfToFloat(stored); }
  static Stored store(Value value) { return floatToHalf(value); }
};

struct Bfloat {
  using Stored = uint16_t;
  using Value = float;
  static Value load(Stored stored) { return bfloatToFloat(stored); }
  /// floatToBfloat without a call, so that loops become vector code.
  static Stored store(Value value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    uint32_t rounded = (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
    uint32_t quiet = (bits >> 16) | 0x40u;
    bool isNaN = (bits & 0x7fffffffu) > 0x7f800000u;
    return static_cast<Stored>(isNaN ? quiet : rounded);
  }
};

struct Add {
  template <typename T> static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      // Signed overflow wraps around, which C++ promises for unsigned only.
      using Unsigned = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<Unsigned>(a) +
                            static_cast<Unsigned>(b));
    } else {
      return a + b;
    }
  }
};

struct Larger {
  template <typename T> static T combine(T a, T b) {
    return a > b || a != a ? a : b; // a != a: NaN stays
  }
};

struct Smaller {
  template <typename T> static T combine(T a, T b) {
    return a < b || a != a ? a : b;
  }
};

template <typename Element, typename Operation> class TreeReduction {
public:
  using Stored = typename Element::Stored;
  using Value = typename Element::Value;

  TreeReduction(const void *const *inputs, int64_t begin, int64_t count)
      : inputs(inputs), begin(begin), count(count) {}

  /// Combines inputs [first, first + operands) into `sums`.
  void run(int64_t first, int64_t operands, Value *sums) const {
    if (operands == 1) {
      for (int64_t i = 0; i < count; ++i)
        sums[i] = Element::load(at(first)[i]);
      return;
    }
    int64_t left = 1;
    while (2 * left < operands)
      left *= 2;
    run(first, left, sums);
    if (operands - left == 1)
      return add(sums, at(first + left));
    Value right[blockSize];
    run(first + left, operands - left, right);
    for (int64_t i = 0; i < count; ++i)
      sums[i] = Operation::combine(sums[i], right[i]);
  }

private:
  const Stored *at(int64_t operand) const {
    return static_cast<const Stored *>(inputs[operand]) + begin;
  }
  void add(Value *sums, const Stored *next) const {
    for (int64_t i = 0; i < count; ++i)
      sums[i] = Operation::combine(sums[i], Element::load(next[i]));
  }

  const void *const *inputs;
  int64_t begin, count;
};

template <typename Element, typename Operation>
void reduceBlock(const void *const *inputs, int64_t operands, void *out,
                 int64_t begin, int64_t count) {
  typename Element::Value sums[blockSize];
  TreeReduction<Element, Operation>(inputs, begin, count)
      .run(0, operands, sums);
  auto *result = static_cast<typename Element::Stored *>(out) + begin;
  for (int64_t i = 0; i < count; ++i)
    result[i] = Element::store(sums[i]);
}

template <typename Element, typename Operation>
void reduceAll(const void *const *inputs, int64_t operands, void *out,
               int64_t count) {
  for (int64_t begin = 0; begin < count; begin += blockSize)
    reduceBlock<Element, Operation>(inputs, operands, out, begin,
                                    std::min(blockSize, count - begin));
}

template <typename Element>
void reduceAs(const void *const *inputs, int64_t operands, void *out,
              int64_t count, ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return reduceAll<Element, Add>(inputs, operands, out, count);
  case ReductionKind::Max:
    return reduceAll<Element, Larger>(inputs, operands, out, count);
  case ReductionKind::Min:
    return reduceAll<Element, Smaller>(inputs, operands, out, count);
  }
}

} // namespace

const char *name(ReductionKind kind) {
  switch (kind) {
  case ReductionKind::Sum:
    return "sum";
  case ReductionKind::Max:
    return "max";
  case ReductionKind::Min:
    return "min";
  }
  return "unknown";
}

Status checkReduction(DType dtype, ReductionKind kind) {
  if (isQuantised(dtype) ||
      (dtype == DType::Bool && kind == ReductionKind::Sum))
    return Status::refused("cannot reduce elements of type " +
                           std::string(name(dtype)) + " by " + name(kind));
  return Status();
}

void reduceInTree(const void *const *inputs, int64_t operands, void *out,
                  int64_t count, DType dtype, ReductionKind kind) {
  if (count == 0)
    return;
  if (operands == 1) {
    std::memmove(out, inputs[0], storageBytes(dtype, count));
    return;
  }
  switch (dtype) {
  case DType::F64:
    return reduceAs<Plain<double>>(inputs, operands, out, count, kind);
  case DType::F32:
    return reduceAs<Plain<float>>(inputs, operands, out, count, kind);
  case DType::F16:
    return reduceAs<Half>(inputs, operands, out, count, kind);
  case DType::BF16:
    return reduceAs<Bfloat>(inputs, operands, out, count, kind);
  case DType::I64:
    return reduceAs<Plain<int64_t>>(inputs, operands, out, count, kind);
  case DType::I32:
    return reduceAs<Plain<int32_t>>(inputs, operands, out, count, kind);
  case DType::I16:
    return reduceAs<Plain<int16_t>>(inputs, operands, out, count, kind);
  case DType::I8:
    return reduceAs<Plain<int8_t>>(inputs, operands, out, count, kind);
  case DType::U64:
    return reduceAs<Plain<uint64_t>>(inputs, operands, out, count, kind);
  case DType::U32:
    return reduceAs<Plain<uint32_t>>(inputs, operands, out, count, kind);
  case DType::U16:
    return reduceAs<Plain<uint16_t>>(inputs, operands, out, count, kind);
  case DType::U8:
  case DType::Bool:
    return reduceAs<Plain<uint8_t>>(inputs, operands, out, count, kind);
  default:
    assert(false && "checkReduction refuses block types");
  }
}

Piece pieceOf(int64_t count, int64_t ranks, int64_t position) {
  int64_t size = (count + ranks - 1) / ranks;
  int64_t begin = std::min(count, size * position);
  return {begin, std::min(count - begin, size)};
}

} // namespace tandem

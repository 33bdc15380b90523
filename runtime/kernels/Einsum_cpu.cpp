#include "runtime/kernels/ChainProduct.h"
#include "runtime/kernels/Contract.h"
#include "runtime/kernels/DotProduct.h"
#include "runtime/kernels/Einsum.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/PieceCut.h"
#include "runtime/kernels/Tiles.h"
#include "runtime/kernels/VectorOps.h"

namespace tandem {
namespace {

/// One factor: its extents and its stride in each tensor (0: absent).
struct Letter {
  int64_t size = 1, capacity = 1;
  TensorDim dim;    ///< Of the input that names it first.
  bool cut = false; ///< Into the pieces that the numbers give.
  std::array<int64_t, 3> strides = {}; // A, B, out
  std::array<bool, 3> present = {};
};

enum Tensor { kA = 0, kB = 1, kOut = 2 };

std::vector<Letter> lettersOf(const KernelCall &call) {
  std::vector<Letter> letters(call.rule.factors.size());
  auto visit = [&](const TensorArg &arg, const FactorMapping &mapping, int t) {
    std::vector<int64_t> strides = stridesOf(arg);
    for (size_t d = 0; d < arg.dims.size(); ++d) {
      int32_t factor = factorOf(mapping, d);
      // One lane is no loop, wherever it stands; a rank may have none of it.
      if (factor < 0 ||
          (call.rule.factors[factor].size == 1 && arg.dims[d].valid == 1))
        continue;
      Letter &letter = letters[factor];
      bool seen = letter.present[kA] || letter.present[kB];
      letter.size =
          seen ? std::min(letter.size, arg.dims[d].valid) : arg.dims[d].valid;
      letter.capacity = arg.dims[d].capacity;
      if (!seen)
        letter.dim = arg.dims[d];
      letter.strides[t] = strides[d];
      letter.present[t] = true;
    }
  };
  for (size_t i = 0; i < call.inputs.size(); ++i)
    visit(call.inputs[i], call.rule.operands[i], static_cast<int>(i));
  visit(call.outputs[0], call.rule.results[0], kOut);
  for (size_t f = 0; f < letters.size() && call.numbers.size() == 2; ++f)
    letters[f].cut = f < 63 && (call.numbers[1] >> f & 1);
  return letters;
}

bool isProductType(DType type) {
  return type == DType::F32 || type == DType::BF16 || type == DType::F16;
}

bool isContracted(const Letter &letter) { return !letter.present[kOut]; }

/// Whether it is a matrix product: two inputs of product types, no letter in
/// one input alone.
bool isProduct(const KernelCall &call, const std::vector<Letter> &letters) {
  if (call.inputs.size() != 2)
    return false;
  for (const auto *args : {&call.inputs, &call.outputs})
    for (const TensorArg &arg : *args)
      if (!isProductType(arg.dtype))
        return false;
  for (const Letter &letter : letters)
    if (isContracted(letter) && letter.present[kA] != letter.present[kB])
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Plain loops
//===----------------------------------------------------------------------===//

/// Sum of products of two strided vectors, in C, a tile at a time.
template <typename C>
C dotStrided(const TensorArg &a, int64_t firstA, int64_t strideA,
             const TensorArg *b, int64_t firstB, int64_t strideB, int64_t n) {
  C sum = 0, bufferA[kTileLanes], bufferB[kTileLanes];
  for (int64_t i = 0; i < n; i += kTileLanes) {
    int64_t count = std::min(kTileLanes, n - i);
    const C *x = loadTile<C>(a.data, a.dtype, firstA + i * strideA, count,
                             bufferA, strideA);
    if (!b) {
      for (int64_t l = 0; l < count; ++l)
        sum += x[l];
      continue;
    }
    const C *y = loadTile<C>(b->data, b->dtype, firstB + i * strideB, count,
                             bufferB, strideB);
    for (int64_t l = 0; l < count; ++l)
      sum += x[l] * y[l];
  }
  return sum;
}

template <typename C>
std::unique_ptr<Launch> plainLoops(const KernelCall &call,
                                   const std::vector<Letter> &letters,
                                   ThreadPool &threads) {
  LoopNest<3> kept, summed;
  for (const Letter &letter : letters)
    (isContracted(letter) ? summed : kept).add(letter.size, letter.strides);
  kept.merge();
  summed.merge();
  auto inner = summed.takeInnermost();
  bool two = call.inputs.size() == 2;
  TensorArg a = call.inputs[0], b = call.inputs[two ? 1 : 0];
  TensorArg to = call.outputs[0];
  return makeLaunch([=, &threads] {
    int64_t work = summed.count() * inner.size + 1;
    forRanges(
        threads, kept.count(), 16384 / work, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            auto at = kept.offsets(i);
            C sum = 0;
            for (int64_t s = 0; s < summed.count(); ++s) {
              auto further = summed.offsets(s);
              sum += dotStrided<C>(a, at[kA] + further[kA], inner.strides[kA],
                                   two ? &b : nullptr, at[kB] + further[kB],
                                   inner.strides[kB], inner.size);
            }
            storeOne<C>(to.data, to.dtype, at[kOut], sum);
          }
        });
    return Status();
  });
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// Takes the loop out of `nest` that becomes a side of the matrix: one with
/// stride 1 in an input or the output, else the largest.
template <size_t N> typename LoopNest<N>::Loop takeMain(LoopNest<N> &nest) {
  size_t best = 0;
  auto score = [](const typename LoopNest<N>::Loop &loop) {
    int64_t units = 0;
    for (int64_t stride : loop.strides)
      units += stride == 1;
    return std::make_pair(units, loop.size);
  };
  for (size_t l = 1; l < nest.loops.size(); ++l)
    if (score(nest.loops[l]) > score(nest.loops[best]))
      best = l;
  if (nest.loops.empty())
    return {1, {}};
  auto loop = nest.loops[best];
  nest.loops.erase(nest.loops.begin() + best);
  return loop;
}

/// The letters that `keep` accepts as loops over two tensors, outermost first
/// as they lie in tensor `order`, joined where both allow.
template <typename Keep>
LoopNest<2> loopsOf(const std::vector<Letter> &letters, Keep keep, int first,
                    int second, int order) {
  std::vector<Letter> group;
  for (const Letter &letter : letters)
    if (keep(letter))
      group.push_back(letter);
  std::stable_sort(group.begin(), group.end(),
                   [&](const Letter &a, const Letter &b) {
                     return a.strides[order] > b.strides[order];
                   });
  LoopNest<2> nest;
  for (const Letter &letter : group)
    nest.add(letter.size, {letter.strides[first], letter.strides[second]});
  nest.merge();
  return nest;
}

Product productOf(const KernelCall &call, const std::vector<Letter> &letters) {
  auto holds = [](bool a, bool b, bool out) {
    return [=](const Letter &letter) {
      return letter.present[kA] == a && letter.present[kB] == b &&
             letter.present[kOut] == out;
    };
  };
  LoopNest<2> rows = loopsOf(letters, holds(true, false, true), kA, kOut, kA);
  LoopNest<2> columns =
      loopsOf(letters, holds(false, true, true), kB, kOut, kB);
  LoopNest<2> depth = loopsOf(letters, holds(true, true, false), kA, kB, kA);
  auto row = takeMain(rows), column = takeMain(columns), deep = takeMain(depth);

  Product product;
  product.rows = row.size;
  product.columns = column.size;
  product.depth = deep.size;
  const TensorArg &a = call.inputs[0], &b = call.inputs[1];
  const TensorArg &out = call.outputs[0];
  product.a = {a.data, a.dtype, row.strides[0], deep.strides[0]};
  product.b = {b.data, b.dtype, deep.strides[1], column.strides[0]};
  product.c = {out.data, out.dtype, row.strides[1], column.strides[1]};
  product.deep = depth;
  for (const Letter &letter : letters)
    if (holds(true, true, true)(letter))
      product.outer.add(letter.size, letter.strides);
  for (const auto &loop : rows.loops)
    product.outer.add(loop.size, {loop.strides[0], 0, loop.strides[1]});
  for (const auto &loop : columns.loops)
    product.outer.add(loop.size, {0, loop.strides[0], loop.strides[1]});
  return product;
}

//===----------------------------------------------------------------------===//
// Products in fixed pieces
//===----------------------------------------------------------------------===//

/// What is contracted, as it lies in A.
std::vector<Letter> contractedOf(const std::vector<Letter> &letters) {
  std::vector<Letter> contracted;
  for (const Letter &letter : letters)
    if (isContracted(letter))
      contracted.push_back(letter);
  std::stable_sort(contracted.begin(), contracted.end(),
                   [](const Letter &a, const Letter &b) {
                     return a.strides[kA] > b.strides[kA];
                   });
  return contracted;
}

int64_t piecesOf(const std::vector<Letter> &letters, int64_t pieces) {
  int64_t count = 1;
  for (const Letter &letter : letters)
    if (letter.cut)
      count *= PieceCut(letter.dim, pieces).count();
  return count;
}

/// Piece number `index` of all combinations, the first letter's outermost.
/// Loops are not joined for a dot product: where its sums end must not depend
/// on how tensors lie.
ChainPiece pieceAt(const std::vector<Letter> &contracted, int64_t pieces,
                   int64_t index, bool join) {
  ChainPiece piece;
  int64_t rest = piecesOf(contracted, pieces);
  for (const Letter &letter : contracted) {
    int64_t first = 0, size = letter.size;
    if (letter.cut) {
      TensorDim dim = letter.dim;
      dim.valid = letter.size;
      PieceCut cut(dim, pieces);
      rest /= cut.count();
      first = cut.first(index / rest);
      size = cut.lanes(index / rest);
      index %= rest;
    }
    for (size_t t = 0; t < 2; ++t)
      piece.first[t] += first * letter.strides[t];
    piece.deep.add(size, {letter.strides[kA], letter.strides[kB]});
  }
  if (join)
    piece.deep.merge();
  piece.inner = piece.deep.takeInnermost();
  return piece;
}

/// The product cut as its numbers say.
ChainProduct cutProduct(const KernelCall &call, const Product &product,
                        const std::vector<Letter> &letters, bool join) {
  ChainProduct chain = ChainProduct::of(product);
  chain.pieces.clear();
  std::vector<Letter> contracted = contractedOf(letters);
  int64_t pieces = call.numbers[0];
  for (int64_t i = 0; i < piecesOf(contracted, pieces); ++i)
    chain.pieces.push_back(pieceAt(contracted, pieces, i, join));
  return chain;
}

/// Whether no letter is a row or a column: sums of products lane by lane.
bool isLaneByLane(const std::vector<Letter> &letters) {
  return std::all_of(letters.begin(), letters.end(), [](const Letter &letter) {
    return isContracted(letter) || (letter.present[kA] && letter.present[kB]);
  });
}

/// Whether it is one sum. Where bits must not depend on the layout, the
/// letters say so, not how much of them this rank has, and there may be many
/// such sums.
bool isDot(const std::vector<Letter> &letters, const Product &product,
           bool fixed) {
  bool one =
      product.rows == 1 && product.columns == 1 && product.outer.count() == 1;
  return fixed ? isLaneByLane(letters) : one;
}

/// Whether prefersChains() may hold for a call with these letters, whatever
/// lanes are valid: rows of A, or columns of B that a transposed product takes
/// for rows, lie side by side.
bool mayPreferChains(const std::vector<Letter> &letters) {
  bool rows = false, columns = false, upright = false;
  for (const Letter &letter : letters) {
    if (isContracted(letter) || letter.present[kA] == letter.present[kB])
      continue;
    rows |= letter.present[kA] && letter.strides[kA] == 1;
    columns |= letter.present[kB] && letter.strides[kB] == 1;
    upright |= letter.present[kA] && letter.strides[kOut] == 1;
  }
  return rows || (columns && upright);
}

/// Whether chains are faster: many rows that lie side by side (oneDNN packs
/// them badly).
bool prefersChains(const Product &product) {
  return product.rows > kMaxProductRows && product.columns > kMaxProductRows &&
         product.a.rowStride == 1 && product.a.columnStride != 1;
}

std::unique_ptr<Launch> launchProduct(const KernelCall &call,
                                      const std::vector<Letter> &letters,
                                      ThreadPool &threads) {
  Product product = productOf(call, letters);
  bool fixed = !call.numbers.empty();
  bool dot = isDot(letters, product, fixed);
  if (!fixed)
    product.normalise();
  if (dot) {
    ChainProduct whole = fixed ? cutProduct(call, product, letters, false)
                               : ChainProduct::of(product);
    return makeLaunch(
        [dot = DotProduct(std::move(whole), fixed, threads.size()),
         &threads]() mutable {
          dot.run(threads);
          return Status();
        });
  }
  if (fixed || prefersChains(product)) {
    ChainProduct chain = fixed ? cutProduct(call, product, letters, true)
                               : ChainProduct::of(product);
    chain.normalise();
    return makeLaunch([chain, scratch = call.workspace, &threads] {
      chain.run(scratch, threads);
      return Status();
    });
  }
  return makeLaunch([product, scratch = call.workspace, &threads] {
    product.run(scratch, threads);
    return Status();
  });
}

class EinsumKernel final : public Kernel {
public:
  std::string_view name() const override { return "einsum"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(1, 2).outputs(1).numbers(0, 2);
    contract.require(call.rule.operands.size() == call.inputs.size() &&
                         call.rule.results.size() == 1,
                     "the rule names other inputs and outputs");
    if (!contract.ok())
      return contract.status();
    checkFactors(call, contract);
    bool floats = isFloat(call.outputs[0].dtype);
    for (size_t i = 0; contract.ok() && i < call.inputs.size(); ++i)
      contract.require(isFloat(call.inputs[i].dtype) == floats,
                       "integers and floats are mixed");
    if (contract.ok() && !call.numbers.empty())
      checkPieces(call, contract);
    return contract.status();
  }

  int64_t workspaceBytes(const KernelCall &call, int threads) const override {
    std::vector<Letter> letters = lettersOf(call);
    // One sum needs none, however long.
    bool dot = call.numbers.empty()
                   ? std::all_of(letters.begin(), letters.end(), isContracted)
                   : isLaneByLane(letters);
    if (!isProduct(call, letters) || dot)
      return 0;
    int64_t depth = 1;
    for (const Letter &letter : letters)
      if (isContracted(letter))
        depth *= letter.capacity;
    int64_t bytes = productScratchBytes(depth);
    if (!call.numbers.empty())
      bytes = chainScratchBytes(piecesOf(letters, call.numbers[0]));
    else if (mayPreferChains(letters))
      bytes = std::max(bytes, chainScratchBytes(1));
    return threads * bytes;
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    std::vector<Letter> letters = lettersOf(call);
    bool emptySum = false;
    for (const Letter &letter : letters)
      emptySum |= isContracted(letter) && letter.size == 0;
    if (validCount(call.outputs[0]) == 0)
      return makeLaunch([] { return Status(); });
    if (emptySum)
      return makeLaunch([fill = BoxFill(call.outputs[0], 0.0), &threads] {
        fill.run(threads);
        return Status();
      });
    if (isProduct(call, letters))
      return launchProduct(call, letters, threads);
    if (isFloat(call.outputs[0].dtype))
      return plainLoops<double>(call, letters, threads);
    return plainLoops<int64_t>(call, letters, threads);
  }

private:
  static void checkPieces(const KernelCall &call, Contract &contract) {
    contract.numbers(2);
    if (!contract.ok())
      return;
    std::vector<Letter> letters = lettersOf(call);
    contract.require(isProduct(call, letters),
                     "only products of f32, bf16 or f16 are cut into pieces");
    std::vector<TensorDim> cut;
    for (size_t f = 0; f < letters.size(); ++f) {
      contract.require(!letters[f].cut || isContracted(letters[f]),
                       "factor " + std::to_string(f) +
                           " is cut into pieces but not summed over");
      contract.require(letters[f].cut || !isContracted(letters[f]) ||
                           letters[f].dim.capacity >= letters[f].dim.global,
                       "factor " + std::to_string(f) +
                           " is summed over and split, but not cut into "
                           "pieces");
      if (letters[f].cut)
        cut.push_back(letters[f].dim);
    }
    checkCut(contract, call.numbers[0], cut);
  }

  /// Each factor has one capacity; those of the output stand in an input.
  static void checkFactors(const KernelCall &call, Contract &contract) {
    std::vector<int64_t> capacities(call.rule.factors.size(), -1);
    auto visit = [&](const TensorArg &arg, const FactorMapping &mapping,
                     bool output) {
      contract.require(mapping.dims.size() == arg.dims.size(),
                       "the rule names other dimensions");
      std::vector<bool> here(capacities.size());
      for (size_t d = 0; contract.ok() && d < arg.dims.size(); ++d) {
        int32_t factor = factorOf(mapping, d);
        if (factor < 0) {
          contract.require(arg.dims[d].capacity == 1,
                           "the rule gives a dimension of " +
                               std::to_string(arg.dims[d].capacity) +
                               " no factor");
          continue;
        }
        bool known = static_cast<size_t>(factor) < capacities.size() &&
                     mapping.dims[d].size() == 1 && !here[factor];
        contract.require(known, "the rule is no einsum's: a dimension needs "
                                "one factor of its own");
        if (!known)
          return;
        here[factor] = true;
        int64_t &capacity = capacities[factor];
        contract.require(!output || capacity >= 0,
                         "a dimension of the output is in no input");
        contract.require(
            capacity < 0 || capacity == arg.dims[d].capacity,
            "a factor is " + std::to_string(capacity) + " in one tensor and " +
                std::to_string(arg.dims[d].capacity) + " in another");
        capacity = arg.dims[d].capacity;
      }
    };
    for (size_t i = 0; contract.ok() && i < call.inputs.size(); ++i)
      visit(call.inputs[i], call.rule.operands[i], false);
    if (contract.ok())
      visit(call.outputs[0], call.rule.results[0], true);
  }
};

} // namespace

const Kernel &einsumKernel() {
  static const EinsumKernel kernel;
  return kernel;
}

} // namespace tandem

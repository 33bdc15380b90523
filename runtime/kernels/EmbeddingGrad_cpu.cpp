#include "runtime/kernels/Contract.h"
#include "runtime/kernels/EmbeddingGrad.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/PieceSums.h"

#include <algorithm>
#include <tuple>

namespace tandem {
namespace {

/// Columns are handed out in units of this many.
constexpr int64_t kColumnUnit = 64;

/// A token: where it lies, and in which piece.
struct Token {
  int64_t row = 0; ///< Of the table, on this rank.
  int64_t piece = 0;
  int64_t id, from; ///< Offsets of ids and of dy.
};

std::vector<Token> tokensOf(const KernelCall &call) {
  const TensorArg &ids = call.inputs[0], &dy = call.inputs[1];
  RowPieces cut(dy, call.numbers);
  std::vector<int64_t> strideIds = stridesOf(ids), strideDy = stridesOf(dy);
  std::vector<Token> tokens;
  for (int64_t p = 0; p < cut.count(); ++p) {
    RowPieces::Piece piece = cut.at(p);
    LoopNest<2> nest;
    Token token;
    token.piece = p;
    int64_t firstId = 0, first = 0;
    for (size_t d = 0; d < strideIds.size(); ++d) {
      nest.add(piece.count[d], {strideIds[d], strideDy[d]});
      firstId += piece.first[d] * strideIds[d];
      first += piece.first[d] * strideDy[d];
    }
    for (int64_t i = piece.begin; i < piece.end; ++i) {
      auto at = nest.offsets(i);
      token.id = firstId + at[0];
      token.from = first + at[1];
      tokens.push_back(token);
    }
  }
  return tokens;
}

template <typename C> class EmbeddingGradRun {
public:
  explicit EmbeddingGradRun(const KernelCall &call)
      : ids(call.inputs[0]), dy(call.inputs[1]), out(call.outputs[0]),
        zeros(out, 0.0), tokens(tokensOf(call)), trees(!call.numbers.empty()),
        pieces(RowPieces(dy, call.numbers).count()),
        width(std::min(dy.dims.back().valid, out.dims[1].valid)) {
    own.reserve(tokens.size());
  }

  Status run(ThreadPool &threads) {
    TANDEM_TRY(findOwn());
    zeros.run(threads);
    // By columns, so that each sum has one thread and the order of tokens.
    int64_t units = (width + kColumnUnit - 1) / kColumnUnit;
    int64_t count = static_cast<int64_t>(own.size());
    int64_t grain = 16384 / (count * kColumnUnit + 1) + 1;
    forRanges(threads, units, grain, [&](int64_t begin, int64_t end) {
      int64_t last = std::min(end * kColumnUnit, width);
      if (trees)
        for (int64_t i = begin * kColumnUnit; i < last; i += kColumnUnit)
          addTrees(i, std::min(kColumnUnit, last - i));
      else
        for (const Token &token : own)
          addToken(token, begin * kColumnUnit, last);
    });
    return Status();
  }

private:
  using Tokens = const Token *;

  /// The tokens of rows that this rank holds; those of a row side by side
  /// where they are added in trees.
  Status findOwn() {
    own.clear();
    for (Token token : tokens) {
      auto id = loadOne<int64_t>(ids.data, ids.dtype, token.id);
      if (id < 0 || id >= out.dims[0].global)
        return Status::refused("embedding_grad: id " + std::to_string(id) +
                               " is outside the vocabulary of " +
                               std::to_string(out.dims[0].global));
      token.row = id - out.dims[0].begin;
      if (token.row >= 0 && token.row < out.dims[0].valid)
        own.push_back(token);
    }
    if (trees)
      std::sort(own.begin(), own.end(), [](const Token &a, const Token &b) {
        return std::tie(a.row, a.piece, a.from) <
               std::tie(b.row, b.piece, b.from);
      });
    return Status();
  }

  C *rowOf(const Token &token) const {
    return reinterpret_cast<C *>(out.data) + token.row * out.dims[1].capacity;
  }

  void addToken(const Token &token, int64_t begin, int64_t end) const {
    C buffer[kTileLanes];
    for (int64_t i = begin; i < end; i += kTileLanes) {
      int64_t n = std::min(kTileLanes, end - i);
      rowAdd(rowOf(token) + i,
             loadTile<C>(dy.data, dy.dtype, token.from + i, n, buffer), n);
    }
  }

  void addTrees(int64_t column, int64_t n) const {
    for (Tokens first = own.data(), end = first + own.size(); first < end;) {
      Tokens last = first;
      while (last < end && last->row == first->row)
        ++last;
      addTree(first, last, 0, pieces, column, n, rowOf(*first) + column);
      first = last;
    }
  }

  /// Sums the tokens [first, last), which lie in `count` pieces from `piece`
  /// on: the halves' sums, added. Halves without a token are +0.
  void addTree(Tokens first, Tokens last, int64_t piece, int64_t count,
               int64_t column, int64_t n, C *sums) const {
    C buffer[kColumnUnit];
    std::fill_n(sums, n, C(0));
    if (count == 1) {
      for (; first < last; ++first)
        rowAdd(sums,
               loadTile<C>(dy.data, dy.dtype, first->from + column, n, buffer),
               n);
      return;
    }
    int64_t half = piece + count / 2;
    Tokens middle = first;
    while (middle < last && middle->piece < half)
      ++middle;
    if (first < middle)
      addTree(first, middle, piece, count / 2, column, n, sums);
    if (middle == last)
      return;
    addTree(middle, last, half, count / 2, column, n, buffer);
    rowAdd(sums, buffer, n);
  }

  TensorArg ids, dy, out;
  BoxFill zeros;
  std::vector<Token> tokens, own;
  bool trees;
  int64_t pieces, width;
};

template <typename C>
std::unique_ptr<Launch> prepareEmbeddingGrad(const KernelCall &call,
                                             ThreadPool &threads) {
  return makeLaunch([grad = EmbeddingGradRun<C>(call), &threads]() mutable {
    return grad.run(threads);
  });
}

class EmbeddingGradKernel final : public Kernel {
public:
  std::string_view name() const override { return "embedding_grad"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(2).outputs(1).numbers(0, 2).rank(out(0), 2);
    contract.type(in(0), {DType::I32, DType::I64}).floating(in(1));
    contract.type(out(0), {DType::F32, DType::F64});
    if (!contract.ok())
      return contract.status();
    size_t rank = call.inputs[0].dims.size();
    contract.rank(in(1), rank + 1).sameDim(in(1), -1, out(0), 1);
    for (size_t d = 0; contract.ok() && d < rank; ++d)
      contract.sameDim(in(0), static_cast<int>(d), in(1), static_cast<int>(d));
    if (contract.ok() && !call.numbers.empty())
      contract.numbers(2);
    if (contract.ok())
      RowPieces(call.inputs[1], call.numbers).check(contract);
    return contract.status();
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    if (call.outputs[0].dtype == DType::F64)
      return prepareEmbeddingGrad<double>(call, threads);
    return prepareEmbeddingGrad<float>(call, threads);
  }
};

} // namespace

const Kernel &embeddingGradKernel() {
  static const EmbeddingGradKernel kernel;
  return kernel;
}

} // namespace tandem

#include "passes/exec/FixedSums.h"

#include "runtime/kernels/SumCut.h"

using namespace mlir;

namespace tandem {

namespace {

/// A factor that a launch adds over, as the operand that has it first lies.
struct SummedFactor {
  int32_t factor = 0;
  size_t operand = 0, dim = 0;
  int64_t size = 1;
  AxisList axes;
  bool cut = false;

  bool isSplit() const { return sizeOf(axes) > 1; }
};

AxisList joined(const AxisList &axes) { return merged(withoutTrivial(axes)); }

class LaunchCut {
public:
  LaunchCut(Operation *op, const Mesh &mesh, int64_t pieces,
            const ShardingRule &rule, ValueRange inputs, ValueRange outputs)
      : op(op), mesh(mesh), pieces(pieces), rule(rule) {
    for (Value output : outputs)
      results.push_back(typeOf(output));
    for (auto [i, input] : llvm::enumerate(inputs))
      addFactorsOf(i, typeOf(input));
  }

  /// What operand 0 has and operand 1 lacks must be whole.
  LogicalResult checkBlocks(ValueRange inputs) const {
    TensorType type = typeOf(inputs[0]);
    const FactorMapping &rows = rule.operands[0], &other = rule.operands[1];
    for (size_t d = 0; d < rows.dims.size(); ++d) {
      SummedFactor whole{rows.dims[d][0], 0, d, type.shape[d],
                         type.sharding.dims[d].axes};
      if (whole.isSplit() && !llvm::is_contained(other.dims, rows.dims[d]))
        return refuseWhole("takes rows together along", whole);
    }
    return success();
  }

  /// Cuts the first ones of the first operand that together have as many
  /// lanes as there are pieces.
  void choose() {
    int64_t room = 1;
    for (SummedFactor &sum : sums) {
      if (sum.operand != 0 || room >= pieces)
        return;
      sum.cut = sum.size > 1;
      room *= std::min(sum.size, pieces);
    }
  }

  LogicalResult check() const {
    for (const SummedFactor &sum : sums)
      if (sum.isSplit() && (!sum.cut ? failed(refuseWhole("sums over", sum))
                                     : failed(checkEnds(sum))))
        return failure();
    for (size_t i = 1; i < sums.size(); ++i)
      for (size_t j = 0; sums[i].isSplit() && j < i; ++j)
        if (piecesHeld(sums[j]) > 1)
          return refuseLater(sums[i], sums[j]);
    return checkOrder();
  }

  int64_t factorBits() const {
    int64_t bits = 0;
    for (const SummedFactor &sum : sums)
      bits |= sum.cut ? int64_t(1) << sum.factor : 0;
    return bits;
  }
  int64_t dimBits() const {
    int64_t bits = 0;
    for (const SummedFactor &sum : sums)
      bits |= sum.cut ? int64_t(1) << sum.dim : 0;
    return bits;
  }
  bool empty() const { return sums.empty(); }

private:
  TensorType typeOf(Value buffer) const {
    return tensorTypeOf(cast<BufferType>(buffer.getType()).getTensor(), mesh);
  }

  /// Whether terms of the factor are added and rounded.
  bool isSummed(int32_t factor) const {
    if (rule.factors[factor].reduction != ReductionKind::Sum)
      return false;
    for (size_t r = 0; r < results.size(); ++r)
      if (isFloat(results[r].dtype) && rule.leavesUnreduced(factor, r))
        return true;
    return false;
  }

  void addFactorsOf(size_t operand, const TensorType &type) {
    const FactorMapping &mapping = rule.operands[operand];
    for (size_t d = 0; d < mapping.dims.size(); ++d)
      for (int32_t factor : mapping.dims[d])
        if (isSummed(factor) &&
            llvm::none_of(sums, [&](const SummedFactor &sum) {
              return sum.factor == factor;
            }))
          sums.push_back({factor, operand, d, rule.factors[factor].size,
                          type.sharding.dims[d].axes});
  }

  int64_t lanesOfPiece(const SummedFactor &sum) const {
    return std::max<int64_t>((sum.size + pieces - 1) / pieces, 1);
  }
  /// Pieces of the fullest rank that hold something.
  int64_t piecesHeld(const SummedFactor &sum) const {
    int64_t lanes = lanesOfPiece(sum);
    return (capacityOf(sum.size, sum.axes) + lanes - 1) / lanes;
  }

  std::string describe(const SummedFactor &sum,
                       const char *what = "sums over") const {
    std::string text = std::string(what) + " dimension " +
                       std::to_string(sum.dim) + " of operand " +
                       std::to_string(sum.operand) + ", " +
                       std::to_string(sum.size) + " lanes";
    for (size_t i = 0; i < sum.axes.size(); ++i)
      text += (i ? ", " : " split over ") + toString(sum.axes[i], mesh);
    return text + "; with --layout-invariant " + std::to_string(pieces) + " ";
  }

  LogicalResult refuseWhole(const char *what, const SummedFactor &sum) const {
    return op->emitOpError() << describe(sum, what)
                             << "that dimension must be whole; take a mesh or "
                                "annotations that do not split it";
  }

  /// Each axis must leave an aligned power of two of the pieces.
  LogicalResult checkEnds(const SummedFactor &sum) const {
    int64_t lanes = lanesOfPiece(sum);
    for (size_t used = 1; used <= sum.axes.size(); ++used) {
      int64_t held = capacityOf(
          sum.size, AxisList(sum.axes.begin(), sum.axes.begin() + used));
      int64_t count = held / lanes;
      if (held % lanes == 0 && (count & (count - 1)) == 0)
        continue;
      return op->emitOpError()
             << describe(sum) << "a shard must be a power of two of pieces of "
             << lanes << ", got " << held
             << " lanes; take another mesh, or as many "
             << "pieces as ranks that split it";
    }
    return success();
  }

  LogicalResult refuseLater(const SummedFactor &sum,
                            const SummedFactor &first) const {
    return op->emitOpError()
           << describe(sum) << "dimension " << first.dim << " of operand "
           << first.operand << " comes first, of which a rank holds "
           << piecesHeld(first)
           << " pieces, expected 1; split that one instead, or as far";
  }

  /// Ranks add in the order of the result's axes.
  LogicalResult checkOrder() const {
    AxisList axes;
    for (const SummedFactor &sum : sums)
      llvm::append_range(axes, sum.axes);
    for (const TensorType &result : results)
      if (const AxisList &added = result.sharding.unreduced;
          isFloat(result.dtype) && !added.empty() &&
          joined(axes) != joined(added))
        return op->emitOpError()
               << describe(sums[0])
               << "the axes that split a sum must stand in the order of its "
                  "dimensions, got another; exchange them in --mesh";
    return success();
  }

  Operation *op;
  const Mesh &mesh;
  int64_t pieces;
  const ShardingRule &rule;
  std::vector<TensorType> results;
  std::vector<SummedFactor> sums;
};

/// How the kernel adds whose result `op` brings together, behind any other
/// collectives.
SumCut cutOfSource(Operation *op) {
  while (op && op->hasAttr("axes"))
    op = op->getOperand(0).getDefiningOp();
  auto kernel = dyn_cast_or_null<KernelOpInterface>(op);
  return kernel ? sumCutOf(kernel.getKernelSpec().kernel) : SumCut::None;
}

} // namespace

LogicalResult FixedSums::cut(Operation *op, KernelSpec &spec,
                             const ShardingRule &rule, ValueRange inputs,
                             ValueRange outputs) const {
  SumCut form = sumCutOf(spec.kernel);
  if (pieces == 0 || form == SumCut::Owned)
    return success();
  LaunchCut launch(op, mesh, pieces, rule, inputs, outputs);
  if (form == SumCut::Blocks)
    return launch.checkBlocks(inputs);
  if (launch.empty())
    return success();
  if (form == SumCut::Flag)
    spec.numbers.back() |= 4;
  if (form == SumCut::Factors || form == SumCut::Rows) {
    launch.choose();
    spec.numbers.push_back(pieces);
    spec.numbers.push_back(form == SumCut::Rows ? launch.dimBits()
                                                : launch.factorBits());
  }
  return launch.check();
}

LogicalResult FixedSums::check(Operation *op) const {
  if (pieces == 0 || !isa<AllReduceOp, ReduceScatterOp>(op))
    return success();
  TensorType from = tensorTypeOf(op->getOperand(0).getType(), mesh);
  if (from.reduction != ReductionKind::Sum || !isFloat(from.dtype) ||
      cutOfSource(op) == SumCut::Owned)
    return success();
  if (from.dtype != DType::F32 && from.dtype != DType::F64)
    return op->emitOpError("adds parts of ")
           << name(from.dtype) << ", which are rounded before they are added; "
           << "--layout-invariant expects f32 here: take --dtype f32";
  AxisList axes = op->getAttrOfType<AxesAttr>("axes").getValue(mesh);
  const AxisList &all = from.sharding.unreduced;
  for (size_t first = 0; first < all.size(); ++first)
    if (joined(AxisList(all.begin() + first, all.end())) == joined(axes))
      return success();
  return op->emitOpError("adds over ")
         << sizeOf(axes) << " of " << sizeOf(all)
         << " parts, which are not neighbours; --layout-invariant expects the "
            "last axes of the sum";
}

} // namespace tandem

#include "ir/ops/Formula.h"
#include "ir/ops/Philox.h"
#include "ir/ops/Shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

using namespace mlir;

namespace tandem {
namespace {

using Operands = ArrayRef<const Tensor *>;
using Results = MutableArrayRef<Tensor>;
using Index = std::vector<int64_t>;

/// Of so many elements of `value`'s type.
int64_t bytesOf(Value value, int64_t elements) {
  return storageBytes(dtypeOf(elementTypeOf(value)), elements);
}

/// The lane of a dimension that holds global index `id`, -1 when this rank
/// does not hold it.
int64_t laneOf(const LocalDim &dim, double id) {
  int64_t lane = static_cast<int64_t>(id) - dim.begin;
  return lane >= 0 && lane < dim.valid ? lane : -1;
}

/// An index that no rank holds is a mistake of the caller, not a lane that
/// another rank has.
LogicalResult expectHeld(Operation *op, const LocalDim &dim, double id) {
  if (id >= 0 && id < static_cast<double>(dim.global))
    return success();
  return op->emitOpError() << "index " << static_cast<int64_t>(id)
                           << " is outside 0 to " << dim.global - 1;
}

/// Every valid index of `indices` is one of the dimension's.
LogicalResult expectAllHeld(Operation *op, const LocalDim &dim,
                            const Tensor &indices) {
  bool held = true;
  indices.forEachValid([&](const Index &index) {
    held = held && succeeded(expectHeld(op, dim, indices.at(index)));
  });
  return success(held);
}

/// [batch, own index dimensions, rest] as gather makes them.
Index gatherShape(const Index &input, const Index &indices, size_t batchDims) {
  Index shape = indices;
  shape.insert(shape.end(), input.begin() + batchDims + 1, input.end());
  return shape;
}

/// Constraints that gather and scatter_add share.
LogicalResult verifyBatch(Operation *op, const Index &input,
                          const Index &indices, int64_t dim,
                          int64_t batchDims) {
  if (failed(expectInRange(op, "dim", dim, input.size())))
    return failure();
  if (batchDims != dim)
    return op->emitOpError()
           << "batch_dims is " << batchDims << ", expected dim, " << dim;
  if (static_cast<size_t>(batchDims) > indices.size())
    return op->emitOpError() << "batch_dims is " << batchDims
                             << ", expected at most the indices' "
                             << indices.size() << " dimensions";
  for (int64_t d = 0; d < batchDims; ++d)
    if (indices[d] != input[d])
      return op->emitOpError() << "indices' dimension " << d << " has size "
                               << indices[d] << ", expected " << input[d];
  return success();
}

/// The three tensors of a gather as factors. Factors are the input's
/// dimensions and then the indices' own.
struct GatherFactors {
  std::vector<Factor> factors;
  FactorMapping input, indices, rows;

  GatherFactors(const Index &inputShape, const Index &indexShape,
                size_t batchDims) {
    for (int64_t size : inputShape)
      factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
    input = consecutiveFactors(inputShape.size());
    for (size_t d = 0; d < indexShape.size(); ++d) {
      int32_t factor = static_cast<int32_t>(d);
      if (d >= batchDims) {
        factor = static_cast<int32_t>(factors.size());
        factors.push_back(
            {indexShape[d], FactorKind::PassThrough, ReductionKind::Sum});
      }
      indices.dims.push_back({factor});
    }
    rows = indices;
    rows.dims.insert(rows.dims.end(), input.dims.begin() + batchDims + 1,
                     input.dims.end());
  }
};

/// Where a row of a gather comes from: [batch, lane, rest], nothing when
/// another rank holds it. `index` is that of the gathered tensor.
std::optional<Index> sourceOf(const Index &index, const Tensor &indices,
                              const LocalDim &dim, size_t batchDims) {
  Index chosen(index.begin(), index.begin() + indices.rank());
  int64_t lane = laneOf(dim, indices.at(chosen));
  if (lane < 0)
    return std::nullopt;
  Index source(index.begin(), index.begin() + batchDims);
  source.push_back(lane);
  source.insert(source.end(), index.begin() + indices.rank(), index.end());
  return source;
}

LogicalResult evaluateGather(Operation *op, Operands operands, Results results,
                             size_t dim) {
  const Tensor &input = *operands[0], &indices = *operands[1];
  if (failed(expectAllHeld(op, input.dim(dim), indices)))
    return failure();
  results[0].forEachValid([&](const Index &index) {
    auto source = sourceOf(index, indices, input.dim(dim), dim);
    results[0].at(index) = source ? input.at(*source) : 0;
  });
  return success();
}

} // namespace

//===----------------------------------------------------------------------===//
// embedding
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::verify() {
  Index table = shapeOf(getTable());
  if (table.size() != 2)
    return emitOpError() << "table has " << table.size()
                         << " dimensions, expected 2";
  return expectShape(*this, "result", getResult(),
                     gatherShape(table, shapeOf(getIds()), 0));
}

ShardingRule EmbeddingOp::getShardingRule() {
  GatherFactors gather(shapeOf(getTable()), shapeOf(getIds()), 0);
  gather.factors[0] = ownedFactor(gather.factors[0].size, getTable());
  gather.input.linear = true;
  return {gather.factors, {gather.input, gather.indices}, {gather.rows}, false};
}

KernelSpec EmbeddingOp::getKernelSpec() { return {"embedding", {}, -1, false}; }

LogicalResult EmbeddingOp::evaluate(Operands operands, Results results) {
  return evaluateGather(*this, operands, results, 0);
}

SmallVector<Value> EmbeddingOp::differentiate(OpBuilder &builder,
                                              ValueRange gradients) {
  auto table = cast<RankedTensorType>(getTable().getType());
  Value sums = EmbeddingGradOp::create(
      builder, getLoc(), table.clone(statisticsType(table.getElementType())),
      getIds(), gradients[0]);
  return {sums, Value()}; // Not rounded before microbatches are added.
}

//===----------------------------------------------------------------------===//
// embedding_grad
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingGradOp::verify() {
  Index table = shapeOf(getResult());
  if (table.size() != 2)
    return emitOpError() << "result has " << table.size()
                         << " dimensions, expected 2";
  return failure(
      failed(expectElementType(*this, "result", getResult(),
                               statisticsType(elementTypeOf(getGradient())))) ||
      failed(expectShape(*this, "gradient", getGradient(),
                         gatherShape(table, shapeOf(getIds()), 0))));
}

ShardingRule EmbeddingGradOp::getShardingRule() {
  GatherFactors gather(shapeOf(getResult()), shapeOf(getIds()), 0);
  for (size_t f = 2; f < gather.factors.size(); ++f)
    gather.factors[f].kind = FactorKind::Reduction;
  gather.rows.linear = true;
  return {gather.factors, {gather.indices, gather.rows}, {gather.input}, false};
}

KernelSpec EmbeddingGradOp::getKernelSpec() {
  return {"embedding_grad", {}, -1, false};
}

LogicalResult EmbeddingGradOp::evaluate(Operands operands, Results results) {
  const Tensor &ids = *operands[0], &rows = *operands[1];
  Tensor &table = results[0];
  if (failed(expectAllHeld(*this, table.dim(0), ids)))
    return failure();
  table.forEachValid([&](const Index &index) { table.at(index) = 0; });
  rows.forEachValid([&](const Index &index) {
    if (auto place = sourceOf(index, ids, table.dim(0), 0))
      table.at(*place) += rows.at(index);
  });
  return success();
}

//===----------------------------------------------------------------------===//
// gather
//===----------------------------------------------------------------------===//

LogicalResult GatherOp::verify() {
  Index input = shapeOf(getInput()), indices = shapeOf(getIndices());
  return failure(
      failed(verifyBatch(*this, input, indices, getDim(), getBatchDims())) ||
      failed(expectShape(*this, "result", getResult(),
                         gatherShape(input, indices, getBatchDims()))) ||
      failed(expectElementType(*this, "result", getResult(),
                               elementTypeOf(getInput()))));
}

ShardingRule GatherOp::getShardingRule() {
  GatherFactors gather(shapeOf(getInput()), shapeOf(getIndices()),
                       getBatchDims());
  Factor &looked = gather.factors[getDim()];
  looked = ownedFactor(looked.size, getInput());
  gather.input.linear = true;
  return {gather.factors, {gather.input, gather.indices}, {gather.rows}, false};
}

KernelSpec GatherOp::getKernelSpec() {
  return {
      "gather",
      {static_cast<int64_t>(getDim()), static_cast<int64_t>(getBatchDims())},
      -1,
      false};
}

LogicalResult GatherOp::evaluate(Operands operands, Results results) {
  return evaluateGather(*this, operands, results, getDim());
}

SmallVector<Value> GatherOp::differentiate(OpBuilder &builder,
                                           ValueRange gradients) {
  Formula f(builder, getLoc());
  Value zeros = f.zeros(getInput().getType());
  return {ScatterAddOp::create(builder, getLoc(), zeros.getType(), zeros,
                               getIndices(), gradients[0], getDim(),
                               getBatchDims()),
          Value()};
}

//===----------------------------------------------------------------------===//
// scatter_add
//===----------------------------------------------------------------------===//

LogicalResult ScatterAddOp::verify() {
  Index base = shapeOf(getBase()), indices = shapeOf(getIndices());
  return failure(
      failed(verifyBatch(*this, base, indices, getDim(), getBatchDims())) ||
      failed(expectShape(*this, "rows", getRows(),
                         gatherShape(base, indices, getBatchDims()))) ||
      failed(expectElementType(*this, "rows", getRows(),
                               elementTypeOf(getBase()))));
}

ShardingRule ScatterAddOp::getShardingRule() {
  GatherFactors gather(shapeOf(getBase()), shapeOf(getIndices()),
                       getBatchDims());
  // The scattered dimension passes: a rank adds the rows that it owns. Rows
  // split among ranks would add the base more than once.
  for (size_t f = shapeOf(getBase()).size(); f < gather.factors.size(); ++f)
    gather.factors[f].kind = FactorKind::MustReplicate;
  FactorMapping result = gather.input;
  gather.input.linear = gather.rows.linear = true;
  return {gather.factors,
          {gather.input, gather.indices, gather.rows},
          {result},
          true};
}

KernelSpec ScatterAddOp::getKernelSpec() {
  return {
      "scatter_add",
      {static_cast<int64_t>(getDim()), static_cast<int64_t>(getBatchDims())},
      0,
      false};
}

LogicalResult ScatterAddOp::evaluate(Operands operands, Results results) {
  const Tensor &indices = *operands[1], &rows = *operands[2];
  size_t dim = getDim();
  results[0] = *operands[0];
  if (failed(expectAllHeld(*this, results[0].dim(dim), indices)))
    return failure();
  rows.forEachValid([&](const Index &index) {
    if (auto place = sourceOf(index, indices, results[0].dim(dim), dim))
      results[0].at(*place) += rows.at(index);
  });
  return success();
}

SmallVector<Value> ScatterAddOp::differentiate(OpBuilder &builder,
                                               ValueRange gradients) {
  return {gradients[0], Value(),
          GatherOp::create(builder, getLoc(), getRows().getType(), gradients[0],
                           getIndices(), getDim(), getBatchDims())};
}

//===----------------------------------------------------------------------===//
// update_slice
//===----------------------------------------------------------------------===//

LogicalResult UpdateSliceOp::verify() {
  Index base = shapeOf(getBase()), rows = shapeOf(getRows());
  if (base.size() < 2 || rows.size() < 2)
    return emitOpError() << "base has " << base.size() << " and rows has "
                         << rows.size() << " dimensions, expected at least 2";
  Index expected = base;
  expected[1] = rows[1];
  if (failed(expectShape(*this, "rows", getRows(), expected)) ||
      failed(expectElementType(*this, "rows", getRows(),
                               elementTypeOf(getBase()))) ||
      failed(expectShape(*this, "positions", getPositions(), {base[0]})))
    return failure();
  return expectShape(*this, "lengths", getLengths(), {base[0]});
}

ShardingRule UpdateSliceOp::getShardingRule() {
  ShardingRule rule;
  Index base = shapeOf(getBase());
  for (int64_t size : base)
    rule.factors.push_back({size, FactorKind::PassThrough, ReductionKind::Sum});
  // A rank writes the rows that fall into what it holds.
  int32_t rowFactor = static_cast<int32_t>(rule.factors.size());
  rule.factors.push_back(
      {shapeOf(getRows())[1], FactorKind::MustReplicate, ReductionKind::Sum});
  FactorMapping whole = consecutiveFactors(base.size()), rows = whole;
  rule.results.push_back(whole);
  rows.dims[1] = {rowFactor};
  whole.linear = rows.linear = true;
  rule.additive = true;
  rule.operands = {whole, rows, consecutiveFactors(1), consecutiveFactors(1)};
  return rule;
}

KernelSpec UpdateSliceOp::getKernelSpec() { return {"update_slice", {}, 0, 1}; }

LogicalResult UpdateSliceOp::evaluate(Operands operands, Results results) {
  const Tensor &rows = *operands[1], &positions = *operands[2];
  const Tensor &lengths = *operands[3];
  results[0] = *operands[0];
  rows.forEachValid([&](const Index &index) {
    int64_t row = rows.dim(1).begin + index[1];
    if (row >= lengths.at({index[0]}))
      return;
    Index place = index;
    place[1] = laneOf(results[0].dim(1), positions.at({index[0]}) + row);
    if (place[1] >= 0)
      results[0].at(place) = rows.at(index);
  });
  return success();
}

/// The base has none where rows were written. Row i takes what lies at
/// positions[b] + i, where it was written.
SmallVector<Value> UpdateSliceOp::differentiate(OpBuilder &builder,
                                                ValueRange gradients) {
  Formula f(builder, getLoc());
  auto type = cast<RankedTensorType>(getRows().getType());
  Value base = UpdateSliceOp::create(builder, getLoc(), gradients[0].getType(),
                                     gradients[0], f.zeros(type),
                                     getPositions(), getLengths());
  Index each = {type.getShape()[0], type.getShape()[1]};
  auto perRow = [&](Value value) {
    return f.broadcast(f.cast(value, builder.getI64Type()), {0}, each);
  };
  Value row = IotaOp::create(builder, getLoc(),
                             RankedTensorType::get(each, builder.getI64Type()),
                             1, APFloat(0.0), APFloat(1.0));
  Value place = f.add(perRow(getPositions()), row);
  Value last = f.splat(shapeOf(getBase())[1] - 1, place.getType());
  Value inside =
      f.binary(BinaryKind::Max, f.binary(BinaryKind::Min, place, last),
               f.zeros(place.getType()));
  Value taken =
      GatherOp::create(builder, getLoc(), type, gradients[0], inside, 1, 1);
  Value written = f.binary(
      BinaryKind::And, f.compare(CompareKind::Lt, row, perRow(getLengths())),
      f.compare(CompareKind::Eq, place, inside));
  return {base, f.where(f.broadcast(written, {0, 1}, type.getShape()), taken),
          Value(), Value()};
}

//===----------------------------------------------------------------------===//
// top_k
//===----------------------------------------------------------------------===//

LogicalResult TopKOp::verify() {
  Index shape = shapeOf(getInput());
  if (shape.empty())
    return emitOpError("operand has no dimensions, expected at least one");
  // Locally each rank gives its own k candidates, so k is a local size.
  Index values = shapeOf(getValues());
  if (values.size() != shape.size())
    return emitOpError() << "result has " << values.size()
                         << " dimensions, expected " << shape.size();
  int64_t k = getValues().getType().getShape().back();
  int64_t size = getInput().getType().getShape().back();
  if (k > size)
    return emitOpError() << "k is " << k << ", expected at most " << size;
  int64_t pieces = getPieces();
  if (pieces < 1 || values.back() % pieces)
    return emitOpError() << "pieces is " << pieces
                         << ", expected a divisor of k, " << values.back();
  shape.back() = values.back();
  if (failed(expectShape(*this, "values", getValues(), shape)) ||
      failed(expectShape(*this, "indices", getIndices(), shape)) ||
      failed(expectElementType(*this, "values", getValues(),
                               elementTypeOf(getInput()))))
    return failure();
  if (Value payload = getPayload())
    if (failed(expectShape(*this, "payload", payload, shapeOf(getInput()))))
      return failure();
  return success();
}

ShardingRule TopKOp::getShardingRule() {
  ShardingRule rule;
  Index shape = shapeOf(getInput());
  int64_t pieces = getPieces();
  auto last = static_cast<int32_t>(shape.size()) - 1;
  for (int64_t size : shape)
    rule.factors.push_back({size});
  FactorMapping input = consecutiveFactors(shape.size()), result = input;
  if (pieces == 1) {
    rule.factors[last].kind = FactorKind::Selection;
    result.dims[last] = {last + 1};
  } else {
    // Pieces pass, what a piece has and what is chosen of it do not.
    rule.factors[last] = {pieces};
    rule.factors.push_back(
        {(shape[last] + pieces - 1) / pieces, FactorKind::MustReplicate});
    input.dims[last] = {last, last + 1};
    result.dims[last] = {last, last + 2};
  }
  rule.factors.push_back(
      {shapeOf(getValues()).back() / pieces, FactorKind::MustReplicate});
  rule.operands.assign(getNumOperands(), input);
  rule.results.assign(2, result);
  return rule;
}

KernelSpec TopKOp::getKernelSpec() { return {"top_k", {}, -1, false}; }

std::optional<int64_t> TopKOp::combinedBytes(int32_t, int64_t pieces) {
  Index values = shapeOf(getValues());
  if (getPieces() > 1 || values.back() * pieces >= shapeOf(getInput()).back())
    return std::nullopt;
  int64_t candidates = pieces;
  for (int64_t size : values)
    candidates *= size;
  // An all_gather sends half of what an all_reduce of its result does.
  return (bytesOf(getValues(), candidates) +
          bytesOf(getIndices(), candidates)) /
         2;
}

SmallVector<Value> TopKOp::expand(OpBuilder &builder, int32_t, int64_t pieces) {
  auto widened = [&](Value result) {
    auto type = cast<RankedTensorType>(result.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape.back() *= pieces;
    return type.clone(shape);
  };
  auto candidates = TopKOp::create(
      builder, getLoc(), widened(getValues()), widened(getIndices()),
      getInput(), getPayload(), builder.getI64IntegerAttr(pieces));
  auto chosen =
      TopKOp::create(builder, getLoc(), getValues().getType(),
                     getIndices().getType(), candidates.getValues(),
                     candidates.getIndices(), builder.getI64IntegerAttr(1));
  return chosen->getResults();
}

namespace {

struct Candidate {
  double value;
  double place;
};

/// Larger values first, NaN last, ties to the lower place.
bool comesBefore(const Candidate &a, const Candidate &b) {
  bool aIsNan = std::isnan(a.value), bIsNan = std::isnan(b.value);
  if (aIsNan != bIsNan)
    return bIsNan;
  if (!aIsNan && a.value != b.value)
    return a.value > b.value;
  return a.place < b.place;
}

/// The candidates of lanes `from` up to `to`, best first.
std::vector<Candidate> sortedCandidates(const Tensor &values,
                                        const Tensor *payload, Index index,
                                        int64_t from, int64_t to) {
  std::vector<Candidate> candidates;
  const LocalDim &last = values.dim(values.rank() - 1);
  for (int64_t lane = from; lane < std::min(to, last.valid); ++lane) {
    index.back() = lane;
    double place =
        payload ? payload->at(index) : static_cast<double>(last.begin + lane);
    candidates.push_back({values.at(index), place});
  }
  std::stable_sort(candidates.begin(), candidates.end(), comesBefore);
  return candidates;
}

/// What stands in place of a candidate that a rank does not have.
const Candidate noCandidate = {-std::numeric_limits<double>::infinity(),
                               std::numeric_limits<int32_t>::max()};

} // namespace

LogicalResult TopKOp::evaluate(Operands operands, Results results) {
  const Tensor *payload = operands.size() > 1 ? operands[1] : nullptr;
  std::vector<Candidate> candidates;
  // On one rank all pieces are here; on as many ranks as pieces each has one.
  const LocalDim &input = operands[0]->dims().back();
  const LocalDim &output = results[0].dims().back();
  int64_t each = output.global / getPieces();
  int64_t pieces = std::max<int64_t>(output.capacity / each, 1);
  int64_t width = (input.capacity + pieces - 1) / pieces;
  results[0].forEachValid([&](const Index &index) {
    int64_t piece = index.back() / each;
    if (index.back() % each == 0)
      candidates = sortedCandidates(*operands[0], payload, index, piece * width,
                                    (piece + 1) * width);
    size_t place = index.back() % each;
    const Candidate &chosen =
        place < candidates.size() ? candidates[place] : noCandidate;
    results[0].at(index) = chosen.value;
    results[1].at(index) = chosen.place;
  });
  return success();
}

/// Each value goes back to the lane that it was taken from. Where a payload
/// stands in place of the lanes' numbers they are found once more.
SmallVector<Value> TopKOp::differentiate(OpBuilder &builder,
                                         ValueRange gradients) {
  if (!gradients[0])
    return SmallVector<Value>(getNumOperands());
  Value lanes = getIndices();
  if (getPayload())
    lanes = TopKOp::create(builder, getLoc(), getValues().getType(),
                           getIndices().getType(), getInput(), Value(),
                           getPiecesAttr())
                .getIndices();
  Value zeros = Formula(builder, getLoc()).zeros(getInput().getType());
  int64_t last = getInput().getType().getRank() - 1;
  SmallVector<Value> result(getNumOperands());
  result[0] = ScatterAddOp::create(builder, getLoc(), zeros.getType(), zeros,
                                   lanes, gradients[0], last, last);
  return result;
}

//===----------------------------------------------------------------------===//
// sample
//===----------------------------------------------------------------------===//

LogicalResult SampleOp::verify() {
  Index logits = shapeOf(getLogits());
  if (logits.size() != 2)
    return emitOpError() << "logits has " << logits.size()
                         << " dimensions, expected 2";
  static const char *const names[] = {"logits", "temperature", "top_k",
                                      "top_p",  "seed",        "positions"};
  for (unsigned i = 1; i < getNumOperands(); ++i)
    if (failed(expectShape(*this, names[i], getOperand(i), {logits[0]})))
      return failure();
  return expectShape(*this, "result", getResult(), {logits[0]});
}

ShardingRule SampleOp::getShardingRule() {
  return RuleBuilder("bv,b,b,b,b,b->b")
      .kind('v', FactorKind::MustReplicate)
      .build(shapesOf(getOperands()), shapesOf(getResult()));
}

KernelSpec SampleOp::getKernelSpec() { return {"sample", {}, -1, false}; }

namespace {

/// How one row is drawn.
struct Draw {
  double temperature, topP;
  int64_t topK;
  double uniform; ///< In [0, 1).
};

/// exp((logit - max) / T) of the `topK` largest candidates.
std::vector<double> massesOf(const std::vector<Candidate> &candidates,
                             const Draw &draw) {
  size_t count = candidates.size();
  if (draw.topK > 0)
    count = std::min(count, static_cast<size_t>(draw.topK));
  std::vector<double> masses;
  double largest = candidates[0].value;
  for (const Candidate &candidate :
       llvm::ArrayRef(candidates).take_front(count))
    // Equal infinities have no difference but the same mass.
    masses.push_back(
        candidate.value == largest
            ? 1
            : std::exp((candidate.value - largest) / draw.temperature));
  return masses;
}

/// Leaves the smallest leading set whose share reaches top_p; its mass.
double keepLeading(std::vector<double> &masses, double topP) {
  double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  double kept = 0;
  for (size_t i = 0; i < masses.size(); ++i) {
    kept += masses[i];
    if (kept >= topP * total) {
      masses.resize(i + 1);
      break;
    }
  }
  return kept;
}

/// `candidates` are in descending order; NaN, at the end, is never drawn.
double drawFrom(std::vector<Candidate> candidates, const Draw &draw) {
  while (candidates.size() > 1 && std::isnan(candidates.back().value))
    candidates.pop_back();
  if (!(draw.temperature > 0))
    return candidates[0].place;
  std::vector<double> masses = massesOf(candidates, draw);
  double threshold = draw.uniform * keepLeading(masses, draw.topP);
  double passed = 0;
  for (size_t i = 0; i < masses.size(); ++i)
    if ((passed += masses[i]) > threshold)
      return candidates[i].place;
  return candidates[masses.size() - 1].place;
}

} // namespace

LogicalResult SampleOp::evaluate(Operands operands, Results results) {
  if (operands[0]->dim(1).valid == 0)
    return emitOpError("logits have no entries to draw from");
  results[0].forEachValid([&](const Index &index) {
    auto number = [&](size_t operand) { return operands[operand]->at(index); };
    auto seed = static_cast<uint64_t>(static_cast<int64_t>(number(4)));
    uint64_t row = operands[0]->dim(0).begin + index[0];
    auto position = static_cast<uint64_t>(number(5));
    Draw draw{number(1), number(3), static_cast<int64_t>(number(2)),
              uniformNumber(seed, row, position)};
    results[0].at(index) =
        drawFrom(sortedCandidates(*operands[0], nullptr, {index[0], 0}, 0,
                                  operands[0]->dim(1).valid),
                 draw);
  });
  return success();
}

} // namespace tandem

#include "frontend/DecoderBuilder.h"

#include <numeric>

using namespace mlir;

namespace tandem {
namespace {

ViewStepAttr step(MLIRContext *context, llvm::StringRef name,
                  llvm::ArrayRef<int64_t> arguments) {
  return ViewStepAttr::get(context, name, arguments);
}

/// The trailing `count` of `rank` dimensions.
llvm::SmallVector<int64_t> trailing(size_t rank, size_t count) {
  llvm::SmallVector<int64_t> dims(count);
  std::iota(dims.begin(), dims.end(), static_cast<int64_t>(rank - count));
  return dims;
}

bool isKeyOrValue(Role role) {
  return role == Role::Key || role == Role::Value;
}

} // namespace

Type elementType(MLIRContext *context, DType dtype) {
  switch (dtype) {
  case DType::BF16:
    return BFloat16Type::get(context);
  case DType::F16:
    return Float16Type::get(context);
  default:
    return Float32Type::get(context);
  }
}

DecoderBuilder::DecoderBuilder(FunctionBuilder &f, const Architecture &family,
                               const ModelConfig &config,
                               const ModelTensors &tensors,
                               const ModelFiles &files, DType dtype,
                               DecoderInputs inputs)
    : f_(f), family_(family), config_(config), tensors_(tensors), files_(files),
      dtype_(dtype), element_(elementType(f.builder().getContext(), dtype)),
      inputs_(inputs) {}

std::string DecoderBuilder::beside(Role role, int64_t layer,
                                   llvm::StringRef what) const {
  std::string name = tensors_.location(role, layer);
  size_t dot = name.rfind('.');
  return name.substr(0, dot == std::string::npos ? 0 : dot + 1) + what.str();
}

/// Splits the lanes of a projection into heads.
void DecoderBuilder::splitHeads(Role role, int64_t dim, const Place &place,
                                llvm::SmallVectorImpl<ViewStepAttr> &steps) {
  MLIRContext *context = f_.builder().getContext();
  int64_t kv = config_.kvHeads, group = config_.group();
  if (place.partOfHead >= 0) {
    steps.push_back(
        step(context, "split", {dim, config_.heads, 3, config_.headDim}));
    steps.push_back(step(context, "slice",
                         {dim + 1, place.partOfHead, place.partOfHead + 1}));
    return;
  }
  steps.push_back(step(context, isKeyOrValue(role) ? "kv_heads" : "heads",
                       {dim, kv, group, config_.headDim}));
}

ViewAttr DecoderBuilder::view(Role role, const Place &place, bool bias) {
  MLIRContext *context = f_.builder().getContext();
  llvm::SmallVector<ViewStepAttr> steps;
  if (!place.isWhole() && place.partOfHead < 0)
    steps.push_back(
        step(context, "slice", {place.outDim, place.begin, place.end}));
  bool queries = role == Role::Query || isKeyOrValue(role);
  if (queries)
    splitHeads(role, place.outDim, place, steps);
  else if (role == Role::Output && !bias)
    splitHeads(role, 1 - place.outDim, place, steps);
  if (place.outDim == 1) {
    // [inputs, outputs] is read as [outputs, inputs].
    int64_t inputs = role == Role::Output ? 3 : 1;
    int64_t outputs = queries ? (role == Role::Query ? 3 : 2) : 1;
    if (place.partOfHead >= 0)
      outputs = 3;
    llvm::SmallVector<int64_t> order = trailing(inputs + outputs, outputs);
    for (int64_t i = 0; i < inputs; ++i)
      order.push_back(i);
    steps.push_back(step(context, "transpose", order));
  }
  const StoredTensor *stored = files_.tensors.find(place.name);
  StringAttr storedType;
  if (stored && stored->dtype != dtype_)
    storedType = f_.builder().getStringAttr(std::string(name(stored->dtype)));
  llvm::SmallVector<int64_t> shape;
  if (!steps.empty())
    shape.assign(place.shape.begin(), place.shape.end());
  return ViewAttr::get(context, place.name, shape, storedType, steps);
}

Value DecoderBuilder::weight(Role role, int64_t layer) {
  Place place = tensors_.weight(role, layer);
  return f_.parameter(view(role, place, false), place.shape, element_);
}

/// The role's bias in `like`'s shape.
Value DecoderBuilder::bias(Role role, int64_t layer, Value like) {
  Place place = tensors_.bias(role, layer);
  Value value = f_.parameter(view(role, place, true), place.shape, element_);
  if (place.partOfHead >= 0 && isKeyOrValue(role))
    value = f_.reshape(value, {config_.kvHeads, config_.headDim});
  return f_.broadcast(value, like,
                      trailing(typeOf(like).getRank(),
                               static_cast<size_t>(typeOf(value).getRank())));
}

llvm::SmallVector<Value> DecoderBuilder::terms(Role role, int64_t layer,
                                               llvm::StringRef equation,
                                               Value x) {
  f_.at(layer, tensors_.location(role, layer));
  llvm::SmallVector<Value> terms = {
      f_.einsum(equation, {x, weight(role, layer)})};
  if (tensors_.hasBias(role))
    terms.push_back(bias(role, layer, terms[0]));
  return terms;
}

Value DecoderBuilder::project(Role role, int64_t layer,
                              llvm::StringRef equation, Value x) {
  return f_.sum(terms(role, layer, equation, x));
}

Value DecoderBuilder::norm(Role role, int64_t layer, Value x) {
  f_.at(layer, tensors_.location(role, layer));
  Place place = tensors_.weight(role, layer);
  Value scale = f_.parameter(view(role, place, false), place.shape, element_);
  FloatAttr epsilon = f_.builder().getF64FloatAttr(config_.epsilon);
  if (family_.norm == NormKind::Rms)
    return f_.create<RmsNormOp>(
        x.getType(), x, scale, epsilon,
        f_.builder().getF64FloatAttr(family_.normOffset));
  Value shift;
  if (tensors_.hasBias(role)) {
    Place at = tensors_.bias(role, layer);
    shift = f_.parameter(view(role, at, true), at.shape, element_);
  }
  return f_.create<LayerNormOp>(x.getType(), x, scale, shift, epsilon);
}

/// Names an activation, whose dimensions people speak of as `shape`.
Value DecoderBuilder::named(llvm::StringRef name, Value x) {
  llvm::SmallVector<int64_t> shape(sizesOf(x).begin(), sizesOf(x).end());
  llvm::SmallVector<ViewStepAttr> steps;
  MLIRContext *context = f_.builder().getContext();
  int64_t kv = config_.kvHeads, group = config_.group();
  if (shape.size() > 3) {
    bool keys = shape.size() == 4;
    steps.push_back(step(context, keys ? "kv_heads" : "heads",
                         {2, kv, group, config_.headDim}));
    int64_t lanes = (keys ? kv : config_.heads) * config_.headDim;
    shape = {shape[0], shape[1], lanes};
  }
  return f_.constrain(x,
                      ViewAttr::get(context, name, shape, StringAttr(), steps));
}

Value DecoderBuilder::positionIds() {
  RankedTensorType type = typeOf(inputs_.ids);
  Builder &b = f_.builder();
  Value ids = f_.create<IotaOp>(type, b.getI64IntegerAttr(1),
                                b.getF64FloatAttr(0), b.getF64FloatAttr(1));
  if (inputs_.fromZero)
    return ids;
  ids = f_.sum({f_.broadcast(inputs_.positions, inputs_.ids, {0}), ids});
  if (type.getDimSize(1) == 1)
    return ids;
  // Rows of a chunk behind its length may lie beyond the table.
  Value last = f_.splat(type, static_cast<double>(config_.maxPosition - 1));
  return f_.create<BinaryOp>(
      type, BinaryKindAttr::get(b.getContext(), BinaryKind::Min), ids, last);
}

Value DecoderBuilder::embed() {
  f_.at(-1, tensors_.location(Role::Tokens, 0));
  Value x = f_.embedding(weight(Role::Tokens, 0), inputs_.ids);
  if (config_.embeddingScale != 1)
    x = f_.mul(x, f_.splat(typeOf(x), config_.embeddingScale));
  if (tensors_.has(Role::Positions)) {
    f_.at(-1, tensors_.location(Role::Positions, 0));
    Value table = weight(Role::Positions, 0);
    x = f_.sum({x, f_.embedding(table, positionIds())});
  }
  return named("@residual", x);
}

Value DecoderBuilder::rotate(Role role, int64_t layer, Value x) {
  if (config_.frequencies.empty())
    return x;
  f_.at(layer,
        beside(role, layer, role == Role::Query ? "query_rope" : "key_rope"));
  Builder &b = f_.builder();
  RopeStyle style =
      family_.ropeInterleaved ? RopeStyle::Interleaved : RopeStyle::HalfSplit;
  return f_.create<RopeOp>(x.getType(), x, inputs_.positions,
                           RopeStyleAttr::get(b.getContext(), style),
                           b.getDenseF64ArrayAttr(config_.frequencies),
                           b.getF64FloatAttr(1));
}

/// The queries [B, S, kv, group, D] or the keys or values [B, S, kv, D].
Value DecoderBuilder::heads(Role role, int64_t layer, Value x) {
  bool perHead = tensors_.weight(role, layer).partOfHead >= 0;
  llvm::StringRef equation = role == Role::Query ? "bsd,kghd->bskgh"
                             : perHead           ? "bsd,kohd->bskh"
                                                 : "bsd,khd->bskh";
  x = project(role, layer, equation, x);
  Role own = role == Role::Query ? Role::QueryNorm : Role::KeyNorm;
  if (role != Role::Value && tensors_.has(own))
    x = norm(own, layer, x);
  if (role != Role::Value)
    x = rotate(role, layer, x);
  return named("@heads", x);
}

/// `rows` written to the cache, and the whole of it.
Value DecoderBuilder::cached(Role role, int64_t layer, Value rows) {
  if (inputs_.cacheLength == 0)
    return rows;
  llvm::StringRef what = role == Role::Key ? "key" : "value";
  f_.at(layer, beside(role, layer, (what + "_cache").str()));
  std::string name = ("cache." + llvm::Twine(layer) + "." + what).str();
  llvm::SmallVector<int64_t> shape(sizesOf(rows).begin(), sizesOf(rows).end());
  shape[1] = inputs_.cacheLength;
  RankedTensorType type = f_.type(shape, element_);
  Value updated = f_.create<UpdateSliceOp>(type, f_.state(name, type), rows,
                                           inputs_.positions, inputs_.lengths);
  f_.replaceState(name, updated);
  return updated;
}

Value DecoderBuilder::keyOrValue(Role role, int64_t layer, Value x) {
  return cached(role, layer, heads(role, layer, x));
}

Value DecoderBuilder::attention(int64_t layer, Value x) {
  Value query = heads(Role::Query, layer, x);
  Value key = keyOrValue(Role::Key, layer, x);
  Value value = keyOrValue(Role::Value, layer, x);
  f_.at(layer, beside(Role::Query, layer, "attention"));
  Builder &b = f_.builder();
  size_t i = static_cast<size_t>(layer);
  auto op = f_.create<AttentionOp>(
      query.getType(), f_.type(sizesOf(query).drop_back(), f_.f32()), query,
      key, value, inputs_.positions, Value(), Value(),
      b.getF64FloatAttr(config_.scales[i]), b.getUnitAttr(),
      b.getI64IntegerAttr(config_.windows[i]),
      b.getF64FloatAttr(config_.attentionSoftcap));
  return named("@heads", op.getResult());
}

Value DecoderBuilder::activate(Value x) {
  MLIRContext *context = f_.builder().getContext();
  GeluKind kind = GeluKind::None;
  switch (config_.activation) {
  case Activation::Silu:
    return f_.create<SiluOp>(x.getType(), x);
  case Activation::Relu:
    return f_.unary(UnaryKind::Relu, x);
  case Activation::Gelu:
    break;
  case Activation::GeluTanh:
    kind = GeluKind::Tanh;
    break;
  case Activation::GeluQuick:
    kind = GeluKind::Quick;
    break;
  }
  return f_.create<GeluOp>(x.getType(), x, GeluKindAttr::get(context, kind));
}

llvm::SmallVector<Value> DecoderBuilder::attentionTerms(int64_t layer,
                                                        Value x) {
  Value y = attention(layer, norm(Role::AttentionNorm, layer, x));
  return normed(Role::AttentionPostNorm, layer,
                terms(Role::Output, layer, "bskgh,dkgh->bsd", y));
}

llvm::SmallVector<Value> DecoderBuilder::mlpTerms(int64_t layer, Value x) {
  x = norm(Role::MlpNorm, layer, x);
  Value hidden;
  if (tensors_.has(Role::Gate)) {
    Value gate = project(Role::Gate, layer, "bsd,fd->bsf", x);
    f_.at(layer, beside(Role::Gate, layer, "activation"));
    gate = activate(gate);
    Value up = project(Role::Up, layer, "bsd,fd->bsf", x);
    f_.at(layer, beside(Role::Up, layer, "gated"));
    hidden = f_.mul(gate, up);
  } else {
    hidden = project(Role::Up, layer, "bsd,fd->bsf", x);
    f_.at(layer, beside(Role::Up, layer, "activation"));
    hidden = activate(hidden);
  }
  hidden = named("@ffn", hidden);
  return normed(Role::MlpPostNorm, layer,
                terms(Role::Down, layer, "bsf,df->bsd", hidden));
}

/// `terms`, or the norm of their sum where the family has one there.
llvm::SmallVector<Value>
DecoderBuilder::normed(Role role, int64_t layer,
                       llvm::SmallVector<Value> terms) {
  if (!tensors_.has(role))
    return terms;
  return {norm(role, layer, f_.sum(terms))};
}

/// x and what a block adds to it, as one sum, so that unreduced terms can be
/// added before they are reduced.
Value DecoderBuilder::residual(Role role, int64_t layer,
                               llvm::SmallVector<Value> terms, Value x) {
  terms.push_back(x);
  f_.at(layer, beside(role, layer, "residual"));
  return named("@residual", f_.sum(terms));
}

Value DecoderBuilder::layer(int64_t layer, Value x) {
  llvm::SmallVector<Value> terms = attentionTerms(layer, x);
  if (config_.parallelResidual) {
    llvm::append_range(terms, mlpTerms(layer, x));
    return residual(Role::Down, layer, terms, x);
  }
  x = residual(Role::Output, layer, terms, x);
  return residual(Role::Down, layer, mlpTerms(layer, x), x);
}

void DecoderBuilder::fillCache(int64_t layer, Value x) {
  x = norm(Role::AttentionNorm, layer, x);
  keyOrValue(Role::Key, layer, x);
  keyOrValue(Role::Value, layer, x);
}

Value DecoderBuilder::softcapped(Value x, double cap) {
  if (cap == 0)
    return x;
  x = f_.mul(x, f_.splat(typeOf(x), 1 / cap));
  x = f_.unary(UnaryKind::Tanh, x);
  return f_.mul(x, f_.splat(typeOf(x), cap));
}

Value DecoderBuilder::head(Value x) {
  int64_t layer = config_.layers;
  x = norm(Role::FinalNorm, layer, x);
  Role role = config_.tied ? Role::Tokens : Role::Head;
  f_.at(layer, config_.tied ? "head" : tensors_.location(role, layer));
  Value table = weight(role, layer);
  Value logits = f_.einsum("bsd,vd->bsv", {x, table});
  if (tensors_.hasBias(role))
    logits = f_.sum({logits, bias(role, layer, logits)});
  logits = f_.cast(named("@logits", logits), f_.f32());
  return softcapped(logits, config_.logitSoftcap);
}

Value DecoderBuilder::lastToken(Value x, Value lengths) {
  f_.at(config_.layers, "last_token");
  Builder &b = f_.builder();
  Value one = f_.splat(typeOf(lengths), 1);
  Value index = f_.create<BinaryOp>(
      lengths.getType(), BinaryKindAttr::get(b.getContext(), BinaryKind::Sub),
      lengths, one);
  index = f_.reshape(index, {sizesOf(lengths)[0], 1});
  llvm::SmallVector<int64_t> shape(sizesOf(x).begin(), sizesOf(x).end());
  shape[1] = 1;
  return f_.create<GatherOp>(f_.type(shape, typeOf(x).getElementType()), x,
                             index, b.getI64IntegerAttr(1),
                             b.getI64IntegerAttr(1));
}

} // namespace tandem

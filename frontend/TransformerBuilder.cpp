#include "frontend/TransformerBuilder.h"

using namespace mlir;

namespace tandem {

TransformerBuilder::TransformerBuilder(FunctionBuilder &f,
                                       const Architecture &family,
                                       const ModelConfig &config,
                                       const ModelTensors &tensors,
                                       const ModelFiles &files, DType dtype,
                                       TransformerInputs inputs)
    : f_(f), family_(family), config_(config), tensors_(tensors),
      parameters_(f, config, tensors, files, dtype), inputs_(inputs) {}

std::string TransformerBuilder::beside(Role role, int64_t layer,
                                       llvm::StringRef what) const {
  std::string name = tensors_.location(role, layer);
  size_t dot = name.rfind('.');
  return name.substr(0, dot == std::string::npos ? 0 : dot + 1) + what.str();
}

llvm::SmallVector<Value> TransformerBuilder::terms(Role role, int64_t layer,
                                                   llvm::StringRef equation,
                                                   Value x) {
  f_.at(layer, tensors_.location(role, layer));
  Value product = f_.einsum(equation, {x, parameters_.weight(role, layer)});
  if (role == Role::Output || role == Role::Down)
    product = named("@block_output", product);
  llvm::SmallVector<Value> terms = {product};
  if (tensors_.hasBias(role))
    terms.push_back(parameters_.bias(role, layer, terms[0]));
  return terms;
}

Value TransformerBuilder::project(Role role, int64_t layer,
                                  llvm::StringRef equation, Value x) {
  return f_.sum(terms(role, layer, equation, x));
}

Value TransformerBuilder::norm(Role role, int64_t layer, Value x) {
  f_.at(layer, tensors_.location(role, layer));
  Value scale = parameters_.weight(role, layer);
  FloatAttr epsilon = f_.builder().getF64FloatAttr(config_.epsilon);
  if (family_.norm == NormKind::Rms)
    return f_.create<RmsNormOp>(
        x.getType(), x, scale, epsilon,
        f_.builder().getF64FloatAttr(family_.normOffset));
  return f_.create<LayerNormOp>(x.getType(), x, scale,
                                parameters_.plainBias(role, layer), epsilon);
}

/// Written out, so that heads may be split: each rank adds the squares of its
/// lanes, and one number a token is reduced.
Value TransformerBuilder::normOfAll(Role role, int64_t layer, Value x) {
  f_.at(layer, tensors_.location(role, layer));
  bool queries = sizesOf(x).size() == 5;
  int64_t lanes = (queries ? config_.heads : config_.kvHeads) * config_.headDim;
  Value wide = f_.cast(x, f_.f32());
  Value squares =
      f_.einsum(queries ? "bskgh,bskgh->bs" : "bskh,bskh->bs", {wide, wide});
  Value mean = scaled(squares, 1.0 / static_cast<double>(lanes));
  Value shifted = f_.sum({mean, f_.splat(typeOf(mean), config_.epsilon)});
  Value inverse = f_.unary(UnaryKind::Rsqrt, shifted);
  Value normed = f_.mul(wide, f_.broadcast(inverse, wide, {0, 1}));
  Value scale = f_.cast(parameters_.weight(role, layer), f_.f32());
  if (family_.normOffset != 0)
    scale = f_.sum({scale, f_.splat(typeOf(scale), family_.normOffset)});
  size_t rank = sizesOf(x).size();
  normed =
      f_.mul(normed, f_.broadcast(scale, normed, trailing(rank, rank - 2)));
  return f_.cast(normed, typeOf(x).getElementType());
}

Value TransformerBuilder::headNorm(Role role, int64_t layer, Value x) {
  if (!tensors_.has(role))
    return x;
  return family_.headNorm == HeadNorm::Each ? norm(role, layer, x)
                                            : normOfAll(role, layer, x);
}

Value TransformerBuilder::scaled(Value x, double factor) {
  return factor == 1 ? x : f_.mul(x, f_.splat(typeOf(x), factor));
}

/// Names an activation, whose dimensions people speak of as `shape`.
Value TransformerBuilder::named(llvm::StringRef name, Value x) {
  llvm::SmallVector<int64_t> shape(sizesOf(x).begin(), sizesOf(x).end());
  llvm::SmallVector<ViewStepAttr> steps;
  MLIRContext *context = f_.builder().getContext();
  int64_t kv = config_.kvHeads, group = config_.group();
  if (shape.size() > 3) {
    bool keys = shape.size() == 4;
    steps.push_back(viewStep(context, keys ? "kv_heads" : "heads",
                             {2, kv, group, config_.headDim}));
    int64_t lanes = (keys ? kv : config_.heads) * config_.headDim;
    shape = {shape[0], shape[1], lanes};
  }
  return f_.constrain(x,
                      ViewAttr::get(context, name, shape, StringAttr(), steps));
}

Value TransformerBuilder::positionIds() {
  RankedTensorType type = typeOf(inputs_.ids);
  Builder &b = f_.builder();
  double first = static_cast<double>(family_.positionOffset);
  if (family_.counted == Counted::Shown && inputs_.mask) {
    // Hidden tokens stand before the first.
    Value count =
        f_.create<CumulativeSumOp>(type, inputs_.mask, b.getI64IntegerAttr(1));
    return f_.sum({f_.mul(count, inputs_.mask), f_.splat(type, first - 1)});
  }
  Value ids = f_.create<IotaOp>(type, b.getI64IntegerAttr(1),
                                b.getF64FloatAttr(first), b.getF64FloatAttr(1));
  if (inputs_.fromZero)
    return ids;
  ids = f_.sum({f_.broadcast(inputs_.positions, inputs_.ids, {0}), ids});
  if (type.getDimSize(1) == 1)
    return ids;
  // Rows of a chunk behind its length may lie beyond the table.
  Value last = f_.splat(type, static_cast<double>(config_.positionRows - 1));
  return f_.create<BinaryOp>(
      type, BinaryKindAttr::get(b.getContext(), BinaryKind::Min), ids, last);
}

Value TransformerBuilder::embed() {
  f_.at(-1, tensors_.location(Role::Tokens, 0));
  Value x =
      named("@block_output",
            f_.embedding(parameters_.weight(Role::Tokens, 0), inputs_.ids));
  x = scaled(x, config_.embeddingScale);
  if (tensors_.has(Role::ProjectIn))
    x = project(Role::ProjectIn, -1, "bse,de->bsd", x);
  llvm::SmallVector<Value> terms = {x};
  if (tensors_.has(Role::TokenTypes)) {
    f_.at(-1, tensors_.location(Role::TokenTypes, 0));
    terms.push_back(f_.embedding(parameters_.weight(Role::TokenTypes, 0),
                                 inputs_.tokenTypes));
  }
  if (tensors_.has(Role::Positions)) {
    f_.at(-1, tensors_.location(Role::Positions, 0));
    terms.push_back(
        f_.embedding(parameters_.weight(Role::Positions, 0), positionIds()));
  }
  x = f_.sum(terms);
  if (tensors_.has(Role::EmbeddingNorm))
    x = norm(Role::EmbeddingNorm, -1, x);
  return named("@residual", x);
}

Value TransformerBuilder::rotate(Role role, int64_t layer, Value x) {
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
                           b.getF64FloatAttr(config_.ropeAmplitude));
}

/// The queries [B, S, kv, group, D] or the keys or values [B, S, kv, D].
Value TransformerBuilder::heads(Role role, int64_t layer, Value x) {
  bool inGroup = tensors_.weight(role, layer).inGroup;
  llvm::StringRef equation = role == Role::Query ? "bsd,kghd->bskgh"
                             : inGroup           ? "bsd,kohd->bskh"
                                                 : "bsd,khd->bskh";
  x = project(role, layer, equation, x);
  if (role != Role::Value) {
    Role own = role == Role::Query ? Role::QueryNorm : Role::KeyNorm;
    x = rotate(role, layer, headNorm(own, layer, x));
  }
  return named("@heads", x);
}

/// `rows` written to the cache, and the whole of it.
Value TransformerBuilder::cached(Role role, int64_t layer, Value rows) {
  if (inputs_.cacheLength == 0)
    return rows;
  llvm::StringRef what = role == Role::Key ? "key" : "value";
  f_.at(layer, beside(role, layer, (what + "_cache").str()));
  std::string name = ("cache." + llvm::Twine(layer) + "." + what).str();
  llvm::SmallVector<int64_t> shape(sizesOf(rows).begin(), sizesOf(rows).end());
  shape[1] = inputs_.cacheLength;
  RankedTensorType type = f_.type(shape, parameters_.element());
  Value updated = f_.create<UpdateSliceOp>(type, f_.state(name, type), rows,
                                           inputs_.positions, inputs_.lengths);
  f_.replaceState(name, updated);
  return updated;
}

Value TransformerBuilder::keyOrValue(Role role, int64_t layer, Value x) {
  return cached(role, layer, heads(role, layer, x));
}

/// ALiBi's slopes [kv, group], null without.
Value TransformerBuilder::slopes() {
  if (config_.slopes.empty())
    return Value();
  llvm::SmallVector<float> values(config_.slopes.begin(), config_.slopes.end());
  RankedTensorType type = f_.type({config_.kvHeads, config_.group()}, f_.f32());
  return f_.create<ConstantOp>(
      type, DenseElementsAttr::get(type, llvm::ArrayRef<float>(values)));
}

Value TransformerBuilder::attention(int64_t layer, Value x) {
  Value query = heads(Role::Query, layer, x);
  Value key = keyOrValue(Role::Key, layer, x);
  Value value = keyOrValue(Role::Value, layer, x);
  f_.at(layer, beside(Role::Query, layer, "attention"));
  Builder &b = f_.builder();
  size_t i = static_cast<size_t>(layer);
  auto op = f_.create<AttentionOp>(
      query.getType(), f_.type(sizesOf(query).drop_back(), f_.f32()), query,
      key, value, inputs_.positions, inputs_.mask, slopes(),
      b.getF64FloatAttr(config_.scales[i]),
      family_.causal ? b.getUnitAttr() : UnitAttr(),
      b.getI64IntegerAttr(config_.windows[i]),
      b.getF64FloatAttr(config_.attentionSoftcap));
  return named("@heads", op.getResult());
}

Value TransformerBuilder::activate(Value x) {
  MLIRContext *context = f_.builder().getContext();
  GeluKind kind = GeluKind::None;
  switch (config_.activation) {
  case Activation::Silu:
    return f_.create<SiluOp>(x.getType(), x);
  case Activation::Relu:
    return f_.unary(UnaryKind::Relu, x);
  case Activation::ReluSquared:
    x = f_.unary(UnaryKind::Relu, x);
    return f_.mul(x, x);
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

llvm::SmallVector<Value> TransformerBuilder::attentionTerms(int64_t layer,
                                                            Value x) {
  Value y = attention(layer, x);
  return normed(Role::AttentionPostNorm, layer,
                terms(Role::Output, layer, "bskgh,dkgh->bsd", y));
}

llvm::SmallVector<Value> TransformerBuilder::mlpTerms(int64_t layer, Value x) {
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
TransformerBuilder::normed(Role role, int64_t layer,
                           llvm::SmallVector<Value> terms) {
  if (!tensors_.has(role))
    return terms;
  return {norm(role, layer, f_.sum(terms))};
}

/// x and what a block adds to it, as one sum, so that unreduced terms can be
/// added before they are reduced.
Value TransformerBuilder::residual(Role role, int64_t layer,
                                   llvm::SmallVector<Value> terms, Value x) {
  f_.at(layer, beside(role, layer, "residual"));
  if (config_.residualScale != 1)
    terms = {scaled(f_.sum(terms), config_.residualScale)};
  terms.push_back(x);
  return named("@residual", f_.sum(terms));
}

Value TransformerBuilder::read(Role role, int64_t layer, Value x) {
  bool before = config_.normPlace == NormPlace::Before && tensors_.has(role);
  return named("@block_input", before ? norm(role, layer, x) : x);
}

Value TransformerBuilder::settled(Role role, int64_t layer, Value x) {
  bool after = config_.normPlace == NormPlace::AfterSum && tensors_.has(role);
  return after ? norm(role, layer, x) : x;
}

Value TransformerBuilder::layer(int64_t layer, Value x) {
  Value y = read(Role::AttentionNorm, layer, x);
  llvm::SmallVector<Value> terms = attentionTerms(layer, y);
  if (config_.parallelResidual) {
    if (tensors_.has(Role::MlpNorm))
      y = read(Role::MlpNorm, layer, x);
    llvm::append_range(terms, mlpTerms(layer, y));
    return residual(Role::Down, layer, terms, x);
  }
  x = residual(Role::Output, layer, terms, config_.keepNormed ? y : x);
  x = settled(Role::AttentionNorm, layer, x);
  y = read(Role::MlpNorm, layer, x);
  x = residual(Role::Down, layer, mlpTerms(layer, y),
               config_.keepNormed ? y : x);
  return settled(Role::MlpNorm, layer, x);
}

void TransformerBuilder::fillCache(int64_t layer, Value x) {
  x = read(Role::AttentionNorm, layer, x);
  keyOrValue(Role::Key, layer, x);
  keyOrValue(Role::Value, layer, x);
}

Value TransformerBuilder::softcapped(Value x, double cap) {
  if (cap == 0)
    return x;
  x = f_.mul(x, f_.splat(typeOf(x), 1 / cap));
  x = f_.unary(UnaryKind::Tanh, x);
  return f_.mul(x, f_.splat(typeOf(x), cap));
}

Value TransformerBuilder::head(Value x) {
  int64_t layer = config_.layers;
  if (tensors_.has(Role::FinalNorm))
    x = norm(Role::FinalNorm, layer, x);
  if (tensors_.has(Role::ProjectOut))
    x = project(Role::ProjectOut, layer, "bsd,ed->bse", x);
  if (tensors_.has(Role::HeadTransform))
    x = activate(project(Role::HeadTransform, layer, "bsd,ed->bse", x));
  if (tensors_.has(Role::HeadNorm))
    x = norm(Role::HeadNorm, layer, x);
  f_.at(layer, config_.tied ? "head" : tensors_.location(Role::Head, layer));
  x = named("@block_input", x);
  Value table =
      parameters_.weight(config_.tied ? Role::Tokens : Role::Head, layer);
  Value logits = f_.einsum("bse,ve->bsv", {x, table});
  if (tensors_.hasBias(Role::Head))
    logits = f_.sum({logits, parameters_.bias(Role::Head, layer, logits)});
  logits = f_.cast(named("@logits", logits), f_.f32());
  return softcapped(scaled(logits, config_.logitScale), config_.logitSoftcap);
}

Value TransformerBuilder::lastToken(Value x, Value lengths) {
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

#include "frontend/BuildModel.h"

#include "frontend/TransformerBuilder.h"
#include "runtime/base/Suggest.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tandem {
namespace {

/// Tokens that a prefill entry takes at once.
constexpr int64_t kChunks[] = {256, 64, 16, 4};

/// How rows draw their next ids, each one entry a row.
struct SampleInputs {
  Value temperature, topK, topP, seed;
};

class EntryBuilder {
public:
  EntryBuilder(ModuleOp module, const Architecture &family,
               const ModelConfig &config, const ModelTensors &tensors,
               const ModelFiles &files, const EntryOptions &options)
      : module_(module), family_(family), config_(config), tensors_(tensors),
        files_(files), options_(options) {}

  void logits();
  void next();
  void prefill(int64_t chunk);
  void decode(bool sample);
  void loss(Entry entry);

private:
  RankedTensorType rowType(Type element) const {
    return RankedTensorType::get({options_.batch}, element);
  }
  TransformerInputs sequenceInputs(FunctionBuilder &f) const;
  TransformerInputs cacheInputs(FunctionBuilder &f, int64_t tokens) const;
  TransformerBuilder body(FunctionBuilder &f, TransformerInputs inputs) const {
    return TransformerBuilder(f, family_, config_, tensors_, files_,
                              options_.dtype, inputs);
  }
  /// The type of batches: microbatches, rows, tokens.
  RankedTensorType batchType(FunctionBuilder &f) const {
    return f.type({options_.microbatches, rows(), options_.maxSeq}, f.i32());
  }
  Value allLayers(TransformerBuilder &body, int64_t count) const;
  Value best(FunctionBuilder &f, Value logits) const;
  SampleInputs sampleInputs(FunctionBuilder &f) const;
  int64_t rows() const {
    return (options_.batch + options_.microbatches - 1) / options_.microbatches;
  }
  TransformerInputs trainingInputs(FunctionBuilder &f) const;
  Value targets(FunctionBuilder &f) const;
  Value counted(FunctionBuilder &f, Value labels) const;

  ModuleOp module_;
  const Architecture &family_;
  const ModelConfig &config_;
  const ModelTensors &tensors_;
  const ModelFiles &files_;
  const EntryOptions &options_;
};

/// A whole sequence from position 0.
TransformerInputs EntryBuilder::sequenceInputs(FunctionBuilder &f) const {
  TransformerInputs inputs;
  auto type = f.type({options_.batch, options_.maxSeq}, f.i32());
  inputs.ids = f.input("input_ids", type);
  inputs.positions = f.splat(rowType(f.i32()), 0);
  inputs.fromZero = true;
  if (options_.attentionMask)
    inputs.mask = f.input("attention_mask", type);
  if (tensors_.has(Role::TokenTypes))
    inputs.tokenTypes = f.input("token_type_ids", type);
  return inputs;
}

/// `tokens` of each row, to go behind what its cache holds.
TransformerInputs EntryBuilder::cacheInputs(FunctionBuilder &f,
                                            int64_t tokens) const {
  TransformerInputs inputs;
  inputs.ids = f.input("input_ids", f.type({options_.batch, tokens}, f.i32()));
  inputs.positions = f.input("positions", rowType(f.i32()));
  inputs.lengths = f.input("lengths", rowType(f.i32()));
  inputs.cacheLength = options_.maxSeq;
  return inputs;
}

Value EntryBuilder::allLayers(TransformerBuilder &body, int64_t count) const {
  Value x = body.embed();
  for (int64_t i = 0; i < count; ++i)
    x = body.layer(i, x);
  return x;
}

void EntryBuilder::logits() {
  FunctionBuilder f(module_, "logits");
  TransformerBuilder decoder = body(f, sequenceInputs(f));
  f.output("logits", decoder.head(allLayers(decoder, config_.layers)));
  f.finish();
}

void EntryBuilder::next() {
  FunctionBuilder f(module_, "next");
  TransformerInputs inputs = sequenceInputs(f);
  Value lengths = f.input("lengths", rowType(f.i32()));
  TransformerBuilder decoder = body(f, inputs);
  Value x = allLayers(decoder, config_.layers);
  Value logits = decoder.head(decoder.lastToken(x, lengths));
  f.output("logits", f.reshape(logits, {options_.batch, config_.vocab}));
  f.finish();
}

void EntryBuilder::prefill(int64_t chunk) {
  FunctionBuilder f(module_, "prefill_" + std::to_string(chunk));
  TransformerBuilder decoder = body(f, cacheInputs(f, chunk));
  // Nobody reads what the last layer would add.
  decoder.fillCache(config_.layers - 1, allLayers(decoder, config_.layers - 1));
  f.finish();
}

Value EntryBuilder::best(FunctionBuilder &f, Value logits) const {
  f.at(config_.layers, "greedy");
  Type f32 = f.f32(), i32 = f.i32();
  auto op = f.create<TopKOp>(f.type({options_.batch, 1}, f32),
                             f.type({options_.batch, 1}, i32), logits, Value());
  return f.reshape(op.getIndices(), {options_.batch});
}

SampleInputs EntryBuilder::sampleInputs(FunctionBuilder &f) const {
  return {f.input("temperature", rowType(f.f32())),
          f.input("top_k", rowType(f.i32())),
          f.input("top_p", rowType(f.f32())),
          f.input("seed", rowType(f.builder().getI64Type()))};
}

void EntryBuilder::decode(bool sample) {
  FunctionBuilder f(module_, sample ? "decode_sample" : "decode");
  TransformerInputs inputs = cacheInputs(f, 1);
  SampleInputs settings;
  if (sample)
    settings = sampleInputs(f);
  TransformerBuilder decoder = body(f, inputs);
  Value logits = decoder.head(allLayers(decoder, config_.layers));
  logits = f.reshape(logits, {options_.batch, config_.vocab});
  Value ids;
  if (sample) {
    f.at(config_.layers, "sample");
    ids = f.create<SampleOp>(rowType(f.i32()), logits, settings.temperature,
                             settings.topK, settings.topP, settings.seed,
                             inputs.positions);
  } else {
    ids = best(f, logits);
  }
  f.output("next_ids", ids);
  f.finish();
}

/// A microbatch of the batch, from position 0.
TransformerInputs EntryBuilder::trainingInputs(FunctionBuilder &f) const {
  auto slice = [&](llvm::StringRef name) {
    return f.microbatch(f.input(name, batchType(f)));
  };
  TransformerInputs inputs;
  inputs.ids = slice("input_ids");
  inputs.positions = f.splat(f.type({rows()}, f.i32()), 0);
  inputs.fromZero = true;
  if (options_.attentionMask)
    inputs.mask = slice("attention_mask");
  if (tensors_.has(Role::TokenTypes))
    inputs.tokenTypes = slice("token_type_ids");
  return inputs;
}

/// What each token is to predict: of encoders its own label, else the one
/// behind it. Labels are as many as ids and one more, the ignored one where
/// there is none; they are shifted, not logits cut, so that a split sequence
/// stays so.
Value EntryBuilder::targets(FunctionBuilder &f) const {
  RankedTensorType type = batchType(f);
  if (!family_.causal)
    return f.input("labels", type);
  Builder &b = f.builder();
  llvm::SmallVector<int64_t> shape(type.getShape());
  ++shape[2];
  return f.create<SliceOp>(type, f.input("labels", f.type(shape, f.i32())),
                           b.getDenseI64ArrayAttr({0, 0, 1}),
                           b.getDenseI64ArrayAttr({1, 1, 1}));
}

/// How many labels count in the whole step, at least 1.
Value EntryBuilder::counted(FunctionBuilder &f, Value labels) const {
  Builder &b = f.builder();
  RankedTensorType type = typeOf(labels);
  Value ignored = f.splat(type, static_cast<double>(kIgnoredLabel));
  Value counts = f.create<CompareOp>(
      type.clone(b.getI1Type()),
      CompareKindAttr::get(b.getContext(), CompareKind::Ne), labels, ignored);
  Value count = f.reduceSum(f.cast(counts, f.i32()), {0, 1, 2});
  count = f.create<BinaryOp>(
      count.getType(), BinaryKindAttr::get(b.getContext(), BinaryKind::Max),
      count, f.splat(typeOf(count), 1));
  return f.cast(count, f.f32());
}

void EntryBuilder::loss(Entry entry) {
  FunctionBuilder f(module_, entryName(entry));
  TransformerInputs inputs = trainingInputs(f);
  TransformerBuilder model = body(f, inputs);
  model.keepMasters();
  f.at(config_.layers, "labels");
  Value labels = targets(f);
  Value count = counted(f, labels);
  Value logits = model.head(allLayers(model, config_.layers));
  f.at(config_.layers, "loss");
  RankedTensorType rowsType = f.type({rows(), options_.maxSeq}, f.f32());
  auto terms =
      f.create<CrossEntropyOp>(rowsType, rowsType, logits, f.microbatch(labels),
                               f.builder().getI64IntegerAttr(kIgnoredLabel));
  Value sum = f.accumulate(f.reduceSum(terms.getLoss(), {0, 1}));
  f.output("loss",
           f.create<BinaryOp>(
               sum.getType(),
               BinaryKindAttr::get(f.builder().getContext(), BinaryKind::Div),
               sum, count));
  func::FuncOp function = f.finish();
  if (entry != Entry::Loss)
    function->setAttr(TandemDialect::kDifferentiate, f.builder().getUnitAttr());
  if (entry == Entry::Train)
    function->setAttr(TandemDialect::kOptimizer,
                      f.builder().getStringAttr(options_.optimizer));
}

constexpr const char *kEntryNames[] = {"logits", "next",      "generate",
                                       "loss",   "gradients", "train"};

} // namespace

const char *entryName(Entry entry) {
  return kEntryNames[static_cast<int>(entry)];
}

std::string entryNames() {
  return llvm::join(llvm::ArrayRef<const char *>(kEntryNames), ", ");
}

Result<Entry> parseEntry(const std::string &name) {
  for (Entry entry : {Entry::Logits, Entry::Next, Entry::Generate, Entry::Loss,
                      Entry::Gradients, Entry::Train})
    if (name == entryName(entry))
      return entry;
  return Status::usage(
      "unknown entry '" + name + "'; known are: " + entryNames() +
      didYouMean(name, {std::begin(kEntryNames), std::end(kEntryNames)}));
}

OwningOpRef<ModuleOp>
buildModel(MLIRContext &context, const Architecture &family,
           const ModelConfig &config, const ModelTensors &tensors,
           const ModelFiles &files, const EntryOptions &options) {
  OwningOpRef<ModuleOp> module =
      ModuleOp::create(NameLoc::get(StringAttr::get(&context, family.name)));
  EntryBuilder entries(*module, family, config, tensors, files, options);
  if (options.entry == Entry::Logits)
    entries.logits();
  if (options.entry == Entry::Next)
    entries.next();
  if (isTraining(options.entry))
    entries.loss(options.entry);
  if (options.entry == Entry::Train && options.evaluation)
    entries.loss(Entry::Loss);
  if (options.entry != Entry::Generate)
    return module;
  for (int64_t chunk : kChunks)
    if (chunk <= options.maxSeq || chunk == 4)
      entries.prefill(chunk);
  entries.decode(false);
  entries.decode(true);
  return module;
}

} // namespace tandem

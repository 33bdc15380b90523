#include "frontend/ImportModel.h"

#include "frontend/Settings.h"
#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>
#include <filesystem>

using namespace mlir;

namespace tandem {
namespace {

constexpr int64_t kDefaultMaxSeq = 2048;
constexpr int64_t kLargestBatch = 1 << 20;

/// What the weights are at run time when nobody says: half precision where
/// the matrices are stored so, else float32.
DType runtimeType(const ModelFiles &files, const ModelConfig &config) {
  std::optional<DType> common;
  for (const StoredTensor &tensor : files.tensors.tensors()) {
    if (tensor.shape.size() < 2)
      continue;
    if (common && *common != tensor.dtype)
      return DType::F32;
    common = tensor.dtype;
  }
  if (!common)
    common = config.dtype;
  bool half = common == DType::BF16 || common == DType::F16;
  return half ? *common : DType::F32;
}

Status checkShapes(EntryOptions &entry, const Architecture &family,
                   const ModelConfig &config,
                   std::vector<std::string> &warnings) {
  if (entry.maxSeq == 0)
    entry.maxSeq = std::min(config.maxPosition, kDefaultMaxSeq);
  std::string wanted = "a sequence of " + std::to_string(entry.maxSeq) +
                       " is longer than the model's " +
                       std::to_string(config.maxPosition) + " positions";
  if (entry.maxSeq < 1 || entry.maxSeq >= int64_t(1) << 31)
    return Status::usage("max-seq: expected 1 to 2147483647, got " +
                         std::to_string(entry.maxSeq));
  if (entry.batch < 1 || entry.batch > kLargestBatch)
    return Status::usage("batch: expected 1 to " +
                         std::to_string(kLargestBatch) + ", got " +
                         std::to_string(entry.batch));
  if (entry.microbatches < 1 || entry.microbatches > entry.batch)
    return Status::usage(
        "microbatches: expected 1 to " + std::to_string(entry.batch) +
        ", the batch's rows, got " + std::to_string(entry.microbatches));
  if (entry.microbatches > 1 && !isTraining(entry.entry))
    return Status::usage("microbatches: expected --entry loss, gradients or "
                         "train, got " +
                         std::string(entryName(entry.entry)));
  if (entry.entry != Entry::Train && entry.evaluation)
    return Status::usage("evaluation: expected --entry train, got " +
                         std::string(entryName(entry.entry)));
  if (entry.entry != Entry::Train && entry.optimizer != "adamw")
    return Status::usage("optimizer: expected --entry train, got " +
                         std::string(entryName(entry.entry)));
  if (config.longestSequence > 0 && entry.maxSeq > config.longestSequence)
    return Status::refused(
        "a sequence of " + std::to_string(entry.maxSeq) +
        " is longer than the " + std::to_string(config.longestSequence) +
        " positions within which rotary positions are known beforehand; "
        "expected a --max-seq of at most that");
  if (entry.maxSeq > config.maxPosition) {
    if (family.positions == PositionKind::Learned)
      return Status::refused(wanted + "; expected at most that");
    warnings.push_back(wanted);
  }
  if (entry.dtype != DType::F32 && entry.dtype != DType::BF16 &&
      entry.dtype != DType::F16)
    return Status::usage("dtype: expected f32, bf16 or f16, got " +
                         std::string(name(entry.dtype)));
  return Status();
}

/// Encoders and masks go with entries that see a whole sequence.
Status checkEntry(EntryOptions &entry, const Architecture &family,
                  const ModelFiles &files) {
  if (family.causal && entry.attentionMask && entry.entry == Entry::Generate)
    return Status::usage("--attention-mask: expected --entry logits or next; "
                         "prompts of 'generate' have no hidden tokens");
  if (family.causal)
    return Status();
  entry.attentionMask = true;
  if (entry.entry == Entry::Logits || isTraining(entry.entry))
    return Status();
  return Status::refused(
      files.path + ": '" + family.name +
      "' models are encoders, whose tokens see what follows them: there is no "
      "next token to compute; expected --entry logits, loss, gradients or "
      "train, got " +
      std::string(entryName(entry.entry)));
}

class Facts {
public:
  explicit Facts(MLIRContext &context) : builder_(&context) {}

  DictionaryAttr of(const ModelConfig &config, const Architecture &family,
                    const EntryOptions &entry, ArrayRef<int64_t> ends,
                    std::optional<int64_t> begin);
  DictionaryAttr dims(const ModelTensors &tensors, const EntryOptions &entry);
  DictionaryAttr source(const std::string &path, const Fingerprint &print);

private:
  void add(StringRef name, Attribute value) {
    attributes_.push_back(builder_.getNamedAttr(name, value));
  }
  void add(StringRef name, int64_t value) {
    add(name, builder_.getI64IntegerAttr(value));
  }
  void add(StringRef name, StringRef value) {
    add(name, builder_.getStringAttr(value));
  }
  DictionaryAttr take() {
    DictionaryAttr result = builder_.getDictionaryAttr(attributes_);
    attributes_.clear();
    return result;
  }
  Builder builder_;
  SmallVector<NamedAttribute> attributes_;
};

DictionaryAttr Facts::of(const ModelConfig &config, const Architecture &family,
                         const EntryOptions &entry, ArrayRef<int64_t> ends,
                         std::optional<int64_t> begin) {
  add("entry", StringRef(entryName(entry.entry)));
  add("batch", entry.batch);
  add("max_seq", entry.maxSeq);
  if (isTraining(entry.entry))
    add("microbatches", entry.microbatches);
  add("dtype", StringRef(name(entry.dtype)));
  add("family", StringRef(family.name));
  add("vocab_size", config.vocab);
  if (config.tokenTypes > 0)
    add("token_types", config.tokenTypes);
  add("layers", config.layers);
  add("max_position", config.maxPosition);
  add("eos_ids", builder_.getDenseI64ArrayAttr(ends));
  if (begin)
    add("bos_id", *begin);
  return take();
}

DictionaryAttr Facts::dims(const ModelTensors &tensors,
                           const EntryOptions &options) {
  Entry entry = options.entry;
  for (const TensorPattern &pattern : tensors.patterns()) {
    std::string words;
    for (Dim dim : pattern.dims)
      words += (words.empty() ? "" : " ") + std::string(dimName(dim));
    add(pattern.name, StringRef(words));
  }
  add("@residual", StringRef("batch sequence model"));
  add("@block_input", StringRef("batch sequence model"));
  add("@block_output", StringRef("batch sequence model"));
  add("@heads", StringRef("batch sequence heads"));
  add("@ffn", StringRef("batch sequence ffn"));
  StringRef ids =
      isTraining(entry) ? "microbatch batch sequence" : "batch sequence";
  add("input_ids", ids);
  if (isTraining(entry))
    add("labels", ids);
  if (options.attentionMask)
    add("attention_mask", ids);
  if (tensors.has(Role::TokenTypes))
    add("token_type_ids", ids);
  if (entry == Entry::Next || entry == Entry::Generate)
    add("lengths", StringRef("batch"));
  // Prefill computes no logits, but decode does.
  add("@logits", StringRef("batch sequence vocab"));
  if (entry == Entry::Generate)
    for (StringRef name :
         {"positions", "temperature", "top_k", "top_p", "seed"})
      add(name, StringRef("batch"));
  return take();
}

DictionaryAttr Facts::source(const std::string &path,
                             const Fingerprint &print) {
  add("path", StringRef(path));
  add("size", static_cast<int64_t>(print.size));
  add("hash", static_cast<int64_t>(print.hash));
  return take();
}

ArrayAttr weightFiles(const ModelFiles &files, MLIRContext &context) {
  SmallVector<Attribute> sources;
  for (const StoredFile &file : files.tensors.files())
    sources.push_back(Facts(context).source(file.path, file.fingerprint));
  return ArrayAttr::get(&context, sources);
}

/// Files that a tokenizer is read from; GGUF holds it itself.
Result<ArrayAttr> tokenizerFiles(const ModelFiles &files,
                                 MLIRContext &context) {
  SmallVector<Attribute> sources;
  if (files.kind == ModelKind::Gguf) {
    const StoredFile &file = files.tensors.files()[0];
    if (files.config.has("tokenizer.ggml.model"))
      sources.push_back(Facts(context).source(file.path, file.fingerprint));
    return ArrayAttr::get(&context, sources);
  }
  for (const char *name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::string path = files.path + "/" + name;
    std::error_code error;
    if (!std::filesystem::exists(path, error))
      continue;
    TANDEM_ASSIGN(std::shared_ptr<const MappedFile> file,
                  MappedFile::open(path));
    sources.push_back(
        Facts(context).source(path, fingerprintOf(file->data(), file->size())));
  }
  return ArrayAttr::get(&context, sources);
}

Status describe(ModuleOp module, const ModelFiles &files,
                const ModelConfig &config, const Architecture &family,
                const ModelTensors &tensors, const EntryOptions &entry) {
  MLIRContext &context = *module.getContext();
  TANDEM_ASSIGN(std::vector<int64_t> ends, endIds(files));
  TANDEM_ASSIGN(std::optional<int64_t> begin, beginId(files));
  TANDEM_ASSIGN(ArrayAttr tokenizer, tokenizerFiles(files, context));
  module->setAttr(kFacts,
                  Facts(context).of(config, family, entry, ends, begin));
  module->setAttr(kDims, Facts(context).dims(tensors, entry));
  module->setAttr(kSources, weightFiles(files, context));
  module->setAttr(kTokenizer, tokenizer);
  return Status();
}

/// Verifies what was built; a failure is this compiler's fault.
Status verified(ModuleOp module) {
  std::string message;
  ScopedDiagnosticHandler handler(module.getContext(),
                                  [&](Diagnostic &diagnostic) {
                                    if (message.empty())
                                      message = diagnostic.str();
                                    return success();
                                  });
  if (succeeded(verify(module)))
    return Status();
  return Status::refused("the imported module does not verify: " + message);
}

} // namespace

void loadDialects(MLIRContext &context) {
  context.loadDialect<func::FuncDialect, TandemDialect>();
}

Result<ImportedModel> importModel(const std::string &path,
                                  const ImportOptions &options,
                                  MLIRContext &context) {
  loadDialects(context);
  bool elsewhere = options.weights && !options.weightsPath.empty();
  TANDEM_ASSIGN(ModelFiles files,
                openModel(path, options.weights && !elsewhere));
  if (elsewhere) {
    TANDEM_ASSIGN(ModelFiles other, openModel(options.weightsPath));
    if (other.tensors.empty())
      return Status::refused("--weights: '" + options.weightsPath +
                             "' holds no weights");
    files.tensors = std::move(other.tensors);
  }
  TANDEM_ASSIGN(const Architecture *family, findArchitecture(files));
  TANDEM_TRY(applySettings(*family, options.settings, files));
  TANDEM_ASSIGN(ModelConfig config, readModelConfig(*family, files));
  if (family->tiedWhenMissing)
    config.tied =
        !files.tensors.find(family->find(Role::Head)->stem + ".weight");
  TANDEM_ASSIGN(ModelTensors tensors,
                ModelTensors::make(*family, config, files));
  ImportedModel model;
  if (!files.tensors.files().empty())
    TANDEM_TRY(tensors.check(options.strict, model.warnings));
  EntryOptions entry = options.entry;
  if (!options.hasDType)
    entry.dtype = runtimeType(files, config);
  TANDEM_TRY(checkEntry(entry, *family, files));
  TANDEM_TRY(checkShapes(entry, *family, config, model.warnings));
  model.module = buildModel(context, *family, config, tensors, files, entry);
  TANDEM_TRY(describe(*model.module, files, config, *family, tensors, entry));
  TANDEM_TRY(verified(*model.module));
  return model;
}

} // namespace tandem

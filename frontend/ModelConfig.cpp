#include "frontend/ModelConfig.h"

#include "frontend/KeyReader.h"
#include "frontend/Rope.h"
#include "runtime/files/Json.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

constexpr int64_t kMostLayers = 65536;

/// What stands in the configuration of one model.
class Reader {
public:
  Reader(const Architecture &family, const ModelFiles &model)
      : family_(family), model_(model), keys_(family, model) {}

  Result<ModelConfig> read();

private:
  Status refuse() const;
  Status readSizes();
  Status readVocabulary();
  Status readHeads();
  Status readTables();
  Status readActivation();
  Status readPositions();
  Status readRope();
  Status expectAgreement(const Key &key) const;
  Status divideBy(const StoredTensor &tensor);
  Status readWindows();
  Result<std::vector<bool>> listedLayers(const ConfigNode &types) const;
  Status readScales();
  Status readFactors();
  Status readNorms();
  Status readDType();

  const Architecture &family_;
  const ModelFiles &model_;
  KeyReader keys_;
  ModelConfig config_;
};

Status Reader::refuse() const {
  for (const Refusal &refusal : family_.refusals) {
    std::optional<ConfigNode> node = keys_.find(refusal.key);
    if (node && node->value().dump() != refusal.allowed)
      return node->error("expected " + refusal.allowed + ", got " +
                         describeJson(node->value()) + ": " + refusal.why);
  }
  if (std::optional<ConfigNode> node =
          model_.config.find("quantization_config"))
    return node->error("weights quantised for this format are not read");
  return Status();
}

Status Reader::readVocabulary() {
  const Key &key = family_.keys.vocab;
  std::optional<ConfigNode> tokens =
      model_.config.find("tokenizer.ggml.tokens");
  const StoredTensor *table =
      model_.tensors.find(family_.find(Role::Tokens)->stem + ".weight");
  if (keys_.find(key) || model_.kind == ModelKind::HuggingFace) {
    TANDEM_ASSIGN(config_.vocab, keys_.size(key));
  } else if (tokens && tokens->isArray()) {
    config_.vocab = static_cast<int64_t>(tokens->value().size());
  } else if (table && table->shape.size() == 2) {
    config_.vocab = table->shape[0];
  }
  return Status();
}

Status Reader::readSizes() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_TRY(readVocabulary());
  TANDEM_ASSIGN(config_.hidden, keys_.size(keys.hidden));
  TANDEM_ASSIGN(config_.layers, keys_.size(keys.layers));
  if (config_.layers > kMostLayers)
    return keys_.error(keys.layers,
                       "expected at most " + std::to_string(kMostLayers) +
                           " layers, got " + std::to_string(config_.layers));
  TANDEM_TRY(readHeads());
  TANDEM_ASSIGN(
      config_.ffn,
      keys_.size(keys.ffn, keys.ffn.otherwise ? 4 * config_.hidden : 0));
  TANDEM_ASSIGN(config_.maxPosition, keys_.size(keys.maxPosition));
  TANDEM_ASSIGN(config_.initializerRange,
                keys_.number(keys.initializerRange, 0.02));
  if (!(config_.initializerRange >= 0))
    return keys_.error(keys.initializerRange,
                       "expected a number of at least 0, got " +
                           std::to_string(config_.initializerRange));
  TANDEM_ASSIGN(config_.epsilon, keys_.number(keys.epsilon, 1e-5));
  if (!(config_.epsilon >= 0))
    return keys_.error(keys.epsilon, "expected a number of at least 0, got " +
                                         std::to_string(config_.epsilon));
  TANDEM_ASSIGN(config_.tied, keys_.flag(keys.tied, false));
  return readTables();
}

Status Reader::readHeads() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(config_.heads, keys_.size(keys.heads));
  TANDEM_ASSIGN(config_.kvHeads, keys_.size(keys.kvHeads, config_.heads));
  if (config_.heads % config_.kvHeads != 0)
    return keys_.error(keys.kvHeads, "expected a divisor of the " +
                                         std::to_string(config_.heads) +
                                         " heads, got " +
                                         std::to_string(config_.kvHeads));
  int64_t share = std::max<int64_t>(1, config_.hidden / config_.heads);
  bool own = keys.headDim.otherwise && !keys_.isNull(keys.headDim);
  TANDEM_ASSIGN(config_.headDim, keys_.size(keys.headDim, own ? 0 : share));
  if (!keys_.find(keys.headDim) && !own && config_.hidden % config_.heads != 0)
    return keys_.error(keys.heads, "expected a divisor of the hidden size " +
                                       std::to_string(config_.hidden) +
                                       ", got " +
                                       std::to_string(config_.heads));
  if (!keys.headDim.names.empty())
    return Status();
  // Whoever writes the key means it, but the family has no such choice.
  const Key given = {{"head_dim"}};
  TANDEM_ASSIGN(int64_t size, keys_.size(given, share));
  if (size == share)
    return Status();
  return keys_.error(given, "expected " + std::to_string(share) +
                                " = hidden / heads, as all models of '" +
                                family_.name + "' have, got " +
                                std::to_string(size));
}

/// What lies in front of the layers.
Status Reader::readTables() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(config_.embedding, keys_.size(keys.embedding, config_.hidden));
  if (config_.embedding != config_.hidden && !family_.find(Role::ProjectIn))
    return keys_.error(keys.embedding, "expected the hidden size " +
                                           std::to_string(config_.hidden) +
                                           ", got " +
                                           std::to_string(config_.embedding));
  if (family_.find(Role::TokenTypes)) {
    TANDEM_ASSIGN(config_.tokenTypes, keys_.size(keys.tokenTypes));
  }
  config_.positionRows = config_.maxPosition + family_.positionOffset;
  return Status();
}

Status Reader::readActivation() {
  static const std::pair<const char *, Activation> known[] = {
      {"silu", Activation::Silu},
      {"swish", Activation::Silu},
      {"gelu", Activation::Gelu},
      {"gelu_new", Activation::GeluTanh},
      {"gelu_pytorch_tanh", Activation::GeluTanh},
      {"gelu_fast", Activation::GeluTanh},
      {"quick_gelu", Activation::GeluQuick},
      {"gelu_python", Activation::Gelu},
      {"relu", Activation::Relu},
      {"relu2", Activation::ReluSquared}};
  std::string name = family_.activation;
  std::optional<ConfigNode> node = keys_.find(family_.keys.activation);
  if (node) {
    TANDEM_ASSIGN(name, node->asString());
  }
  std::string names;
  for (const auto &[candidate, activation] : known) {
    names += (names.empty() ? "" : ", ") + std::string(candidate);
    config_.activation = activation;
    if (name == candidate)
      return Status();
  }
  const ConfigNode &place = node ? *node : model_.config;
  return place.error("unknown activation '" + name + "'; known are: " + names);
}

/// The published slopes: powers of 2^(-8 / n) for n heads; where n is no power
/// of two those of the next lower one, then every other of the next higher.
std::vector<double> alibiSlopes(int64_t heads) {
  int64_t lower = 1;
  while (2 * lower <= heads)
    lower *= 2;
  std::vector<double> slopes;
  for (int64_t i = 0; i < heads; ++i) {
    double power = i < lower ? static_cast<double>(i + 1) / lower
                             : (i - lower + 0.5) / lower;
    slopes.push_back(std::exp2(-8 * power));
  }
  return slopes;
}

Status Reader::readPositions() {
  if (family_.positions == PositionKind::Rotary)
    return readRope();
  if (family_.positions == PositionKind::Alibi)
    config_.slopes = alibiSlopes(config_.heads);
  return Status();
}

/// Refuses a setting that stands under two names with two values.
Status Reader::expectAgreement(const Key &key) const {
  std::optional<ConfigNode> first = keys_.find(key);
  for (const std::string &name : key.names)
    if (std::optional<ConfigNode> other = keys_.find(name);
        other && other->value() != first->value())
      return other->error("got " + describeJson(other->value()) + ", but " +
                          first->where() + " is " +
                          describeJson(first->value()) +
                          "; expected one of them, or the same in both");
  return Status();
}

Status Reader::readRope() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_TRY(expectAgreement(keys.ropeTheta));
  TANDEM_TRY(expectAgreement(keys.ropeFraction));
  RopeBase base;
  TANDEM_ASSIGN(base.theta, keys_.positive(keys.ropeTheta, 10000));
  TANDEM_ASSIGN(double fraction, keys_.number(keys.ropeFraction, 1));
  double lanes = static_cast<double>(config_.headDim) * fraction;
  TANDEM_ASSIGN(base.dim,
                keys_.size(keys.ropeDim,
                           std::max<int64_t>(1, static_cast<int64_t>(lanes))));
  base.maxPosition = config_.maxPosition;
  if (base.dim % 2 != 0 || base.dim > config_.headDim)
    return keys_.error(
        keys_.find(keys.ropeFraction) ? keys.ropeFraction
        : keys_.find(keys.ropeDim)    ? keys.ropeDim
                                      : keys.headDim,
        "rotary positions turn pairs of lanes: expected an even number of at "
        "most head_dim = " +
            std::to_string(config_.headDim) + " lanes, got " +
            std::to_string(base.dim));
  bool gguf = family_.ropeKeys == RopeKeys::Gguf;
  TANDEM_ASSIGN(RopeScaling scaling,
                gguf ? readGgufRopeScaling(model_.config, family_.name, base)
                     : readRopeScaling(model_.config, base));
  config_.plainFrequencies = ropeFrequencies(base);
  config_.frequencies = ropeFrequencies(base, scaling);
  config_.ropeAmplitude = scaling.amplitude;
  config_.longestSequence = scaling.longest;
  for (const Buffer &buffer : family_.buffers) {
    const StoredTensor *tensor = model_.tensors.find(buffer.name);
    if (!tensor || (buffer.kind != Buffer::RopeFactors &&
                    buffer.kind != Buffer::RopeShortFactors))
      continue;
    TANDEM_TRY(divideBy(*tensor));
    if (buffer.kind == Buffer::RopeShortFactors)
      config_.longestSequence = static_cast<int64_t>(scaling.originalLength);
  }
  return Status();
}

/// Applies the stored factors of a GGUF file.
Status Reader::divideBy(const StoredTensor &tensor) {
  size_t pairs = config_.frequencies.size();
  if (tensor.dtype != DType::F32 || tensor.elements() != pairs)
    return model_.config.error(tensor.name + ": expected f32 of shape [" +
                               std::to_string(pairs) + "], got " +
                               std::string(name(tensor.dtype)) + " of shape " +
                               shapeToString(tensor.shape));
  for (size_t j = 0; j < pairs; ++j) {
    float factor;
    __builtin_memcpy(&factor, tensor.data + j * sizeof factor, sizeof factor);
    if (!(factor > 0) || !std::isfinite(factor))
      return model_.config.error(tensor.name + ": element " +
                                 std::to_string(j) +
                                 ": expected a number above 0");
    config_.frequencies[j] /= factor;
  }
  return Status();
}

/// Which layers have the window by the list `types`.
Result<std::vector<bool>> Reader::listedLayers(const ConfigNode &types) const {
  TANDEM_ASSIGN(std::vector<std::string> names, types.asStrings());
  if (names.size() < static_cast<size_t>(config_.layers))
    return types.error("expected one entry for each of the " +
                       std::to_string(config_.layers) + " layers, got " +
                       std::to_string(names.size()));
  std::vector<bool> slides;
  for (size_t i = 0; i < static_cast<size_t>(config_.layers); ++i) {
    bool full = names[i] == "full_attention";
    if (!full && names[i] != "sliding_attention")
      return types.error("layer " + std::to_string(i) + ": unknown type '" +
                         names[i] +
                         "'; known are: full_attention, sliding_attention");
    slides.push_back(!full);
  }
  return slides;
}

Status Reader::readWindows() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(double from, keys_.number(keys.windowFrom, 0));
  TANDEM_ASSIGN(bool on, keys_.flag(keys.windowOn, true));
  TANDEM_ASSIGN(double width, keys_.numberOrNone(keys.window));
  int64_t window = 0;
  if (on && width != 0) {
    TANDEM_ASSIGN(window, keys_.size(keys.window));
  }
  std::vector<bool> slides;
  for (int64_t i = 0; i < config_.layers; ++i)
    slides.push_back(window != 0 && i >= static_cast<int64_t>(from) &&
                     i % family_.windowEvery == 0);
  const Key list = {{"layer_types"}};
  if (std::optional<ConfigNode> types = keys_.find(list)) {
    TANDEM_ASSIGN(std::vector<bool> listed, listedLayers(*types));
    bool any = std::find(listed.begin(), listed.end(), true) != listed.end();
    if (any && window == 0)
      return types->error("layers with a window, but the settings give none");
    if (listed != slides && !family_.windowList)
      return types->error("the windows of '" + family_.name +
                          "' models follow no list; expected the same window "
                          "for all layers, or null");
    slides = listed;
  }
  for (bool has : slides)
    config_.windows.push_back(has ? window : 0);
  return Status();
}

Status Reader::readScales() {
  const ConfigKeys &keys = family_.keys;
  auto unsaid = family_.queryScales.find(config_.layers);
  TANDEM_ASSIGN(double queryScale,
                keys_.positive(keys.queryScale,
                               unsaid != family_.queryScales.end()
                                   ? unsaid->second
                                   : static_cast<double>(config_.headDim)));
  TANDEM_ASSIGN(bool scales, keys_.flag(keys.scaleAttention, true));
  TANDEM_ASSIGN(bool byLayer, keys_.flag(keys.scaleByLayer, false));
  TANDEM_ASSIGN(double scale,
                keys_.number(keys.attentionScale, 1 / std::sqrt(queryScale)));
  if (!scales)
    scale = 1;
  for (int64_t i = 0; i < config_.layers; ++i)
    config_.scales.push_back(byLayer ? scale / static_cast<double>(i + 1)
                                     : scale);
  TANDEM_ASSIGN(config_.attentionSoftcap,
                keys_.numberOrNone(keys.attentionSoftcap));
  TANDEM_ASSIGN(config_.logitSoftcap, keys_.numberOrNone(keys.logitSoftcap));
  return Status();
}

/// What embeddings, blocks' results and logits are multiplied by.
Status Reader::readFactors() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(config_.embeddingScale, keys_.number(keys.embeddingScale, 1));
  if (family_.scaledEmbedding)
    config_.embeddingScale *= std::sqrt(static_cast<double>(config_.hidden));
  TANDEM_ASSIGN(config_.residualScale, keys_.number(keys.residualScale, 1));
  TANDEM_ASSIGN(double factor, keys_.number(keys.logitScale, 1));
  TANDEM_ASSIGN(double divisor, keys_.positive(keys.logitDivisor, 1));
  config_.logitScale = factor / divisor;
  return Status();
}

Status Reader::readNorms() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(config_.parallelResidual,
                keys_.flag(keys.parallelResidual, false));
  TANDEM_ASSIGN(config_.keepNormed, keys_.flag(keys.keepNormed, false));
  TANDEM_ASSIGN(bool first, keys_.flag(keys.normFirst, true));
  config_.normPlace = first ? family_.normPlace : NormPlace::AfterSum;
  return Status();
}

Status Reader::readDType() {
  if (model_.kind == ModelKind::Gguf)
    return Status();
  const Key key = {{"dtype", "torch_dtype"}};
  std::optional<ConfigNode> node = keys_.find(key);
  if (!node)
    return Status();
  TANDEM_ASSIGN(std::string name, node->asString());
  if (name.compare(0, 6, "torch.") == 0)
    name = name.substr(6);
  static const std::pair<const char *, DType> known[] = {
      {"float32", DType::F32},
      {"bfloat16", DType::BF16},
      {"float16", DType::F16},
      {"float64", DType::F64}};
  for (const auto &[candidate, dtype] : known)
    if (name == candidate)
      config_.dtype = dtype;
  return Status();
}

Result<ModelConfig> Reader::read() {
  TANDEM_TRY(refuse());
  TANDEM_TRY(readSizes());
  TANDEM_TRY(readActivation());
  TANDEM_TRY(readPositions());
  TANDEM_TRY(readWindows());
  TANDEM_TRY(readScales());
  TANDEM_TRY(readFactors());
  TANDEM_TRY(readNorms());
  TANDEM_TRY(readDType());
  return config_;
}

} // namespace

int64_t ModelConfig::sizeOf(Dim dim) const {
  switch (dim) {
  case Dim::Model:
    return hidden;
  case Dim::Embedding:
    return embedding;
  case Dim::Heads:
    return heads * headDim;
  case Dim::KvHeads:
    return kvHeads * headDim;
  case Dim::HeadDim:
    return headDim;
  case Dim::Ffn:
    return ffn;
  case Dim::Vocab:
    return vocab;
  case Dim::Positions:
    return positionRows;
  case Dim::TokenTypes:
    return tokenTypes;
  }
  return 0;
}

Result<ModelConfig> readModelConfig(const Architecture &family,
                                    const ModelFiles &model) {
  return Reader(family, model).read();
}

} // namespace tandem

#include "frontend/ModelConfig.h"

#include "frontend/Rope.h"
#include "frontend/Suggest.h"
#include "runtime/files/Json.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

constexpr int64_t kLargestSize = int64_t(1) << 31;
constexpr int64_t kMostLayers = 65536;

/// Reads keys of one family from one configuration.
class Reader {
public:
  Reader(const Architecture &family, const ModelFiles &model)
      : family_(family), model_(model) {}

  Result<ModelConfig> read();

private:
  std::optional<ConfigNode> find(const Key &key) const;
  /// The node, an error that names the key's first name where it is absent.
  Result<ConfigNode> demand(const Key &key) const;
  Result<double> number(const Key &key, double otherwise) const;
  Result<bool> flag(const Key &key, bool otherwise) const;
  /// The same for a setting that null turns off: 0.
  Result<double> numberOrNone(const Key &key) const;
  /// A size of at least 1; where absent `otherwise`, or what the key says.
  Result<int64_t> size(const Key &key, int64_t otherwise = 0) const;

  Status refuse() const;
  Status readSizes();
  Status readVocabulary();
  Status checkHeads() const;
  Status readActivation();
  Status readRope();
  Status divideByFactors();
  Status readWindows();
  Status readScales();
  Status readDType();

  const Architecture &family_;
  const ModelFiles &model_;
  ModelConfig config_;
};

std::string spelled(const Architecture &family, const std::string &name) {
  return name[0] == '$' ? family.name + name.substr(1) : name;
}

std::optional<ConfigNode> find(const Architecture &family,
                               const ConfigNode &root,
                               const std::string &name) {
  std::string path = spelled(family, name);
  size_t slash = path.find('/');
  if (slash == std::string::npos)
    return root.find(path);
  std::optional<ConfigNode> outer = root.find(path.substr(0, slash));
  return outer ? outer->find(path.substr(slash + 1)) : std::nullopt;
}

std::optional<ConfigNode> Reader::find(const Key &key) const {
  for (const std::string &name : key.names)
    if (std::optional<ConfigNode> node =
            tandem::find(family_, model_.config, name))
      return node;
  return std::nullopt;
}

Result<ConfigNode> Reader::demand(const Key &key) const {
  if (std::optional<ConfigNode> node = find(key))
    return *node;
  return model_.config.at(spelled(family_, key.names[0]));
}

Result<double> Reader::number(const Key &key, double otherwise) const {
  std::optional<ConfigNode> node = find(key);
  if (!node)
    return key.otherwise.value_or(otherwise);
  TANDEM_ASSIGN(double value, node->asNumber());
  if (!std::isfinite(value))
    return node->error("expected a finite number");
  return value;
}

Result<double> Reader::numberOrNone(const Key &key) const {
  for (const std::string &name : key.names)
    if (model_.config.value().contains(name) && !model_.config.has(name))
      return 0.0;
  return number(key, 0);
}

Result<bool> Reader::flag(const Key &key, bool otherwise) const {
  std::optional<ConfigNode> node = find(key);
  if (!node)
    return key.otherwise.value_or(otherwise) != 0;
  return node->asBoolean();
}

Result<int64_t> Reader::size(const Key &key, int64_t otherwise) const {
  if (key.otherwise && otherwise == 0)
    otherwise = static_cast<int64_t>(*key.otherwise);
  if (otherwise != 0 && !find(key))
    return otherwise;
  TANDEM_ASSIGN(ConfigNode node, demand(key));
  TANDEM_ASSIGN(int64_t value, node.asInteger());
  if (value < 1 || value > kLargestSize)
    return node.error("expected a size of 1 to " +
                      std::to_string(kLargestSize) + ", got " +
                      std::to_string(value));
  return value;
}

Status Reader::refuse() const {
  for (const Refusal &refusal : family_.refusals) {
    std::optional<ConfigNode> node =
        tandem::find(family_, model_.config, refusal.key);
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
  if (find(key) || model_.kind == ModelKind::HuggingFace) {
    TANDEM_ASSIGN(config_.vocab, size(key));
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
  TANDEM_ASSIGN(config_.hidden, size(keys.hidden));
  TANDEM_ASSIGN(config_.layers, size(keys.layers));
  if (config_.layers > kMostLayers) {
    TANDEM_ASSIGN(ConfigNode node, demand(keys.layers));
    return node.error("expected at most " + std::to_string(kMostLayers) +
                      " layers, got " + std::to_string(config_.layers));
  }
  TANDEM_ASSIGN(config_.heads, size(keys.heads));
  TANDEM_ASSIGN(config_.kvHeads, size(keys.kvHeads, config_.heads));
  int64_t share = std::max<int64_t>(1, config_.hidden / config_.heads);
  TANDEM_ASSIGN(config_.headDim,
                size(keys.headDim, keys.headDim.otherwise ? 0 : share));
  TANDEM_ASSIGN(config_.ffn,
                size(keys.ffn, keys.ffn.otherwise ? 4 * config_.hidden : 0));
  TANDEM_ASSIGN(config_.maxPosition, size(keys.maxPosition));
  TANDEM_ASSIGN(config_.epsilon, number(keys.epsilon, 1e-5));
  TANDEM_ASSIGN(config_.tied, flag(keys.tied, false));
  return checkHeads();
}

Status Reader::checkHeads() const {
  const ConfigKeys &keys = family_.keys;
  if (config_.heads % config_.kvHeads != 0) {
    TANDEM_ASSIGN(ConfigNode node, demand(keys.kvHeads));
    return node.error("expected a divisor of the " +
                      std::to_string(config_.heads) + " heads, got " +
                      std::to_string(config_.kvHeads));
  }
  if (find(keys.headDim) || keys.headDim.otherwise ||
      config_.hidden % config_.heads == 0)
    return Status();
  TANDEM_ASSIGN(ConfigNode node, demand(keys.heads));
  return node.error("expected a divisor of the hidden size " +
                    std::to_string(config_.hidden) + ", got " +
                    std::to_string(config_.heads));
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
      {"relu", Activation::Relu}};
  std::string name = family_.activation;
  std::optional<ConfigNode> node = find(family_.keys.activation);
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

Status Reader::readRope() {
  if (family_.positions != PositionKind::Rotary)
    return Status();
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(double theta, number(keys.ropeTheta, 10000));
  TANDEM_ASSIGN(double fraction, number(keys.ropeFraction, 1));
  TANDEM_ASSIGN(int64_t dim,
                size(keys.ropeDim,
                     std::max<int64_t>(
                         1, static_cast<int64_t>(config_.headDim * fraction))));
  if (!(theta > 0))
    return model_.config.error("rope_theta: expected a number above 0");
  if (dim % 2 != 0 || dim > config_.headDim)
    return model_.config.error(
        "rotary positions turn pairs of lanes: expected an even number of at "
        "most head_dim = " +
        std::to_string(config_.headDim) + " lanes, got " + std::to_string(dim));
  bool gguf = family_.ropeKeys == RopeKeys::Gguf;
  TANDEM_ASSIGN(RopeScaling scaling,
                gguf ? readGgufRopeScaling(model_.config, family_.name)
                     : readRopeScaling(model_.config));
  config_.plainFrequencies = ropeFrequencies(dim, theta);
  config_.frequencies = scaled(config_.plainFrequencies, scaling);
  return divideByFactors();
}

/// Applies the stored factors of a GGUF file, if it has them.
Status Reader::divideByFactors() {
  for (const Buffer &buffer : family_.buffers) {
    const StoredTensor *tensor = model_.tensors.find(buffer.name);
    if (buffer.kind != Buffer::RopeFactors || !tensor)
      continue;
    size_t pairs = config_.frequencies.size();
    if (tensor->dtype != DType::F32 || tensor->elements() != pairs)
      return model_.config.error(buffer.name + ": expected f32 of shape [" +
                                 std::to_string(pairs) + "], got " +
                                 std::string(name(tensor->dtype)) +
                                 " of shape " + shapeToString(tensor->shape));
    for (size_t j = 0; j < pairs; ++j) {
      float factor;
      __builtin_memcpy(&factor, tensor->data + j * sizeof factor,
                       sizeof factor);
      if (!(factor > 0) || !std::isfinite(factor))
        return model_.config.error(buffer.name + ": element " +
                                   std::to_string(j) +
                                   ": expected a number above 0");
      config_.frequencies[j] /= factor;
    }
  }
  return Status();
}

Status Reader::readWindows() {
  const ConfigKeys &keys = family_.keys;
  config_.windows.assign(static_cast<size_t>(config_.layers), 0);
  TANDEM_ASSIGN(bool on, flag(keys.windowOn, true));
  TANDEM_ASSIGN(double width, numberOrNone(keys.window));
  if (!on || width == 0)
    return Status();
  TANDEM_ASSIGN(int64_t window, size(keys.window));
  TANDEM_ASSIGN(double from, number(keys.windowFrom, 0));
  std::optional<ConfigNode> types = model_.config.find("layer_types");
  std::vector<std::string> names;
  if (types) {
    TANDEM_ASSIGN(names, types->asStrings());
    if (names.size() < config_.windows.size())
      return types->error("expected one entry for each of the " +
                          std::to_string(config_.layers) + " layers, got " +
                          std::to_string(names.size()));
  }
  for (size_t i = 0; i < config_.windows.size(); ++i) {
    auto layer = static_cast<int64_t>(i);
    bool slides = types ? names[i] == "sliding_attention"
                        : layer >= static_cast<int64_t>(from) &&
                              layer % family_.windowEvery == 0;
    config_.windows[i] = slides ? window : 0;
  }
  return Status();
}

Status Reader::readScales() {
  const ConfigKeys &keys = family_.keys;
  TANDEM_ASSIGN(double queryScale,
                number(keys.queryScale, static_cast<double>(config_.headDim)));
  if (!(queryScale > 0))
    return model_.config.error(keys.queryScale.names[0] +
                               ": expected a number above 0");
  TANDEM_ASSIGN(bool scales, flag(keys.scaleAttention, true));
  TANDEM_ASSIGN(bool byLayer, flag(keys.scaleByLayer, false));
  double scale = scales ? 1 / std::sqrt(queryScale) : 1;
  for (int64_t i = 0; i < config_.layers; ++i)
    config_.scales.push_back(byLayer ? scale / static_cast<double>(i + 1)
                                     : scale);
  TANDEM_ASSIGN(config_.attentionSoftcap, numberOrNone(keys.attentionSoftcap));
  TANDEM_ASSIGN(config_.logitSoftcap, numberOrNone(keys.logitSoftcap));
  TANDEM_ASSIGN(config_.parallelResidual, flag(keys.parallelResidual, false));
  if (family_.scaledEmbedding)
    config_.embeddingScale = std::sqrt(static_cast<double>(config_.hidden));
  return Status();
}

Status Reader::readDType() {
  if (model_.kind == ModelKind::Gguf)
    return Status();
  const Key key = {{"dtype", "torch_dtype"}};
  std::optional<ConfigNode> node = find(key);
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
  TANDEM_TRY(readRope());
  TANDEM_TRY(readWindows());
  TANDEM_TRY(readScales());
  TANDEM_TRY(readDType());
  return config_;
}

/// Every name of a setting that the family reads, dots between keys.
std::vector<std::string> knownSettings(const Architecture &family) {
  const ConfigKeys &k = family.keys;
  std::vector<std::string> names;
  for (const Key *key : {&k.vocab,
                         &k.hidden,
                         &k.layers,
                         &k.heads,
                         &k.ffn,
                         &k.maxPosition,
                         &k.epsilon,
                         &k.kvHeads,
                         &k.headDim,
                         &k.tied,
                         &k.activation,
                         &k.ropeTheta,
                         &k.ropeDim,
                         &k.ropeFraction,
                         &k.window,
                         &k.windowOn,
                         &k.windowFrom,
                         &k.attentionSoftcap,
                         &k.logitSoftcap,
                         &k.queryScale,
                         &k.scaleAttention,
                         &k.scaleByLayer,
                         &k.parallelResidual})
    for (std::string name : key->names) {
      name = spelled(family, name);
      for (char &c : name)
        c = c == '/' ? '.' : c;
      names.push_back(std::move(name));
    }
  for (const TensorRow &row : family.tensors)
    if (row.bias.rule == Bias::IfSet)
      names.push_back(row.bias.key);
  for (const Refusal &refusal : family.refusals)
    names.push_back(spelled(family, refusal.key));
  return names;
}

/// Whether some setting of the configuration begins the path `name`.
bool holds(const ConfigNode &config, const std::string &name) {
  return config.value().contains(name) ||
         config.value().contains(name.substr(0, name.find('.')));
}

Status applySetting(const Architecture &family, const std::string &text,
                    ModelFiles &model) {
  size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return Status::usage("--set " + text + ": expected KEY=VALUE");
  std::string name = text.substr(0, equals), value = text.substr(equals + 1);
  if (name.compare(0, 7, "config.") == 0)
    name.erase(0, 7);
  std::vector<std::string> known = knownSettings(family);
  bool isKnown = std::find(known.begin(), known.end(), name) != known.end() ||
                 name.compare(0, 5, "rope_") == 0;
  if (!isKnown && !holds(model.config, name))
    return Status::refused("--set " + name + ": " + model.config.file() +
                           " has no such setting" + didYouMean(name, known));
  if (model.kind == ModelKind::HuggingFace)
    return model.config.set(name, value);
  // GGUF's keys hold dots themselves.
  Result<nlohmann::json> parsed = parseJson(value, "");
  nlohmann::json root = model.config.value();
  root[name] = parsed.ok() ? *parsed : nlohmann::json(value);
  model.config = ConfigNode::fromJson(std::move(root), model.config.file());
  return Status();
}

} // namespace

int64_t ModelConfig::sizeOf(Dim dim) const {
  switch (dim) {
  case Dim::Model:
    return hidden;
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
    return maxPosition;
  }
  return 0;
}

Result<ModelConfig> readModelConfig(const Architecture &family,
                                    const ModelFiles &model) {
  return Reader(family, model).read();
}

Status applySettings(const Architecture &family,
                     const std::vector<std::string> &settings,
                     ModelFiles &model) {
  for (const std::string &setting : settings)
    TANDEM_TRY(applySetting(family, setting, model));
  return Status();
}

} // namespace tandem

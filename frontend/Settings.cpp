#include "frontend/Settings.h"

#include "frontend/KeyReader.h"
#include "runtime/base/Suggest.h"
#include "runtime/files/Json.h"

#include <algorithm>

namespace tandem {
namespace {

/// Every name of a setting that the family reads, dots between keys.
std::vector<std::string> knownSettings(const Architecture &family) {
  const ConfigKeys &k = family.keys;
  std::vector<std::string> names;
  const Key *keys[] = {&k.vocab,
                       &k.hidden,
                       &k.layers,
                       &k.heads,
                       &k.ffn,
                       &k.maxPosition,
                       &k.epsilon,
                       &k.initializerRange,
                       &k.embedding,
                       &k.tokenTypes,
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
                       &k.attentionScale,
                       &k.scaleAttention,
                       &k.scaleByLayer,
                       &k.embeddingScale,
                       &k.residualScale,
                       &k.logitScale,
                       &k.logitDivisor,
                       &k.parallelResidual,
                       &k.normFirst,
                       &k.keepNormed};
  static_assert(sizeof keys / sizeof *keys == sizeof(ConfigKeys) / sizeof(Key),
                "a key is missing here");
  for (const Key *key : keys)
    for (std::string name : key->names) {
      name = spelled(family, name);
      for (char &c : name)
        c = c == '/' ? '.' : c;
      names.push_back(std::move(name));
    }
  for (const TensorRow &row : family.tensors)
    for (const When *when : {&row.bias, &row.there})
      if (!when->key.empty())
        names.push_back(when->key);
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

Status applySettings(const Architecture &family,
                     const std::vector<std::string> &settings,
                     ModelFiles &model) {
  for (const std::string &setting : settings)
    TANDEM_TRY(applySetting(family, setting, model));
  return Status();
}

} // namespace tandem

//===- Architectures.cpp - The table of families ------------------------===//

#include "frontend/Families.h"

#include <algorithm>

namespace tandem {
namespace {

std::string knownNames(ModelKind kind) {
  std::string names;
  for (const Architecture &a : architectures())
    if (a.kind == kind)
      names += (names.empty() ? "" : ", ") + a.name;
  return names;
}

const Architecture *byName(ModelKind kind, const std::string &name) {
  for (const Architecture &a : architectures())
    if (a.kind == kind && a.name == name)
      return &a;
  return nullptr;
}

const Architecture *byClass(const std::string &name) {
  for (const Architecture &a : architectures())
    if (std::find(a.architectures.begin(), a.architectures.end(), name) !=
        a.architectures.end())
      return &a;
  return nullptr;
}

Status unknown(const ConfigNode &node, ModelKind kind,
               const std::string &name) {
  return node.error("unknown architecture '" + name +
                    "'; known are: " + knownNames(kind));
}

Result<const Architecture *> findHuggingFace(const ConfigNode &config) {
  const Architecture *named = nullptr;
  if (std::optional<ConfigNode> list = config.find("architectures")) {
    TANDEM_ASSIGN(std::vector<std::string> names, list->asStrings());
    if (!names.empty() && !(named = byClass(names[0])))
      return unknown(*list, ModelKind::HuggingFace, names[0]);
  }
  if (named)
    return named;
  TANDEM_ASSIGN(ConfigNode type, config.at("model_type"));
  TANDEM_ASSIGN(std::string name, type.asString());
  if (!(named = byName(ModelKind::HuggingFace, name)))
    return unknown(type, ModelKind::HuggingFace, name);
  return named;
}

} // namespace

const std::vector<Architecture> &architectures() {
  static const std::vector<Architecture> table = [] {
    std::vector<Architecture> all;
    for (auto families :
         {llamaFamilies, gptFamilies, encoderFamilies, ggufFamilies})
      for (Architecture &family : families())
        all.push_back(std::move(family));
    return all;
  }();
  return table;
}

Result<const Architecture *> findArchitecture(const ModelFiles &model) {
  if (model.kind == ModelKind::HuggingFace)
    return findHuggingFace(model.config);
  TANDEM_ASSIGN(ConfigNode type, model.config.at("general.architecture"));
  TANDEM_ASSIGN(std::string name, type.asString());
  if (const Architecture *found = byName(ModelKind::Gguf, name))
    return found;
  return unknown(type, ModelKind::Gguf, name);
}

std::string_view dimName(Dim dim) {
  switch (dim) {
  case Dim::Model:
    return "model";
  case Dim::Embedding:
    return "embedding";
  case Dim::Heads:
  case Dim::KvHeads:
    return "heads";
  case Dim::HeadDim:
    return "head_dim";
  case Dim::Ffn:
    return "ffn";
  case Dim::Vocab:
    return "vocab";
  case Dim::Positions:
    return "positions";
  case Dim::TokenTypes:
    return "types";
  }
  return "";
}

const TensorRow *Architecture::find(Role role) const {
  for (const TensorRow &row : tensors)
    if (row.role == role)
      return &row;
  return nullptr;
}

TensorRow &Architecture::at(Role role) {
  return const_cast<TensorRow &>(*find(role));
}

void Architecture::remove(Role role) {
  tensors.erase(
      std::remove_if(tensors.begin(), tensors.end(),
                     [&](const TensorRow &row) { return row.role == role; }),
      tensors.end());
}

} // namespace tandem

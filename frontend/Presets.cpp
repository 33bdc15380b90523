//===- Presets.cpp - The annotations that a mesh means by custom --------===//

#include "frontend/Annotations.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tandem {
namespace {

/// Writes lines for one mesh from what dimensions run over.
class Preset {
public:
  Preset(const Mesh &mesh, PresetOptions options)
      : mesh_(mesh), options_(options) {}

  Sharding shardingOf(const AnnotatedName &name) const;

private:
  void split(DimSharding &dim, StringRef axis) const {
    if (mesh_.has(axis) && axis != "pp")
      dim.axes.push_back(mesh_.whole(axis));
  }
  void splitWord(DimSharding &dim, StringRef word, bool residual) const;
  void splitRest(Sharding &sharding, StringRef axis) const;
  bool zeroSplits(NameKind kind) const;

  const Mesh &mesh_;
  PresetOptions options_;
};

void Preset::splitWord(DimSharding &dim, StringRef word, bool residual) const {
  if (word == "batch") {
    split(dim, "dp");
    split(dim, "fsdp");
  } else if (word == "sequence") {
    split(dim, "cp");
    if (residual && options_.sequenceParallel)
      split(dim, "tp");
  } else if (word == "heads" || word == "ffn" || word == "vocab") {
    split(dim, "tp");
  }
}

/// Gives `axis` the first dimension that nothing splits.
void Preset::splitRest(Sharding &sharding, StringRef axis) const {
  for (DimSharding &dim : sharding.dims)
    if (dim.axes.empty())
      return split(dim, axis);
}

/// Whether ZeRO's stage spreads what is of `kind` over the data ranks.
bool Preset::zeroSplits(NameKind kind) const {
  switch (kind) {
  case NameKind::Moment:
    return options_.zero >= 1;
  case NameKind::Gradient:
    return options_.zero >= 2;
  case NameKind::Parameter:
    return options_.zero >= 3;
  case NameKind::Other:
    break;
  }
  return false;
}

Sharding Preset::shardingOf(const AnnotatedName &name) const {
  SmallVector<StringRef> words;
  StringRef(name.dims).split(words, ' ');
  Sharding sharding = Sharding::replicatedOver(words.size());
  for (size_t i = 0; i < words.size(); ++i)
    splitWord(sharding.dims[i], words[i], name.name == "@residual");
  if (name.kind != NameKind::Other)
    splitRest(sharding, "fsdp");
  if (zeroSplits(name.kind))
    splitRest(sharding, "dp");
  return sharding;
}

} // namespace

Result<std::vector<Annotation>>
presetAnnotations(ModuleOp module, const Mesh &mesh, PresetOptions options) {
  Preset preset(mesh, options);
  std::vector<Annotation> annotations;
  for (const AnnotatedName &name : listNames(module)) {
    // Logits follow the head; caches follow the heads.
    if (name.dims.empty() || name.name == "@logits")
      continue;
    // Gradients stay partial sums until the step ends, unless ZeRO says so.
    if (name.kind == NameKind::Gradient && options.zero < 2)
      continue;
    Annotation annotation;
    annotation.name = name.name;
    annotation.sharding = preset.shardingOf(name);
    annotation.where = "preset " + mesh.toString();
    annotations.push_back(std::move(annotation));
  }
  if (annotations.empty())
    return Status::refused(
        "the module does not say what its dimensions run over, so --mesh "
        "alone cannot split it; give annotations with --annotate");
  return annotations;
}

} // namespace tandem

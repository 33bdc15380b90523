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
  void splitRest(Sharding &sharding, ArrayRef<StringRef> words,
                 StringRef axis) const;
  void leaveUnreduced(Sharding &sharding) const;
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

/// Gives `axis` the first dimension that nothing splits; one of heads, which
/// come in whole heads, only where there is no other.
void Preset::splitRest(Sharding &sharding, ArrayRef<StringRef> words,
                       StringRef axis) const {
  for (bool heads : {false, true})
    for (auto [dim, word] : llvm::zip_equal(sharding.dims, words))
      if (dim.axes.empty() && (word == "heads") == heads)
        return split(dim, axis);
}

/// Axes along which ranks see different tokens, so that a parameter which they
/// do not split has a gradient that is a sum over them.
void Preset::leaveUnreduced(Sharding &sharding) const {
  SmallVector<StringRef> axes = {"dp", "fsdp", "cp"};
  if (options_.sequenceParallel)
    axes.push_back("tp");
  for (StringRef axis : axes)
    if (mesh_.has(axis) && llvm::none_of(sharding.dims, [&](DimSharding &dim) {
          return overlaps(dim.axes, mesh_.whole(axis));
        }))
      sharding.unreduced.push_back(mesh_.whole(axis));
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
    splitRest(sharding, words, "fsdp");
  if (zeroSplits(name.kind))
    splitRest(sharding, words, "dp");
  if (name.kind == NameKind::Gradient)
    leaveUnreduced(sharding);
  // Megatron's f and g: a block's input is copied to the ranks of tp, which
  // each give a part of what it adds.
  if (mesh_.has("tp") && name.name == "@block_input")
    sharding.replicated = {mesh_.whole("tp")};
  if (mesh_.has("tp") && name.name == "@block_output")
    sharding.unreduced = {mesh_.whole("tp")};
  return sharding;
}

} // namespace

Result<std::vector<Annotation>>
presetAnnotations(ModuleOp module, const Mesh &mesh, PresetOptions options) {
  Preset preset(mesh, options);
  std::vector<Annotation> annotations;
  std::vector<AnnotatedName> names = listNames(module);
  bool trains = llvm::any_of(names, [](const AnnotatedName &name) {
    return name.kind == NameKind::Gradient;
  });
  for (const AnnotatedName &name : names) {
    // Logits follow the head; caches follow the heads. Without gradients the
    // blocks' ends follow from what is around them.
    bool end = StringRef(name.name).starts_with("@block_");
    if (name.dims.empty() || name.name == "@logits" || (end && !trains))
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

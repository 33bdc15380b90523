//===- Architecture.h - Families of decoders, each a row --------*- C++ -*-===//
//
// What it is: plain data that says how a family of models differs from all
// others: which configuration keys it reads, how its tensors are called, and
// which of a few choices (norms, positions, biases, activation) it makes. One
// builder reads it; there is no code for a single family.
//
//   Architecture row = llama();           // start from a relative
//   row.name = "qwen2";
//   row.architectures = {"Qwen2ForCausalLM"};
//   row.find(Role::Query).bias = kAlways; // and say what differs
//
// Names of tensors hold `*` for the layer's number and begin with `$` where
// the family's prefix stands (`transformer.`, or nothing in older files):
//
//   stem "$h.*.attn.c_attn", prefix "transformer.", layer 3
//     -> transformer.h.3.attn.c_attn.weight
//
// Roles that share a stem share a stored tensor, one part after another in
// the order in which the row lists them.
//
// Invariant: whatever changes numbers stands here or in the configuration; a
// key that would change them and is not understood is refused, not ignored.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_ARCHITECTURE_H
#define TANDEM_FRONTEND_ARCHITECTURE_H

#include "runtime/files/Model.h"

namespace tandem {

/// What a stored tensor is to the model.
enum class Role {
  Tokens,        ///< The embedding table.
  Positions,     ///< Learned positions.
  AttentionNorm, ///< Before attention.
  Query,
  Key,
  Value,
  QueryNorm, ///< Of each head's queries.
  KeyNorm,
  Output,
  AttentionPostNorm, ///< Of attention's result, before the residual sum.
  MlpNorm,
  Gate,
  Up,
  Down,
  MlpPostNorm,
  FinalNorm,
  Head,
};

/// What a dimension of a stored tensor runs over. Presets split by these.
enum class Dim { Model, Heads, KvHeads, HeadDim, Ffn, Vocab, Positions };
/// The word for it: "model", "heads" (KvHeads too), "head_dim", "ffn",
/// "vocab", "positions".
std::string_view dimName(Dim dim);

/// Whether a linear layer has a bias: never, always, where the file has one,
/// or as the configuration's key says (`otherwise` where it is absent).
struct Bias {
  enum Rule { Never, Always, IfStored, IfSet } rule = Never;
  std::string key;
  bool otherwise = false;
};
inline Bias biasIf(std::string key, bool otherwise = false) {
  return {Bias::IfSet, std::move(key), otherwise};
}

struct TensorRow {
  Role role;
  std::string stem; ///< `.weight` and `.bias` follow.
  Bias bias = {};
};

/// Settings of one meaning under the names that files give it, the first that
/// is there counts. `/` leads into an object; `$` is GGUF's architecture. For
/// settings that can be turned off null does so.
struct Key {
  std::vector<std::string> names;
  /// What an absent key means; an error where there is nothing.
  std::optional<double> otherwise = std::nullopt;
};

struct ConfigKeys {
  Key vocab, hidden, layers, heads, ffn, maxPosition, epsilon;
  Key kvHeads; ///< As many as heads where absent.
  Key headDim; ///< hidden / heads where absent.
  Key tied;    ///< Whether the head is the embedding table.
  Key activation;
  Key ropeTheta, ropeDim, ropeFraction;
  Key window;     ///< Tokens that attention sees; absent or 0: all.
  Key windowOn;   ///< false turns the window off.
  Key windowFrom; ///< The first layer with a window, where no list says.
  Key attentionSoftcap, logitSoftcap;
  Key queryScale;     ///< Scores are divided by its square root.
  Key scaleAttention; ///< false: scores are not scaled at all.
  Key scaleByLayer;   ///< true: and divided by the layer's number from 1.
  Key parallelResidual;
};

/// A setting that is read only to be refused when it is not `allowed`.
struct Refusal {
  std::string key;
  std::string allowed; ///< As JSON: `false`, `0`, `1`.
  std::string why;
};

/// A stored tensor that is no weight: known, so that it is no surplus.
struct Buffer {
  enum Kind {
    RotaryFrequencies, ///< Must agree with the configuration.
    RopeFactors,       ///< Frequencies are divided by them.
    CausalMask,        ///< Only its shape is looked at.
  } kind;
  std::string name;
};

enum class NormKind { Rms, Layer };
enum class PositionKind { Rotary, Learned };
enum class Layout { OutIn, InOut };
/// How roles lie in a tensor that they share: one block after another, or a
/// head's query, key and value together, head after head.
enum class Fusion { Blocks, PerHead };
enum class RopeKeys { HuggingFace, Gguf };

struct Architecture {
  std::string name; ///< Also config.json's model_type, GGUF's architecture.
  ModelKind kind = ModelKind::HuggingFace;
  std::vector<std::string> architectures; ///< config.json's names for it.
  ConfigKeys keys;
  std::vector<Refusal> refusals;

  std::vector<std::string> prefixes = {""}; ///< The first is the usual one.
  std::vector<TensorRow> tensors;
  std::vector<Buffer> buffers;
  Layout layout = Layout::OutIn; ///< Of the linear layers of a layer.
  Fusion fusion = Fusion::Blocks;

  NormKind norm = NormKind::Rms;
  bool normBias = false;
  double normOffset = 0; ///< Norms multiply by weight + offset.
  PositionKind positions = PositionKind::Rotary;
  bool ropeInterleaved = false;
  RopeKeys ropeKeys = RopeKeys::HuggingFace;
  bool tiedWhenMissing = false; ///< A head that is not stored is tied.
  bool scaledEmbedding = false; ///< Times sqrt(hidden).
  /// The activation where the configuration names none.
  std::string activation = "silu";
  /// Windows on every n-th layer only, counted from 0 (2: even layers); a
  /// list `layer_types` in the configuration says so itself.
  int64_t windowEvery = 1;

  /// The row of `role`, null where the family has none.
  const TensorRow *find(Role role) const;
  TensorRow &at(Role role); ///< One that the family has.
};

/// All families, in the order in which messages list them.
const std::vector<Architecture> &architectures();

/// The family of an opened model; a message that lists the known ones where
/// it is none of them.
Result<const Architecture *> findArchitecture(const ModelFiles &model);

} // namespace tandem

#endif // TANDEM_FRONTEND_ARCHITECTURE_H

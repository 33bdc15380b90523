//===- Architecture.h - Families of models, each a row ----------*- C++ -*-===//
//
// What it is: plain data that says how a family of models differs from all
// others: which configuration keys it reads, how its tensors are called, and
// which of a few choices (norms, positions, biases, activation) it makes. One
// builder reads it; there is no code for a single family.
//
//   Architecture row = llama();           // start from a relative
//   row.name = "qwen2";
//   row.architectures = {"Qwen2ForCausalLM"};
//   row.at(Role::Query).bias = always();  // and say what differs
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

#include <map>

namespace tandem {

/// What a stored tensor is to the model. A family leaves out what it lacks.
enum class Role {
  Tokens,        ///< The embedding table.
  ProjectIn,     ///< From the table's width to the model's.
  Positions,     ///< Learned positions.
  TokenTypes,    ///< A table of segments, added to tokens.
  EmbeddingNorm, ///< Of the sum of them all.
  AttentionNorm, ///< Where `normPlace` says.
  Query,
  Key,
  Value,
  QueryNorm, ///< Over what `headNorm` says.
  KeyNorm,
  Output,
  AttentionPostNorm, ///< Of attention's result, before the residual sum.
  MlpNorm, ///< As AttentionNorm. With parallel residuals a family may have one
           ///< norm for both.
  Gate,    ///< Without it, the activation is that of Up alone.
  Up,
  Down,
  MlpPostNorm,
  FinalNorm,
  ProjectOut,    ///< From the model's width to the table's.
  HeadTransform, ///< A linear layer and the activation, before the head.
  HeadNorm,      ///< Behind it.
  Head,
};

/// What a dimension of a stored tensor runs over. Presets split by these.
enum class Dim {
  Model,
  Embedding,
  Heads,
  KvHeads,
  HeadDim,
  Ffn,
  Vocab,
  Positions,
  TokenTypes
};
/// The word for it: "model", "embedding", "heads" (KvHeads too), "head_dim",
/// "ffn", "vocab", "positions", "types".
std::string_view dimName(Dim dim);

/// Whether a model of the family has a tensor: never, always, where the file
/// has it, or as the configuration's key says (`otherwise` where it is
/// absent).
struct When {
  enum Rule { Never, Always, IfStored, IfSet, IfNotSet } rule = Never;
  std::string key;
  bool otherwise = false;
};
inline When never() { return {}; }
inline When always() { return {When::Always, ""}; }
inline When ifStored() { return {When::IfStored, ""}; }
inline When ifSet(std::string key, bool otherwise = false) {
  return {When::IfSet, std::move(key), otherwise};
}
inline When ifNotSet(std::string key, bool otherwise = false) {
  return {When::IfNotSet, std::move(key), otherwise};
}

struct TensorRow {
  Role role;
  std::string stem;          ///< `.weight` and `.bias` follow.
  When bias = {};            ///< Of linear layers; `normBias` says it of norms.
  When there = always();     ///< Whether there is such a layer at all.
  std::string biasStem = {}; ///< Where the bias has another stem.
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
  /// Deviation of a new model's weights.
  Key initializerRange = {{"initializer_range"}, 0.02};
  Key embedding;  ///< The table's width; `hidden` where absent.
  Key tokenTypes; ///< How many segments there are.
  Key kvHeads;    ///< As many as heads where absent.
  Key headDim;    ///< hidden / heads where absent.
  Key tied;       ///< Whether the head is the embedding table.
  Key activation;
  Key ropeTheta, ropeDim, ropeFraction;
  Key window;     ///< Tokens that attention sees; absent or 0: all.
  Key windowOn;   ///< false turns the window off.
  Key windowFrom; ///< The first layer with a window, where no list says.
  Key attentionSoftcap, logitSoftcap;
  Key queryScale;     ///< Scores are divided by its square root.
  Key attentionScale; ///< Scores are multiplied by it instead.
  Key scaleAttention; ///< false: scores are not scaled at all.
  Key scaleByLayer;   ///< true: and divided by the layer's number from 1.
  Key embeddingScale, residualScale; ///< Factors, 1 where absent.
  Key logitScale, logitDivisor;
  Key parallelResidual;
  Key normFirst;  ///< false: `NormPlace::AfterSum`.
  Key keepNormed; ///< true: residual sums add to what the norm gave.
};

/// A setting that is read only to be refused when it is not `allowed`.
struct Refusal {
  std::string key;
  std::string allowed; ///< As JSON: `false`, `0`, `"absolute"`.
  std::string why;
};

/// A stored tensor that is no weight: known, so that it is no surplus.
struct Buffer {
  enum Kind {
    RotaryFrequencies, ///< Must agree with the configuration.
    RopeFactors,       ///< Frequencies are divided by them.
    RopeShortFactors,  ///< Likewise, within the original context.
    RopeLongFactors,   ///< Beyond it, which is not read.
    CausalMask,        ///< Only its shape is looked at.
    PositionIds,       ///< 0, 1, 2, ...; as many as the model has positions.
    Copy,              ///< Holds the same as the tensor `of`.
  } kind;
  std::string name;
  std::string of = {};
};

enum class NormKind { Rms, Layer };
/// Whether the norms of a layer's blocks are of what a block reads, or of the
/// residual sum behind it.
enum class NormPlace { Before, AfterSum };
/// Whether norms of queries and keys are of each head or of all heads' lanes
/// together.
enum class HeadNorm { Each, All };
enum class PositionKind { Rotary, Learned, Alibi };
/// Which tokens count for learned positions: all, or those that the attention
/// mask shows.
enum class Counted { All, Shown };
enum class Layout { OutIn, InOut };
/// How roles lie in a tensor that they share: one block after another, or each
/// KV head with its queries, key and value together, one KV head after another.
enum class Fusion { Blocks, PerGroup };
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

  bool causal = true; ///< false: an encoder.
  NormKind norm = NormKind::Rms;
  NormPlace normPlace = NormPlace::Before;
  HeadNorm headNorm = HeadNorm::Each;
  bool normBias = false; ///< Of all norms but those of queries and keys.
  double normOffset = 0; ///< Norms multiply by weight + offset.
  PositionKind positions = PositionKind::Rotary;
  /// Rows at the table's beginning that stand for no position.
  int64_t positionOffset = 0;
  Counted counted = Counted::All;
  bool ropeInterleaved = false;
  RopeKeys ropeKeys = RopeKeys::HuggingFace;
  bool tiedWhenMissing = false; ///< A head that is not stored is tied.
  bool scaledEmbedding = false; ///< Times sqrt(hidden).
  /// Query scales that files leave out, by the number of layers.
  std::map<int64_t, double> queryScales;
  /// The activation where the configuration names none.
  std::string activation = "silu";
  /// Windows on every n-th layer only, counted from 0 (2: even layers), where
  /// no list says so.
  int64_t windowEvery = 1;
  bool windowList = false; ///< Whether `layer_types` is that list.

  /// The row of `role`, null where the family has none.
  const TensorRow *find(Role role) const;
  TensorRow &at(Role role); ///< One that the family has.
  void remove(Role role);
};

/// All families, in the order in which messages list them.
const std::vector<Architecture> &architectures();

/// The family of an opened model; a message that lists the known ones where
/// it is none of them.
Result<const Architecture *> findArchitecture(const ModelFiles &model);

} // namespace tandem

#endif // TANDEM_FRONTEND_ARCHITECTURE_H

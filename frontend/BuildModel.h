//===- BuildModel.h - From a family's row to a phase-1 module ---*- C++ -*-===//
//
// One builder for all families: embedding, layers and head are written from
// the row of the table and the model's numbers, whatever the entry. Entries
// differ in what goes around them:
//
//   logits    input_ids [B, S] (and attention_mask, token_type_ids of that
//             shape) -> logits f32 [B, S, V]; all that an encoder has
//   next      and lengths [B]: logits f32 [B, V] of each row's last token
//   generate  prefill_<C> (C = 4, 16, 64, 256) writes C tokens to the cache;
//             decode takes one and gives the best next id, decode_sample
//             draws it
//   loss      input_ids [M, b, S], M microbatches of b rows, and labels, of
//             decoders [M, b, S + 1]: the ids and the one behind -> loss, the
//             mean over all counted labels; with `tandem.differentiate`
//   gradients and with `tandem.optimizer` `train`, which passes/autodiff makes
//             gradients and updates of
//
// All weights are views of stored tensors in which outputs come before
// inputs; heads are dimensions of their own from the start.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_BUILDMODEL_H
#define TANDEM_FRONTEND_BUILDMODEL_H

#include "frontend/ModelTensors.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace tandem {

enum class Entry { Logits, Next, Generate, Loss, Gradients, Train };
/// Whether it computes a loss, of parameters in float32.
inline bool isTraining(Entry entry) { return entry >= Entry::Loss; }
/// All entries' names, for messages: "logits, next, ...".
std::string entryNames();
/// The entry of that name; lists the known ones where there is none.
Result<Entry> parseEntry(const std::string &name);
const char *entryName(Entry entry);

struct EntryOptions {
  Entry entry = Entry::Logits;
  int64_t batch = 1;
  int64_t maxSeq = 0; ///< 0: the model's, at most 2048.
  /// Whether `logits` and `next` take an attention mask; encoders do always.
  bool attentionMask = false;
  /// Of weights at run time; DType::F32, BF16 or F16. Training entries keep
  /// float32 weights and compute in this type.
  DType dtype = DType::F32;
  int64_t microbatches = 1; ///< Of training entries; at most `batch`.
  /// Of `train`: "adamw" or "sgd".
  std::string optimizer = "adamw";
  bool evaluation = false; ///< Whether `train` has an entry `loss` beside it.
};

/// The id of a label that is not counted.
inline constexpr int64_t kIgnoredLabel = -100;

/// Builds the entry's functions. `context` has the func and tandem dialects
/// loaded. `files` is read only for the types of stored tensors.
mlir::OwningOpRef<mlir::ModuleOp>
buildModel(mlir::MLIRContext &context, const Architecture &family,
           const ModelConfig &config, const ModelTensors &tensors,
           const ModelFiles &files, const EntryOptions &options);

} // namespace tandem

#endif // TANDEM_FRONTEND_BUILDMODEL_H

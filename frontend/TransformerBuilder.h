//===- TransformerBuilder.h - Embedding, layers and head --------*- C++ -*-===//
//
// Writes the parts of a transformer into a function, each independent of what
// the entry does with it. Letters of products: b batch, s sequence, d hidden,
// e the table's width, k KV heads, g query heads of a KV head, h lanes of a
// head, f feed-forward, v vocabulary.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_TRANSFORMERBUILDER_H
#define TANDEM_FRONTEND_TRANSFORMERBUILDER_H

#include "frontend/ParameterBuilder.h"

namespace tandem {

/// What all parts of one entry share.
struct TransformerInputs {
  mlir::Value ids;       ///< i32 [B, S]
  mlir::Value positions; ///< i32 [B]: of each row's first token.
  bool fromZero = false; ///< `positions` is the constant 0.
  /// With a cache: i32 [B], how many of the S tokens are meant.
  mlir::Value lengths;
  int64_t cacheLength = 0; ///< 0: attention over the sequence itself.
  mlir::Value mask;        ///< i32 [B, S], 0 hides a token; null: none is.
  mlir::Value tokenTypes;  ///< i32 [B, S], where the family has segments.
};

class TransformerBuilder {
public:
  TransformerBuilder(FunctionBuilder &f, const Architecture &family,
                     const ModelConfig &config, const ModelTensors &tensors,
                     const ModelFiles &files, DType dtype,
                     TransformerInputs inputs);

  /// See ParameterBuilder; call first.
  void keepMasters() { parameters_.keepMasters(); }
  /// [B, S, d] of the ids.
  mlir::Value embed();
  /// The residual stream behind layer `layer`.
  mlir::Value layer(int64_t layer, mlir::Value x);
  /// Writes the keys and values of layer `layer` to the cache and nothing
  /// else: all that the last layer of a prefill has to do.
  void fillCache(int64_t layer, mlir::Value x);
  /// f32 logits [B, S, V] of x [B, S, d].
  mlir::Value head(mlir::Value x);
  /// `x` at each row's last token, [B, 1, d]; `lengths` is i32 [B].
  mlir::Value lastToken(mlir::Value x, mlir::Value lengths);

private:
  mlir::Value norm(Role role, int64_t layer, mlir::Value x);
  /// The norm over all heads' lanes of x [B, S, kv, (group,) D].
  mlir::Value normOfAll(Role role, int64_t layer, mlir::Value x);
  mlir::Value headNorm(Role role, int64_t layer, mlir::Value x);
  mlir::Value scaled(mlir::Value x, double factor);
  /// A projection's product and, where it has one, its bias.
  llvm::SmallVector<mlir::Value> terms(Role role, int64_t layer,
                                       llvm::StringRef equation, mlir::Value x);
  mlir::Value project(Role role, int64_t layer, llvm::StringRef equation,
                      mlir::Value x);
  llvm::SmallVector<mlir::Value> normed(Role role, int64_t layer,
                                        llvm::SmallVector<mlir::Value> terms);
  mlir::Value rotate(Role role, int64_t layer, mlir::Value x);
  mlir::Value heads(Role role, int64_t layer, mlir::Value x);
  mlir::Value cached(Role role, int64_t layer, mlir::Value rows);
  mlir::Value keyOrValue(Role role, int64_t layer, mlir::Value x);
  mlir::Value attention(int64_t layer, mlir::Value x);
  mlir::Value activate(mlir::Value x);
  mlir::Value positionIds();
  mlir::Value slopes();
  /// What a block reads of the residual stream, and what becomes of the sum
  /// behind it, each where the family has a norm there.
  mlir::Value read(Role role, int64_t layer, mlir::Value x);
  mlir::Value settled(Role role, int64_t layer, mlir::Value x);
  llvm::SmallVector<mlir::Value> attentionTerms(int64_t layer, mlir::Value x);
  llvm::SmallVector<mlir::Value> mlpTerms(int64_t layer, mlir::Value x);
  mlir::Value residual(Role role, int64_t layer,
                       llvm::SmallVector<mlir::Value> terms, mlir::Value x);
  mlir::Value named(llvm::StringRef name, mlir::Value x);
  mlir::Value softcapped(mlir::Value x, double cap);
  /// The location of `what` beside the tensor of `role`.
  std::string beside(Role role, int64_t layer, llvm::StringRef what) const;

  FunctionBuilder &f_;
  const Architecture &family_;
  const ModelConfig &config_;
  const ModelTensors &tensors_;
  ParameterBuilder parameters_;
  TransformerInputs inputs_;
};

} // namespace tandem

#endif // TANDEM_FRONTEND_TRANSFORMERBUILDER_H

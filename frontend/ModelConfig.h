//===- ModelConfig.h - A model's numbers, read and checked ------*- C++ -*-===//
//
// What a row of the table of families reads from a configuration: sizes that
// fit each other, choices that are understood. Whoever holds one may build.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_MODELCONFIG_H
#define TANDEM_FRONTEND_MODELCONFIG_H

#include "frontend/Architecture.h"

namespace tandem {

enum class Activation { Silu, Gelu, GeluTanh, GeluQuick, Relu, ReluSquared };

struct ModelConfig {
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kvHeads = 0;
  int64_t headDim = 0, ffn = 0, maxPosition = 0;
  int64_t embedding = 0;    ///< The width of the embedding table.
  int64_t tokenTypes = 0;   ///< How many; 0 where the family has none.
  int64_t positionRows = 0; ///< Of the table of learned positions.
  double epsilon = 0;
  double initializerRange = 0; ///< Deviation of a new model's weights.
  bool tied = false;
  Activation activation = Activation::Silu;
  /// Pair j turns by position * frequencies[j]; empty without rotation.
  std::vector<double> frequencies;
  /// The same without scaling: what older files store.
  std::vector<double> plainFrequencies;
  double ropeAmplitude = 1; ///< Sine and cosine are multiplied by it.
  /// Longer sequences would be computed otherwise; 0: no such limit.
  int64_t longestSequence = 0;
  std::vector<double> slopes;   ///< ALiBi's, one a head; empty without.
  std::vector<int64_t> windows; ///< One a layer; 0 sees everything.
  double attentionSoftcap = 0, logitSoftcap = 0; ///< 0: none.
  std::vector<double> scales;                    ///< Of scores, one a layer.
  double embeddingScale = 1, residualScale = 1, logitScale = 1;
  bool parallelResidual = false, keepNormed = false;
  NormPlace normPlace = NormPlace::Before;
  /// What the configuration says of the weights' type.
  std::optional<DType> dtype;

  int64_t group() const { return heads / kvHeads; }
  int64_t sizeOf(Dim dim) const;
};

/// Reads `model`'s configuration as `family` says. Messages name the file and
/// the key.
Result<ModelConfig> readModelConfig(const Architecture &family,
                                    const ModelFiles &model);

} // namespace tandem

#endif // TANDEM_FRONTEND_MODELCONFIG_H

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

enum class Activation { Silu, Gelu, GeluTanh, GeluQuick, Relu };

struct ModelConfig {
  int64_t vocab = 0, hidden = 0, layers = 0, heads = 0, kvHeads = 0;
  int64_t headDim = 0, ffn = 0, maxPosition = 0;
  double epsilon = 0;
  bool tied = false;
  Activation activation = Activation::Silu;
  /// Pair j turns by position * frequencies[j]; empty without rotation.
  std::vector<double> frequencies;
  /// The same without scaling: what older files store.
  std::vector<double> plainFrequencies;
  std::vector<int64_t> windows; ///< One a layer; 0 sees everything.
  double attentionSoftcap = 0, logitSoftcap = 0; ///< 0: none.
  std::vector<double> scales;                    ///< Of scores, one a layer.
  double embeddingScale = 1;
  bool parallelResidual = false;
  /// What the configuration says of the weights' type.
  std::optional<DType> dtype;

  int64_t group() const { return heads / kvHeads; }
  int64_t sizeOf(Dim dim) const;
};

/// Reads `model`'s configuration as `family` says. Messages name the file and
/// the key.
Result<ModelConfig> readModelConfig(const Architecture &family,
                                    const ModelFiles &model);

/// Applies `key=value` settings to the configuration in order. A key that
/// neither the configuration nor the family knows is refused.
Status applySettings(const Architecture &family,
                     const std::vector<std::string> &settings,
                     ModelFiles &model);

} // namespace tandem

#endif // TANDEM_FRONTEND_MODELCONFIG_H

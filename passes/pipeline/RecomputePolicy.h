//===- RecomputePolicy.h - What backward keeps, what it makes again -------===//

#ifndef TANDEM_PASSES_PIPELINE_RECOMPUTEPOLICY_H
#define TANDEM_PASSES_PIPELINE_RECOMPUTEPOLICY_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <set>
#include <string>

namespace tandem {

/// Which values of the forward pass are made again where the backward pass
/// reads them.
struct RecomputePolicy {
  bool attention = false;   ///< What attention gives, in all layers.
  bool allLayers = false;   ///< All but what goes from layer to layer.
  std::set<int64_t> layers; ///< The same of these layers.

  bool operator==(const RecomputePolicy &other) const {
    return attention == other.attention && allLayers == other.allLayers &&
           layers == other.layers;
  }

  bool coversLayer(int64_t layer) const {
    return allLayers || layers.count(layer) > 0;
  }

  /// Reads `none`, `selective` (attention), `full`, or layers: `0,2,5-7`.
  static Result<RecomputePolicy> parse(const std::string &text);
};

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINE_RECOMPUTEPOLICY_H

//===- Rope.h - Frequencies of rotary positions -----------------*- C++ -*-===//
//
// Pair j of n turns by position * f[j] with f[j] = theta^(-j / n), and where a
// model stretches its context, by a scaled f[j]:
//
//   linear    f / factor
//   llama3    long waves f / factor, short ones f, between them a blend
//   yarn      the same by how often a pair turns within the original context,
//             and sine and cosine grow
//   longrope  f / factors[j]; the list for sequences within the original
//             context, those beyond it are refused
//   dynamic   f, for sequences within the original context; likewise
//
// Frequencies are computed once, here, in double; the graph holds them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_ROPE_H
#define TANDEM_FRONTEND_ROPE_H

#include "runtime/files/ConfigNode.h"

#include <vector>

namespace tandem {

/// Rotary positions before any scaling.
struct RopeBase {
  int64_t dim = 0; ///< Lanes that turn.
  double theta = 10000;
  int64_t maxPosition = 2048;
};

struct RopeScaling {
  enum Kind { None, Linear, Llama3, Yarn, LongRope, Dynamic } kind = None;
  double factor = 1, lowFactor = 1, highFactor = 4, originalLength = 0;
  double betaFast = 32, betaSlow = 1; ///< Turns that bound yarn's blend.
  bool truncate = true;               ///< Yarn's bounds are whole pairs.
  std::vector<double> divisors;       ///< Longrope's, one a pair.
  double amplitude = 1;               ///< Of sine and cosine.
  /// Longer sequences would be computed otherwise; 0: no such limit.
  int64_t longest = 0;
};

/// Unscaled.
std::vector<double> ropeFrequencies(const RopeBase &base);
std::vector<double> ropeFrequencies(const RopeBase &base,
                                    const RopeScaling &scaling);

/// Reads `rope_parameters`, or `rope_scaling` of older files, of a
/// config.json; refuses kinds and keys that are not known, and two objects
/// that disagree.
Result<RopeScaling> readRopeScaling(const ConfigNode &config,
                                    const RopeBase &base);
/// Reads `ARCHITECTURE.rope.scaling.*` of a GGUF file. The divisors of
/// longrope are stored tensors there.
Result<RopeScaling> readGgufRopeScaling(const ConfigNode &metadata,
                                        const std::string &architecture,
                                        const RopeBase &base);

} // namespace tandem

#endif // TANDEM_FRONTEND_ROPE_H

//===- Rope.h - Frequencies of rotary positions -----------------*- C++ -*-===//
//
// Pair j of n turns by position * f[j] with f[j] = theta^(-j / n), and where a
// model stretches its context, by a scaled f[j]:
//
//   linear   f / factor
//   llama3   long waves f / factor, short ones f, between them a blend
//
// Frequencies are computed once, here, in double; the graph holds them.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_ROPE_H
#define TANDEM_FRONTEND_ROPE_H

#include "runtime/files/ConfigNode.h"

#include <vector>

namespace tandem {

struct RopeScaling {
  enum Kind { None, Linear, Llama3 } kind = None;
  double factor = 1, lowFactor = 1, highFactor = 4, originalLength = 0;
};

/// Frequencies of `dim` / 2 pairs, unscaled.
std::vector<double> ropeFrequencies(int64_t dim, double theta);
std::vector<double> scaled(std::vector<double> frequencies,
                           const RopeScaling &scaling);

/// Reads `rope_parameters`, or `rope_scaling` of older files, of a
/// config.json; refuses kinds that are not known.
Result<RopeScaling> readRopeScaling(const ConfigNode &config);
/// Reads `ARCHITECTURE.rope.scaling.*` of a GGUF file.
Result<RopeScaling> readGgufRopeScaling(const ConfigNode &metadata,
                                        const std::string &architecture);

} // namespace tandem

#endif // TANDEM_FRONTEND_ROPE_H

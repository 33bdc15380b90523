//===- Families.h - The rows of the table of families -----------*- C++ -*-===//
//
// Rows stand with their nearest relatives, each a function that starts from
// one of them or from nothing (README.md walks through one). What
// `architectures()` returns is these lists one after another.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_FAMILIES_H
#define TANDEM_FRONTEND_FAMILIES_H

#include "frontend/Architecture.h"

namespace tandem {

/// Root-mean-square norms before the blocks, rotary positions, a gated MLP.
std::vector<Architecture> llamaFamilies();
/// Layer norms and an MLP without a gate.
std::vector<Architecture> gptFamilies();
std::vector<Architecture> encoderFamilies();
/// Of GGUF files, by their names there.
std::vector<Architecture> ggufFamilies();

} // namespace tandem

#endif // TANDEM_FRONTEND_FAMILIES_H

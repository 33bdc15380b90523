//===- SumCut.h - Which kernels' sums can be cut, and how -------*- C++ -*-===//
//
// What a launch says in its numbers so that no layout changes its bits
// (README.md): a row for each kernel that adds over a dimension which its
// outputs lack, or takes rows together. Each kernel's own header has the same
// in its contract.
//
//   einsum          numbers [] -> [pieces, factors]
//   rms_norm_grad   numbers [eps, offset] -> [eps, offset, pieces, dims]
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_SUMCUT_H
#define TANDEM_RUNTIME_KERNELS_SUMCUT_H

#include <string_view>

namespace tandem {

enum class SumCut {
  None,    ///< Adds as it likes; nothing that it adds over may be split.
  Factors, ///< Appends pieces, and the rule's factors that are cut, as bits.
  Rows,    ///< Appends pieces, and the first input's dimensions, as bits.
  Flag,    ///< Adds 4 to the last number; what it adds over stays whole.
  Owned,   ///< Adds nothing: all ranks but the one that owns it give zeros.
  Blocks,  ///< Takes rows together that differ in what the first input has and
           ///< the second lacks: that stays whole.
};

struct SumCutRow {
  std::string_view kernel;
  SumCut cut;
};

inline constexpr SumCutRow kSumCuts[] = {
    {"attention", SumCut::Blocks},     {"attention_grad", SumCut::Flag},
    {"einsum", SumCut::Factors},       {"embedding", SumCut::Owned},
    {"embedding_grad", SumCut::Rows},  {"gather", SumCut::Owned},
    {"layer_norm_grad", SumCut::Rows}, {"reduce", SumCut::Factors},
    {"rms_norm_grad", SumCut::Rows},   {"slice", SumCut::Owned},
};

constexpr SumCut sumCutOf(std::string_view kernel) {
  for (const SumCutRow &row : kSumCuts)
    if (row.kernel == kernel)
      return row.cut;
  return SumCut::None;
}

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_SUMCUT_H

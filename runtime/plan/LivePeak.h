//===- LivePeak.h - What lives when a rank's memory is fullest --*- C++ -*-===//
//
// What it is: the answer to "what is all this memory for". A value lives from
// the step that writes it to the last that reads it, inputs from the start,
// outputs to the end; values in the same bytes (in place, a reshape, an
// update) are one. Goes through a stage's steps in the order of its schedule
// and stops where most bytes live at once:
//
//   #4 einsum -> %9 (512 bytes)     #7 reads %9       alive at #4, #5, #6, #7
//   #5 gelu   -> %10 (512 bytes)    #6 reads %10      the peak, 1024, is at #5
//
// Parameters and states live always and are listed with the rest.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_LIVEPEAK_H
#define TANDEM_RUNTIME_PLAN_LIVEPEAK_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// Bytes that live at the peak, of all microbatches in flight together.
struct LiveTensor {
  /// `einsum #12 at h.0.mlp`, `input 'x'`, `parameter 'wte'`, `state 'm.wte'`
  std::string name;
  /// `for einsum #80 at h.0.mlp`, `an output`; empty of what lives always.
  std::string why;
  uint64_t bytes = 0;
  uint32_t count = 1; ///< How many microbatches' values those are.
};

struct LivePeak {
  std::string at; ///< `entry 'train', pp 0, instruction 5 (gelu) at h.0.mlp`
  uint64_t arenaBytes = 0;         ///< Of the arena's scratch part.
  std::vector<LiveTensor> tensors; ///< Largest first.

  /// The `most` largest in one line, and what the others are together.
  std::string largest(size_t most) const;
};

/// Of the entry that fills most.
LivePeak livePeak(const Plan &plan, uint32_t stage);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_LIVEPEAK_H

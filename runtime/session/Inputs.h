//===- Inputs.h - What a caller gives, as an entry wants it -----*- C++ -*-===//
//
// Turns inputs by name into tensors by port, and outputs back:
//   - any type whose values the port's type holds exactly
//   - token inputs (input_ids, labels, attention_mask, token_type_ids) may
//     have fewer rows or a shorter sequence than the entry: they are padded
//     (labels with -100, the others with 0; missing rows' mask with 1) and the
//     outputs cut again
//   - an entry of M microbatches takes [M, b, S] for [rows, S]: row r is row
//     r % b of microbatch r / b
//   - labels may have a column more than ids where the entry's have: the id
//     behind each row
//   - attention_mask is 1, token_type_ids and positions 0, lengths the true
//     sequence length, where they are not given
//   - labels are allowed where the entry has no use for them, and needed where
//     it gives a loss
// Whatever else is missing, unknown or of another shape is refused.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_INPUTS_H
#define TANDEM_RUNTIME_SESSION_INPUTS_H

#include "runtime/session/PortSlices.h"

namespace tandem {

/// The true sizes behind padded tensors: rows and sequence.
struct TokenShape {
  int64_t rows = 0, sequence = 0;         ///< As given; 0: no token input.
  int64_t fullRows = 0, fullSequence = 0; ///< As the entry has them.
  /// Rows are spread over microbatches: outputs have none.
  bool microbatches = false;
};

struct BoundInputs {
  PortTensors tensors;
  TokenShape tokens;
};

Result<BoundInputs> bindInputs(const Plan &plan, uint32_t entry,
                               const HostTensors &inputs);

/// Outputs by name. What is said of views of a stored tensor (`grad.w`,
/// `grad.w#2`) is put together as the stored tensor `grad.w`, parts that meet
/// added. Leading dimensions that are the token inputs' padded
/// rows and sequence are cut to the true ones.
HostTensors nameOutputs(const Plan &plan, uint32_t entry,
                        const TokenShape &tokens, PortTensors outputs);

/// The number of an entry; refused, listing those there are, where the plan
/// has none of that name.
Result<uint32_t> findEntry(const Plan &plan, const std::string &name);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_INPUTS_H

//===- PlanTokenizer.h - The tokenizer of a plan's model --------*- C++ -*-===//

#ifndef TANDEM_TOOLS_COMMANDS_PLANTOKENIZER_H
#define TANDEM_TOOLS_COMMANDS_PLANTOKENIZER_H

#include "runtime/files/Tokenizer.h"
#include "runtime/plan/Plan.h"

namespace tandem {

/// The plan's tokenizer, where its files or those at `weights` have one; null
/// where not, with a warning for each place that was looked at.
std::shared_ptr<const Tokenizer> findTokenizer(const Plan &plan,
                                               const std::string &weights);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_PLANTOKENIZER_H

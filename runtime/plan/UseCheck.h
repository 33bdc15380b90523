//===- UseCheck.h - Nothing is computed or held in vain ---------*- C++ -*-===//
//
// A result that nobody reads, and a parameter or state that no instruction of
// its stage uses, once had a reader: one that is missing, or that reads
// something else of the same type, which no type tells apart.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_USECHECK_H
#define TANDEM_RUNTIME_PLAN_USECHECK_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// The weakest evidence, for after all other checks.
Status checkUses(const Plan &plan);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_USECHECK_H

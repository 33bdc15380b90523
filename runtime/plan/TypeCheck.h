//===- TypeCheck.h - Types through the programs of an entry -----*- C++ -*-===//
//
// Part (a) of the proof: every instruction's result has the type that its
// rule derives from its operands, and what an entry, a parameter or a state
// declares is what its values are.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_TYPECHECK_H
#define TANDEM_RUNTIME_PLAN_TYPECHECK_H

#include "runtime/plan/Walk.h"

namespace tandem {

Status checkTypes(const Plan &plan, const fb::Entry &entry);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_TYPECHECK_H

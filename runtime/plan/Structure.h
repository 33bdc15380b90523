//===- Structure.h - Every index of a plan is in bounds ---------*- C++ -*-===//
//
// The part of loading between the FlatBuffer's verifier and the meaning: after
// it, nothing in a plan points outside of what it points into, so that every
// reader may follow indices blindly.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_STRUCTURE_H
#define TANDEM_RUNTIME_PLAN_STRUCTURE_H

#include "runtime/plan/Plan.h"

namespace tandem {

/// Whether `number` is one of DType's.
bool isElementType(uint8_t number);

/// Checks a plan whose mesh, axis lists, types and rules are decoded. The
/// message names entry, program, instruction and field.
Status checkStructure(const Plan &plan);

/// `entry 'next', pp 1, instruction 12 (all_reduce)`; with the microbatch
/// unless it is kNone, with the location where the instruction has one in
/// bounds.
std::string describe(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                     uint32_t instruction, uint32_t microbatch = kNone);

/// `all_reduce #12`, with ` of microbatch 3` unless that is kNone.
std::string instructionName(const char *what, uint32_t instruction,
                            uint32_t microbatch);

/// `launch`, `all_reduce`, ...: the one spelling in messages, text and JSON.
const char *name(fb::Opcode op);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_STRUCTURE_H

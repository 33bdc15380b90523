//===- MemoryCheck.h - Who owns which bytes of a program --------*- C++ -*-===//
//
// What it is: goes through one program and keeps, for every byte of the arena
// and every state, the value that owns it. A value owns its bytes from the
// instruction that writes it until the next value is written over some of
// them; reading a value that does not own all its bytes is an error. So one
// rule finds reads before writes, buffers that overlap while both are alive,
// buffers given away too early, and states written out of turn.
//
//   #4 einsum %7 -> %9      %9 owns [0, 512)
//   #5 gelu   %9 -> %10     %10 has %9's bytes: in place, %9 has ended
//   #6 sum    %9, %10       refused: %9's bytes hold %10 since #5
//
// Streams: an access must come after all earlier ones to the same bytes that
// it could disturb or read, by the order of its stream and by events; clocks
// per stream tell.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_MEMORYCHECK_H
#define TANDEM_RUNTIME_PLAN_MEMORYCHECK_H

#include "runtime/plan/Walk.h"

namespace tandem {

/// Checks one program and adds to `arenaEnd` the end of its highest value.
Status checkMemory(const Plan &plan, const fb::Entry &entry, uint32_t stage,
                   uint64_t &arenaEnd);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_MEMORYCHECK_H

//===- ScheduleCheck.h - Every microbatch through every action --*- C++ -*-===//
//
// What a schedule alone can get wrong: an action that a microbatch misses or
// meets twice, a slot given to a microbatch while another one has it, values
// of slots or microbatches where none is running. That actions run in an order
// that makes sense shows in what they read (MemoryCheck).
//
//   pool 0 of 2 slots:  F0/s0  F1/s1  B0/s0  F2/s0  B1/s1  B2/s0
//                       `F2/s1` is refused: microbatch 1 has slot 1 until B1
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_PLAN_SCHEDULECHECK_H
#define TANDEM_RUNTIME_PLAN_SCHEDULECHECK_H

#include "runtime/plan/Plan.h"

namespace tandem {

Status checkSchedule(const Plan &plan, const fb::Entry &entry);

} // namespace tandem

#endif // TANDEM_RUNTIME_PLAN_SCHEDULECHECK_H

//===- FaultPoint.h - A planted fault, for tests ----------------*- C++ -*-===//
//
// TANDEM_FAULT=RANK:KIND:N:ACTION makes rank RANK misbehave at the N-th
// instruction (from 1) of kind KIND that it runs: an opcode (`all_reduce`,
// `send`), a kernel (`einsum`) or `any`; or at its N-th `load` of a parameter,
// its first `close`, its N-th operation on the disk for its `shard` of a
// checkpoint, or on rank 0 for the `manifest`. ACTION is
//
//   fail      the instruction fails
//   allocate  it finds no memory: std::bad_alloc
//   hang      it never returns, as a stuck kernel
//   delay=S   it goes on after S seconds
//   exit      the process is gone at once, without a word
//   kill      SIGKILL    stop   SIGSTOP    crash   SIGSEGV
//
// A line on standard error says when it acts.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_EXEC_FAULTPOINT_H
#define TANDEM_RUNTIME_EXEC_FAULTPOINT_H

#include "runtime/base/Status.h"

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

namespace tandem {

class FaultPoint {
public:
  enum class Action { None, Fail, Allocate, Hang, Delay, Exit, Signal };

  /// What the environment asks for; one that never acts where it asks for
  /// nothing.
  static Result<FaultPoint> fromEnvironment();
  static Result<FaultPoint> parse(std::string_view text);

  /// Whether instructions of this kind are to call `reach` on this rank.
  bool concerns(int64_t onRank, std::string_view instructionKind) const;
  /// Counts one instruction; acts at the N-th.
  Status reach();
  /// `reach` where it concerns this rank and kind.
  Status reach(int64_t onRank, std::string_view instructionKind);

private:
  bool parseAction(std::string_view text);

  int64_t rank = -1;
  std::string kind;
  /// Copies count together.
  std::shared_ptr<std::atomic<int64_t>> countdown;
  Action action = Action::None;
  double seconds = 0; ///< Of a delay.
  int signal = 0;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_EXEC_FAULTPOINT_H

//===- Inquiry.h - Who keeps a rank waiting ---------------------*- C++ -*-===//
//
// What it is: the search that starts when a wait outlasts the deadline. It
// asks the rank waited for what it does, then the one *that* rank waits for,
// until one is found that does not wait, whose thread does not run, or that
// was asked before:
//
//   rank 0 waits for 2, 2 for 3, 3 for nobody        rank 3 stalls
//   rank 0 waits for 2, 2 for 3, 3 for 2             they wait in a circle
//   rank 0 waits for 2, which polls no more          rank 2's thread is stuck
//
// It sends nothing itself: the control thread does, and hands it the answers.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_INQUIRY_H
#define TANDEM_RUNTIME_COMM_CONTROL_INQUIRY_H

#include "runtime/comm/control/Fault.h"

#include <optional>

namespace tandem {

class Inquiry {
public:
  /// `rank` has been in `wait` for longer than `deadline` seconds.
  Inquiry(int64_t rank, ChannelState wait, double deadline);

  /// The rank to ask now.
  int64_t target() const { return path.back(); }
  /// What `target` does: the fault, or nothing where another is to be asked.
  std::optional<Fault> answer(const RankState &state);
  /// The fault where `target` does not answer.
  Fault unanswered() const;

private:
  Fault blame(const ChannelState *state, const std::string &why) const;
  const ChannelState *heldUpBy(const RankState &state) const;

  int64_t rank;
  ChannelState wait;
  double deadline;
  std::vector<int64_t> path; ///< The ranks asked, the last one not yet.
};

/// The fault where two ranks met in one place with different calls.
std::optional<Fault> compareCalls(int64_t rank, const ChannelState &mine,
                                  int64_t peer, const RankState &theirs);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_INQUIRY_H

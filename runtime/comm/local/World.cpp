#include "runtime/comm/local/World.h"

#include "runtime/comm/local/Mailbox.h"
#include "runtime/comm/local/Meeting.h"

#include <cstdio>
#include <sched.h>
#include <set>

namespace tandem {

World::World(int64_t ranks, double deadlineSeconds)
    : ranks(ranks), deadlineSeconds(deadlineSeconds), board(ranks) {}

World::~World() = default;

Meeting &World::meeting(const std::vector<int64_t> &members, int channel) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Meeting> &slot = meetings[{members, channel}];
  if (!slot)
    slot = std::make_unique<Meeting>(members, channel);
  return *slot;
}

Mailbox &World::mailbox(int64_t from, int64_t to, int lane) {
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Mailbox> &slot = mailboxes[{from, to, lane}];
  if (!slot)
    slot = std::make_unique<Mailbox>();
  return *slot;
}

Status World::fault() const {
  if (!ended())
    return Status();
  std::lock_guard<std::mutex> lock(mutex);
  return first;
}

void World::abort(Status cause, int64_t rank) {
  if (cause.ok())
    return;
  if (cause.rank < 0)
    cause.rank = rank;
  if (cause.instruction.empty()) {
    Activity activity = board.latest(cause.rank < ranks ? cause.rank : rank);
    cause.instruction = activity.instruction;
    if (cause.location.empty())
      cause.location = activity.location;
  }
  std::lock_guard<std::mutex> lock(mutex);
  if (!first.ok())
    return;
  first = std::move(cause);
  over.store(true, std::memory_order_seq_cst);
  for (auto &[key, meeting] : meetings)
    meeting->arrivals.wake();
  for (auto &[key, mailbox] : mailboxes)
    mailbox->wake();
}

bool World::exhausted(Patience &patience) const {
  auto now = std::chrono::steady_clock::now();
  if (!patience.started) {
    patience = {now, true};
    return false;
  }
  return std::chrono::duration<double>(now - patience.start).count() >
         deadlineSeconds;
}

/// Follows the waits from `peer` on to the rank that waits for nobody, whose
/// fault it is; in a circle, to the one that closes it.
void World::stalled(int64_t rank, int channel, int64_t peer) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", deadlineSeconds);
  std::string waits = "rank " + std::to_string(rank) +
                      " has waited longer than the deadline of " + seconds +
                      " s at " + board.placeOf(rank, channel) + " for rank " +
                      std::to_string(peer) + ", which ";
  std::set<int64_t> passed{rank};
  int64_t culprit = peer, next = -1;
  while (passed.insert(culprit).second &&
         (next = board.waitedFor(culprit, channel)) >= 0) {
    waits += board.describe(culprit, channel) + " and waits for rank " +
             std::to_string(next);
    if (passed.count(next)) {
      waits += ": they wait in a circle";
      break;
    }
    waits += ", which ";
    culprit = next;
  }
  if (next < 0)
    waits += board.describe(culprit, channel);
  Status status = Status::rankFailed("rank " + std::to_string(culprit) +
                                     " stalls: " + waits);
  Activity there = board.latest(culprit);
  status.rank = culprit;
  status.instruction = there.instruction;
  status.location = there.location;
  abort(std::move(status), rank);
}

void Reading::awaitEnd() const {
  while (active.load(std::memory_order_seq_cst))
    sched_yield();
}

} // namespace tandem

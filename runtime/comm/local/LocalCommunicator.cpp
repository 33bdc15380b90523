#include "runtime/comm/local/LocalCommunicator.h"

#include "runtime/comm/Members.h"

namespace tandem {

LocalGroup::LocalGroup(World &world, const std::vector<int64_t> &members,
                       int64_t position)
    : world(world) {
  ranks = members;
  position_ = position;
}

Place &LocalGroup::place(int channel) {
  std::unique_ptr<Place> &slot = places[channel];
  if (!slot)
    slot = std::make_unique<Place>(world, world.meeting(ranks, channel),
                                   position_);
  return *slot;
}

LocalCommunicator::LocalCommunicator(std::shared_ptr<World> world, int64_t rank)
    : world(std::move(world)), self(rank),
      outboxes(this->world->size() * maxLanes),
      inboxes(this->world->size() * maxLanes) {}

Result<Group *> LocalCommunicator::group(const std::vector<int64_t> &members) {
  TANDEM_ASSIGN(int64_t position, positionAmong(members, self, size()));
  std::lock_guard<std::mutex> lock(groupsMutex);
  std::unique_ptr<LocalGroup> &slot = groups[members];
  if (!slot)
    slot = std::make_unique<LocalGroup>(*world, members, position);
  return slot.get();
}

Result<Place *> LocalCommunicator::placeOf(Group &group, int channel,
                                           int64_t bytes) const {
  TANDEM_TRY(checkChannel(channel));
  if (bytes < 0)
    return Status::refused("a collective cannot move " + std::to_string(bytes) +
                           " bytes");
  return &static_cast<LocalGroup &>(group).place(channel);
}

void LocalCommunicator::begin(int channel, const Activity &activity) {
  world->activities().begin(self, channel, activity);
}

std::vector<std::unique_ptr<Communicator>>
createLocalCommunicators(int64_t ranks, double deadlineSeconds) {
  auto world = std::make_shared<World>(ranks, deadlineSeconds);
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (int64_t rank = 0; rank < ranks; ++rank)
    communicators.push_back(std::make_unique<LocalCommunicator>(world, rank));
  return communicators;
}

} // namespace tandem

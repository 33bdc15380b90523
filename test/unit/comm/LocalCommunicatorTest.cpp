#include "CommunicatorConformance.h"
#include "LocalWorld.h"

#include "runtime/device/WaitWord.h"

#include <atomic>

namespace tandem {
namespace {

WorldFactory worldOf(int64_t ranks) {
  return [ranks] { return std::make_shared<LocalWorld>(ranks, 60.0); };
}

INSTANTIATE_TEST_SUITE_P(Local, CommunicatorConformance,
                         testing::Values(worldOf(1), worldOf(2), worldOf(3),
                                         worldOf(5)));

TEST(LocalCommunicator, SleepsWhereRanksExceedTheCores) {
  // Claims every core, so that no wait spins, and meets often.
  CoreClaim everything(CoreClaim::cores() + 8);
  LocalWorld world(5, 60.0);
  world.run([](Communicator &communicator) {
    Result<Group *> group = communicator.group({0, 1, 2, 3, 4});
    EXPECT_TRUE(group.ok());
    for (int round = 0; group.ok() && round < 200; ++round) {
      float value = 1;
      EXPECT_TRUE(communicator
                      .allReduce(**group, 0, &value, &value, 1, DType::F32,
                                 ReductionKind::Sum, nullptr)
                      .ok());
      EXPECT_EQ(value, 5.0f);
    }
  });
}

TEST(LocalCommunicator, SendReturnsOnceReceived) {
  LocalWorld world(2, 60.0);
  std::atomic<bool> receiving{false};
  world.run([&](Communicator &communicator) {
    int value = 5;
    if (communicator.rank() == 0) {
      EXPECT_TRUE(communicator.send(1, 0, &value, sizeof value).ok());
      EXPECT_TRUE(receiving);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      receiving = true;
      EXPECT_TRUE(communicator.receive(0, 0, &value, sizeof value).ok());
    }
  });
}

} // namespace
} // namespace tandem

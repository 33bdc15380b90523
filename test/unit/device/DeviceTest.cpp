#include "DeviceConformance.h"

using namespace tandem;

namespace tandem {
namespace {

std::unique_ptr<Device> makeCpu() { return createCpuDevice(2); }

/// Chaos with seeds [first, last].
std::vector<DeviceFactory> chaosOf(uint64_t first, uint64_t last) {
  std::vector<DeviceFactory> factories;
  for (uint64_t seed = first; seed <= last; ++seed)
    factories.emplace_back([seed] { return createChaosDevice(2, seed); });
  return factories;
}

INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
                         testing::Values(DeviceFactory(makeCpu)));
INSTANTIATE_TEST_SUITE_P(Chaos, DeviceConformance,
                         testing::ValuesIn(chaosOf(1, 2)));
INSTANTIATE_TEST_SUITE_P(MoreChaos, DeviceConformance,
                         testing::ValuesIn(chaosOf(3, 20)));

TEST(CpuDevice, RunsStream0OnTheCallingThread) {
  std::unique_ptr<Device> device = makeCpu();
  ASSERT_TRUE(device->prepare(2, 1).ok());
  std::thread::id ran;
  HostWork work = [&ran] {
    ran = std::this_thread::get_id();
    return Status();
  };
  device->enqueue(0, work);
  EXPECT_EQ(ran, std::this_thread::get_id()); // before synchronize
  device->enqueue(1, work);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_NE(ran, std::this_thread::get_id());
}

TEST(CpuDevice, LeavesDiscardedMemoryAlone) {
  std::unique_ptr<Device> device = makeCpu();
  ASSERT_TRUE(device->prepare(1, 0).ok());
  Result<std::byte *> memory = device->allocate(64);
  ASSERT_TRUE(memory.ok());
  device->discard(0, *memory, 64);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ((*memory)[0], std::byte(0));
}

} // namespace
} // namespace tandem

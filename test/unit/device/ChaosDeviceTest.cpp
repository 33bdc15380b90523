#include "runtime/base/DType.h"
#include "runtime/device/Device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace tandem;

namespace {

TEST(ChaosDevice, DiscardedMemoryIsNaNInEveryFloatType) {
  std::unique_ptr<Device> device = createChaosDevice(1, 3);
  ASSERT_TRUE(device->prepare(2, 1).ok());
  Result<std::byte *> memory = device->allocate(32);
  ASSERT_TRUE(memory.ok());
  device->discard(1, *memory, 24);
  ASSERT_TRUE(device->synchronize().ok());
  double wide;
  float single;
  uint16_t half;
  std::memcpy(&wide, *memory, sizeof wide);
  std::memcpy(&single, *memory + 8, sizeof single);
  std::memcpy(&half, *memory + 16, sizeof half);
  EXPECT_TRUE(std::isnan(wide));
  EXPECT_TRUE(std::isnan(single));
  EXPECT_TRUE(std::isnan(halfToFloat(half)));
  EXPECT_TRUE(std::isnan(bfloatToFloat(half)));
  EXPECT_EQ((*memory)[23], std::byte(0xff));
  EXPECT_EQ((*memory)[24], std::byte(0));
}

TEST(ChaosDevice, DiscardHappensInTheStreamsOrder) {
  std::unique_ptr<Device> device = createChaosDevice(1, 4);
  ASSERT_TRUE(device->prepare(1, 0).ok());
  Result<std::byte *> memory = device->allocate(16);
  ASSERT_TRUE(memory.ok());
  std::byte seen{1};
  HostWork write = [data = *memory] {
    std::memset(data, 5, 16);
    return Status();
  };
  HostWork read = [data = *memory, &seen] {
    seen = data[15];
    return Status();
  };
  device->enqueue(0, write);
  device->discard(0, *memory, 16);
  device->enqueue(0, read);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(seen, std::byte(0xff));
}

TEST(ChaosDevice, ShowsAMissingEvent) {
  // Without an event between them the two streams interleave differently
  // sooner or later: the reader sees memory before the writer wrote it.
  bool sawUnwritten = false;
  for (uint64_t seed = 0; seed < 200 && !sawUnwritten; ++seed) {
    std::unique_ptr<Device> device = createChaosDevice(1, seed);
    ASSERT_TRUE(device->prepare(2, 0).ok());
    std::atomic<int> value{0};
    int seen = -1;
    HostWork write = [&value] {
      value = 1;
      return Status();
    };
    HostWork read = [&value, &seen] {
      seen = value;
      return Status();
    };
    device->enqueue(0, write);
    device->enqueue(1, read);
    ASSERT_TRUE(device->synchronize().ok());
    sawUnwritten = seen == 0;
  }
  EXPECT_TRUE(sawUnwritten);
}

} // namespace

//===- DeviceConformance.h - What every Device must do ----------*- C++ -*-===//
//
// A parameterised suite; a device joins it by
//
//   INSTANTIATE_TEST_SUITE_P(Cpu, DeviceConformance,
//                            testing::Values(DeviceFactory(makeCpuDevice)));
//
// in a source that includes this header.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_DEVICE_DEVICECONFORMANCE_H
#define TANDEM_TEST_UNIT_DEVICE_DEVICECONFORMANCE_H

#include "runtime/device/Device.h"
#include "runtime/device/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <thread>

namespace tandem {

/// Makes a device whose kernels have 2 threads.
using DeviceFactory = std::function<std::unique_ptr<Device>()>;

class DeviceConformance : public testing::TestWithParam<DeviceFactory> {
protected:
  void SetUp() override {
    device = GetParam()();
    ASSERT_TRUE(device->prepare(3, 8).ok());
  }

  /// Work that appends `value` to `log` (used by one stream at a time).
  const HostWork &append(int value) {
    works.push_back(std::make_unique<HostWork>([this, value] {
      log.push_back(value);
      return Status();
    }));
    return *works.back();
  }
  const HostWork &keep(HostWork work) {
    works.push_back(std::make_unique<HostWork>(std::move(work)));
    return *works.back();
  }

  std::vector<int> log;
  std::vector<std::unique_ptr<HostWork>> works;
  std::unique_ptr<Device> device; ///< Last: ends before what its work uses.
};

TEST_P(DeviceConformance, HasANameAndThreads) {
  EXPECT_STRNE(device->name(), "");
  EXPECT_EQ(device->threads().size(), 2);
}

TEST_P(DeviceConformance, MemoryIsZeroAndAligned) {
  for (size_t bytes :
       {size_t(1), size_t(4096), size_t(5000), size_t(3) << 20}) {
    Result<std::byte *> memory = device->allocate(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status().toString();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*memory) % 4096, 0u);
    EXPECT_EQ((*memory)[0], std::byte(0));
    EXPECT_EQ((*memory)[bytes - 1], std::byte(0));
    (*memory)[0] = (*memory)[bytes - 1] = std::byte(7);
  }
}

TEST_P(DeviceConformance, NothingMayBeAllocated) {
  Result<std::byte *> memory = device->allocate(0);
  ASSERT_TRUE(memory.ok());
  EXPECT_NE(*memory, nullptr);
}

TEST_P(DeviceConformance, TooMuchMemoryFailsWithItsSize) {
  Result<std::byte *> memory = device->allocate(SIZE_MAX - 5);
  ASSERT_FALSE(memory.ok());
  EXPECT_EQ(memory.status().code(), StatusCode::RankFailed);
  EXPECT_NE(memory.status().message().find(std::to_string(SIZE_MAX - 5)),
            std::string::npos);
}

TEST_P(DeviceConformance, AnAllocationCanBeMadeToFail) {
  unsetenv("TANDEM_FAIL_ALLOCATION");
  ASSERT_TRUE(device->allocate(64).ok());
  setenv("TANDEM_FAIL_ALLOCATION", "2", 1);
  EXPECT_TRUE(device->allocate(64).ok());
  Result<std::byte *> second = device->allocate(12345);
  EXPECT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("12345 bytes"), std::string::npos);
  EXPECT_TRUE(device->allocate(64).ok());
  unsetenv("TANDEM_FAIL_ALLOCATION");
  EXPECT_TRUE(device->allocate(64).ok());
}

TEST_P(DeviceConformance, AStreamKeepsItsOrder) {
  for (int stream = 0; stream < 3; ++stream) {
    log.clear();
    for (int i = 0; i < 40; ++i)
      device->enqueue(stream, append(i));
    ASSERT_TRUE(device->synchronize().ok());
    ASSERT_EQ(log.size(), 40u);
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(log[i], i);
  }
}

TEST_P(DeviceConformance, MoreWorkThanAnyQueueHolds) {
  int64_t count = 0;
  const HostWork &work = keep([&count] {
    ++count;
    return Status();
  });
  // The chaos device dawdles: few enough to end soon there.
  for (int i = 0; i < 1500; ++i)
    device->enqueue(2, work);
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(count, 1500);
}

TEST_P(DeviceConformance, AnEventOrdersTwoStreams) {
  for (int round = 0; round < 20; ++round) {
    log.clear();
    int from = round % 3, to = (round + 1) % 3;
    device->enqueue(from, append(1));
    device->record(from, 0);
    device->wait(to, 0);
    device->enqueue(to, append(2));
    device->record(to, 1);
    device->wait(from, 1);
    device->enqueue(from, append(3));
    ASSERT_TRUE(device->synchronize().ok());
    EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
  }
}

TEST_P(DeviceConformance, AWaitMeansTheLatestRecord) {
  for (int round = 0; round < 10; ++round) {
    device->enqueue(1, append(2 * round));
    device->record(1, 3);
    device->wait(2, 3);
    device->enqueue(2, append(2 * round + 1));
    device->record(2, 4);
    device->wait(1, 4);
  }
  ASSERT_TRUE(device->synchronize().ok());
  ASSERT_EQ(log.size(), 20u);
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(log[i], i);
}

TEST_P(DeviceConformance, AnEventNeverRecordedHoldsNobody) {
  for (int stream = 0; stream < 3; ++stream) {
    device->wait(stream, 7);
    device->enqueue(stream, append(stream));
    ASSERT_TRUE(device->synchronize().ok());
  }
  EXPECT_EQ(log, (std::vector<int>{0, 1, 2}));
}

TEST_P(DeviceConformance, PreparingAgainAddsAndKeeps) {
  device->enqueue(1, append(1));
  device->record(1, 0);
  ASSERT_TRUE(device->prepare(5, 20).ok());
  ASSERT_TRUE(device->prepare(1, 1).ok());
  device->wait(4, 0);
  device->enqueue(4, append(2));
  device->record(4, 19);
  device->wait(0, 19);
  device->enqueue(0, append(3));
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(log, (std::vector<int>{1, 2, 3}));
}

TEST_P(DeviceConformance, StreamsMayUseThePoolAtOnce) {
  std::vector<int> first(1000), second(1000);
  auto fill = [this](std::vector<int> &values) {
    return [this, &values] {
      device->threads().run(1000, [&](int64_t i) { ++values[i]; });
      return Status();
    };
  };
  const HostWork &one = keep(fill(first)), &two = keep(fill(second));
  for (int round = 0; round < 20; ++round) {
    device->enqueue(1, one);
    device->enqueue(0, two);
  }
  ASSERT_TRUE(device->synchronize().ok());
  EXPECT_EQ(first, std::vector<int>(1000, 20));
  EXPECT_EQ(second, std::vector<int>(1000, 20));
}

TEST_P(DeviceConformance, TheFirstFailureEndsTheDevice) {
  for (int stream = 0; stream < 3; ++stream) {
    std::unique_ptr<Device> device = GetParam()();
    ASSERT_TRUE(device->prepare(3, 2).ok());
    log.clear();
    device->enqueue(stream, append(1));
    const HostWork &failing =
        keep([] { return Status::refused("id 9 is outside the vocabulary"); });
    device->enqueue(stream, failing);
    device->enqueue(stream, append(2));
    Status status = device->synchronize();
    EXPECT_EQ(status.code(), StatusCode::Refused);
    EXPECT_EQ(status.message(), "id 9 is outside the vocabulary");
    EXPECT_EQ(log, (std::vector<int>{1}));
    // It stays ended, on every stream.
    device->enqueue((stream + 1) % 3, append(3));
    EXPECT_EQ(device->synchronize().code(), StatusCode::Refused);
    EXPECT_EQ(log, (std::vector<int>{1}));
  }
}

TEST_P(DeviceConformance, AFailureReleasesWaitingStreams) {
  const HostWork &failing = keep([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return Status::rankFailed("lost");
  });
  device->enqueue(1, failing);
  device->record(1, 0);
  device->wait(2, 0);
  device->enqueue(2, append(1));
  device->wait(0, 0);
  device->enqueue(0, append(2));
  EXPECT_EQ(device->synchronize().message(), "lost");
  EXPECT_TRUE(log.empty());
}

TEST_P(DeviceConformance, AnExceptionIsAFailure) {
  const HostWork &throwing =
      keep([]() -> Status { throw std::runtime_error("out of paper"); });
  device->enqueue(1, throwing);
  Status status = device->synchronize();
  EXPECT_EQ(status.code(), StatusCode::RankFailed);
  EXPECT_NE(status.message().find("out of paper"), std::string::npos);
}

TEST_P(DeviceConformance, AbortFromAnotherThreadReleasesAWait) {
  // Stream 1 holds its event back until the abort has been made, so that the
  // waits of the other streams can end by the abort only.
  std::atomic<bool> aborted{false};
  const HostWork &holding = keep([&aborted] {
    while (!aborted)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Status();
  });
  device->enqueue(1, holding);
  device->record(1, 0);
  device->wait(2, 0);
  device->enqueue(2, append(1));
  std::thread aborter([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    device->abort(Status::interrupted("stopped by the user"));
    aborted = true;
  });
  device->wait(0, 0);
  EXPECT_EQ(device->synchronize().code(), StatusCode::Interrupted);
  aborter.join();
  EXPECT_TRUE(log.empty());
}

TEST_P(DeviceConformance, TheFirstAbortCounts) {
  device->abort(Status());
  EXPECT_TRUE(device->synchronize().ok());
  device->abort(Status::refused("first"));
  device->abort(Status::refused("second"));
  EXPECT_EQ(device->synchronize().message(), "first");
}

TEST_P(DeviceConformance, DestroyingRunsWhatIsEnqueued) {
  std::atomic<int> count{0};
  HostWork work = [&count] {
    ++count;
    return Status();
  };
  std::unique_ptr<Device> device = GetParam()();
  ASSERT_TRUE(device->prepare(2, 1).ok());
  for (int i = 0; i < 20; ++i)
    device->enqueue(1, work);
  device.reset();
  EXPECT_EQ(count, 20);
}

} // namespace tandem

#endif // TANDEM_TEST_UNIT_DEVICE_DEVICECONFORMANCE_H

#include "runtime/device/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

using namespace tandem;

namespace {

TEST(ThreadPool, RunsEachPieceOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (int64_t pieces : {0, 1, 2, 3, 7, 64, 1001}) {
      std::vector<std::atomic<int>> ran(pieces);
      pool.run(pieces, [&](int64_t index) { ++ran[index]; });
      for (int64_t index = 0; index < pieces; ++index)
        EXPECT_EQ(ran[index], 1)
            << threads << " threads, piece " << index << " of " << pieces;
    }
  }
}

TEST(ThreadPool, HasAtLeastOneThread) {
  ThreadPool pool(0);
  EXPECT_EQ(pool.size(), 1);
  int ran = 0;
  pool.run(3, [&](int64_t) { ++ran; });
  EXPECT_EQ(ran, 3);
}

TEST(ThreadPool, HandsOutContiguousPiecesInThreadOrder) {
  ThreadPool pool(3);
  std::vector<std::thread::id> ran(10);
  pool.run(10, [&](int64_t index) { ran[index] = std::this_thread::get_id(); });
  EXPECT_EQ(ran[0], std::this_thread::get_id());
  int changes = 0;
  for (size_t index = 1; index < ran.size(); ++index)
    changes += ran[index] != ran[index - 1];
  EXPECT_EQ(changes, 2);
}

TEST(ThreadPool, OneThreadRunsInOrderOnTheCaller) {
  ThreadPool pool(1);
  std::vector<int64_t> order;
  pool.run(4, [&](int64_t index) { order.push_back(index); });
  EXPECT_EQ(order, (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(ThreadPool, SeesWhatTheCallerWroteAndTheCallerWhatItWrote) {
  ThreadPool pool(2);
  std::vector<int> values(100, 0);
  for (int round = 0; round < 300; ++round) {
    for (int &value : values)
      ++value;
    pool.run(100, [&](int64_t index) { ++values[index]; });
  }
  EXPECT_EQ(values, std::vector<int>(100, 600));
}

TEST(ThreadPool, RunsNestedCallsOnTheCaller) {
  ThreadPool pool(2);
  std::vector<std::atomic<int>> ran(12);
  pool.run(4, [&](int64_t outer) {
    pool.run(3, [&](int64_t inner) { ++ran[outer * 3 + inner]; });
  });
  for (const std::atomic<int> &count : ran)
    EXPECT_EQ(count, 1);
}

TEST(ThreadPool, ServesWhicheverThreadCalls) {
  ThreadPool pool(2);
  std::atomic<int64_t> sum{0};
  auto use = [&] {
    for (int round = 0; round < 50; ++round)
      pool.run(10, [&](int64_t index) { sum += index; });
  };
  std::thread other(use);
  use();
  other.join();
  EXPECT_EQ(sum, 2 * 50 * 45);
}

TEST(ThreadPool, WorksAfterItsThreadsFellAsleep) {
  ThreadPool pool(3);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    std::atomic<int> ran{0};
    pool.run(9, [&](int64_t) { ++ran; });
    EXPECT_EQ(ran, 9);
  }
}

TEST(ThreadPool, ComesAndGoes) {
  for (int round = 0; round < 20; ++round) {
    ThreadPool pool(4);
    if (round % 2)
      pool.run(4, [](int64_t) {});
  }
}

} // namespace

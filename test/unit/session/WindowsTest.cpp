//===- WindowsTest.cpp - Values that expected.py computes
//------------------===//

#include "runtime/session/Windows.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace tandem {
namespace {

std::vector<int64_t> orderOf(int64_t size, uint64_t seed, uint64_t epoch) {
  EpochOrder order(size, seed, epoch);
  std::vector<int64_t> result;
  for (int64_t i = 0; i < size; ++i)
    result.push_back(order.at(i));
  return result;
}

using List = std::vector<int64_t>;

TEST(Windows, OrdersAreThoseOfTheDefinition) {
  EXPECT_EQ(orderOf(1, 0, 0), (List{0}));
  EXPECT_EQ(orderOf(10, 0, 0), (List{3, 9, 8, 1, 6, 7, 2, 0, 5, 4}));
  EXPECT_EQ(orderOf(10, 0, 1), (List{6, 9, 5, 2, 0, 8, 7, 3, 4, 1}));
  EXPECT_EQ(orderOf(10, 7, 0), (List{5, 0, 3, 6, 8, 9, 4, 1, 2, 7}));
  EXPECT_EQ(orderOf(16, uint64_t(1) << 40, uint64_t(1) << 33),
            (List{11, 0, 2, 5, 15, 1, 4, 10, 14, 12, 9, 3, 7, 6, 13, 8}));
  EXPECT_EQ(orderOf(37, 3, 2),
            (List{9,  33, 25, 20, 12, 23, 1,  28, 5,  34, 7,  30, 0,
                  10, 26, 3,  8,  24, 15, 31, 32, 35, 22, 21, 19, 27,
                  4,  16, 13, 6,  18, 36, 14, 29, 17, 11, 2}));
}

TEST(Windows, OrdersArePermutations) {
  for (int64_t size : {1, 2, 3, 4, 5, 63, 64, 65, 1000})
    for (uint64_t epoch : {0, 1, 2}) {
      std::vector<int64_t> order = orderOf(size, 11, epoch);
      std::sort(order.begin(), order.end());
      std::vector<int64_t> all(static_cast<size_t>(size));
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(order, all) << size;
    }
}

TEST(Windows, EveryIdIsPredictedOnceAnEpoch) {
  // 24 ids: 5 windows of 4 + 1 predict ids 1 to 20; 21, 22 and 23 are left.
  Windows windows(24, 4, 0);
  EXPECT_EQ(windows.count(), 5);
  EXPECT_EQ(windows.dropped(), 3);
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    std::vector<int64_t> predicted;
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t t = 1; t <= 4; ++t)
        predicted.push_back(windows.begin(epoch * 5 + i) + t);
    std::sort(predicted.begin(), predicted.end());
    std::vector<int64_t> all(20);
    std::iota(all.begin(), all.end(), 1);
    EXPECT_EQ(predicted, all);
  }
}

TEST(Windows, TheSequenceGoesOnIntoTheNextEpoch) {
  Windows windows(41, 4, 0); // ten windows, nothing left
  EXPECT_EQ(windows.dropped(), 0);
  EXPECT_EQ(windows.begin(0), 3 * 4);
  EXPECT_EQ(windows.begin(9), 4 * 4);
  EXPECT_EQ(windows.begin(10), 6 * 4);
  EXPECT_EQ(windows.begin(11), 9 * 4);
}

TEST(Windows, ShortCorporaHaveNone) {
  EXPECT_EQ(Windows(0, 4, 0).count(), 0);
  EXPECT_EQ(Windows(4, 4, 0).count(), 0);
  EXPECT_EQ(Windows(5, 4, 0).count(), 1);
  EXPECT_EQ(Windows(5, 4, 9).begin(7), 0);
}

} // namespace
} // namespace tandem

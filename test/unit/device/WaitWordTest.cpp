#include "runtime/device/WaitWord.h"

#include <gtest/gtest.h>

#include <thread>

using namespace tandem;

namespace {

bool never() { return false; }

TEST(CoreClaim, TakesFromTheSpareCores) {
  int before = CoreClaim::spare();
  EXPECT_GE(CoreClaim::cores(), 1);
  {
    CoreClaim claim(3);
    EXPECT_EQ(CoreClaim::spare(), before - 3);
  }
  EXPECT_EQ(CoreClaim::spare(), before);
}

TEST(WaitWord, CountsModulo31Bits) {
  WaitWord word;
  EXPECT_EQ(word.value(), 0u);
  word.set(5);
  EXPECT_EQ(word.add(2, 0), 7u);
  EXPECT_EQ(word.add(~0u, 0), 6u);
  word.set(0x7fffffff);
  EXPECT_EQ(word.value(), 0x7fffffffu);
  EXPECT_EQ(word.add(1, 0), 0u);
}

TEST(WaitWord, ReachedHoldsAcrossTheWrap) {
  EXPECT_TRUE(WaitWord::reached(5, 5));
  EXPECT_TRUE(WaitWord::reached(6, 5));
  EXPECT_FALSE(WaitWord::reached(4, 5));
  EXPECT_TRUE(WaitWord::reached(1, 0x7fffffff));
  EXPECT_FALSE(WaitWord::reached(0x7fffffff, 1));
}

TEST(WaitWord, RaiseNeverLowers) {
  WaitWord word;
  word.raise(4);
  word.raise(2);
  EXPECT_EQ(word.value(), 4u);
  word.raise(6);
  EXPECT_EQ(word.value(), 6u);
}

/// Another thread changes the word after `delay`; this one waits for it.
template <typename Change>
void waitWhileAnother(WaitWord &word, uint32_t target, const Change &change) {
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    change();
  });
  EXPECT_TRUE(
      word.wait([target](uint32_t now) { return now == target; }, never));
  other.join();
}

TEST(WaitWord, WakesASleeper) {
  WaitWord word;
  waitWhileAnother(word, 1, [&] { word.set(1); });
  waitWhileAnother(word, 2, [&] { word.raise(2); });
  waitWhileAnother(word, 5, [&] {
    word.add(1, 5);
    word.add(2, 5);
  });
}

TEST(WaitWord, GivesUpWithoutBeingWoken) {
  WaitWord word;
  std::atomic<bool> over{false};
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    over = true;
  });
  EXPECT_FALSE(word.wait([](uint32_t now) { return now == 1; },
                         [&] { return over.load(); }));
  other.join();
}

TEST(WaitWord, DoneCountsBeforeGivingUp) {
  WaitWord word;
  word.set(1);
  EXPECT_TRUE(
      word.wait([](uint32_t now) { return now == 1; }, [] { return true; }));
}

TEST(WaitWord, PassesDataBothWays) {
  // A ball game over two words; plain data travels with them.
  WaitWord ping, pong;
  int ball = 0;
  constexpr uint32_t rounds = 300;
  std::thread other([&] {
    for (uint32_t round = 1; round <= rounds; ++round) {
      ping.wait([round](uint32_t now) { return now == round; }, never);
      ++ball;
      pong.set(round);
    }
  });
  for (uint32_t round = 1; round <= rounds; ++round) {
    ++ball;
    ping.set(round);
    pong.wait([round](uint32_t now) { return now == round; }, never);
  }
  other.join();
  EXPECT_EQ(ball, 2 * static_cast<int>(rounds));
}

} // namespace

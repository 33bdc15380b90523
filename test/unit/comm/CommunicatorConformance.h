//===- CommunicatorConformance.h - What every Communicator must do -*- C++ ===//
//
// A parameterised suite over a TestWorld: something that runs a body once for
// every rank. `local` runs the ranks as threads; `mpi` runs the whole program
// once in every process and the body for its own rank, all processes making
// the same calls in the same order (so nothing here returns early).
//
//   INSTANTIATE_TEST_SUITE_P(Local, CommunicatorConformance,
//                            testing::Values(WorldFactory(makeWorldOf4)));
//
// Worlds that end by a fault are in CommunicatorFaults.h: they need a fresh
// world for each test.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_COMM_COMMUNICATORCONFORMANCE_H
#define TANDEM_TEST_UNIT_COMM_COMMUNICATORCONFORMANCE_H

#include "Elements.h"
#include "TestWorld.h"

#include "runtime/comm/Communicator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <thread>

namespace tandem {

using WorldFactory = std::function<std::shared_ptr<TestWorld>()>;

class CommunicatorConformance : public testing::TestWithParam<WorldFactory> {
protected:
  void SetUp() override { world = GetParam()(); }

  /// Runs `body` on the members of several groups, one after another: all
  /// ranks, all in reverse, each pair of neighbours, the even ranks, one rank.
  void
  onGroups(const std::function<void(Communicator &, Group &)> &body) const {
    world->run([&](Communicator &communicator) {
      for (const std::vector<int64_t> &members : groupsOf(world->size())) {
        if (!std::count(members.begin(), members.end(), communicator.rank()))
          continue;
        Result<Group *> group = communicator.group(members);
        EXPECT_TRUE(group.ok()) << group.status().toString();
        if (group.ok())
          body(communicator, **group);
      }
    });
  }

  static std::vector<std::vector<int64_t>> groupsOf(int64_t ranks) {
    std::vector<int64_t> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::vector<int64_t>> groups = {all, {ranks - 1}};
    if (ranks > 1)
      groups.emplace_back(all.rbegin(), all.rend());
    for (int64_t rank = 0; rank + 1 < ranks && ranks > 2; ++rank)
      groups.push_back({rank, rank + 1});
    std::vector<int64_t> even;
    for (int64_t rank = 0; rank < ranks; rank += 2)
      even.push_back(rank);
    if (ranks > 2)
      groups.push_back(even);
    return groups;
  }

  static std::vector<std::byte> workspaceFor(DType dtype, int64_t count,
                                             int64_t ranks) {
    return std::vector<std::byte>(
        Communicator::allReduceWorkspaceBytes(dtype, count, ranks));
  }

  static void checkAllReduce(Communicator &communicator, Group &group,
                             DType dtype, int64_t count, ReductionKind kind,
                             bool inPlace, int channel = 0) {
    Elements in(dtype, count, [&](int64_t i) {
      return valueOf(dtype, communicator.rank(), i);
    });
    Elements out(dtype, count);
    std::vector<std::byte> workspace = workspaceFor(dtype, count, group.size());
    Elements &result = inPlace ? in : out;
    Status status =
        communicator.allReduce(group, channel, in.data(), result.data(), count,
                               dtype, kind, workspace.data());
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(result.wrong([&](int64_t i) {
      return reducedValue(dtype, group.members(), i, kind);
    }),
              0)
        << count << " " << name(dtype) << " over " << group.size();
  }

  static void checkReduceScatter(Communicator &communicator, Group &group,
                                 DType dtype, int64_t count, ReductionKind kind,
                                 int channel = 0) {
    Elements in(dtype, count * group.size(), [&](int64_t i) {
      return valueOf(dtype, communicator.rank(), i);
    });
    Elements out(dtype, count);
    std::vector<std::byte> workspace =
        workspaceFor(dtype, count * group.size(), group.size());
    Status status =
        communicator.reduceScatter(group, channel, in.data(), out.data(), count,
                                   dtype, kind, workspace.data());
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out.wrong([&](int64_t i) {
      return reducedValue(dtype, group.members(), group.position() * count + i,
                          kind);
    }),
              0)
        << count << " " << name(dtype) << " over " << group.size();
  }

  static void checkAllGather(Communicator &communicator, Group &group,
                             int64_t bytes, int channel = 0) {
    Elements in(DType::U8, bytes, [&](int64_t i) {
      return (communicator.rank() * 31 + i) % 251;
    });
    Elements out(DType::U8, bytes * group.size());
    Status status =
        communicator.allGather(group, channel, in.data(), out.data(), bytes);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out.wrong([&](int64_t i) {
      return (group.members()[i / bytes] * 31 + i % bytes) % 251;
    }),
              0)
        << bytes << " bytes over " << group.size();
  }

  static void checkAllToAll(Communicator &communicator, Group &group,
                            int64_t bytes, int channel = 0) {
    // Byte i of the piece that rank `from` has for position `to`.
    auto value = [](int64_t from, int64_t to, int64_t i) {
      return (from * 31 + to * 17 + i) % 251;
    };
    Elements in(DType::U8, bytes * group.size(), [&](int64_t i) {
      return value(communicator.rank(), i / bytes, i % bytes);
    });
    Elements out(DType::U8, bytes * group.size());
    Status status =
        communicator.allToAll(group, channel, in.data(), out.data(), bytes);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out.wrong([&](int64_t i) {
      return value(group.members()[i / bytes], group.position(), i % bytes);
    }),
              0)
        << bytes << " bytes over " << group.size();
  }

  /// Every rank sends to the one `shift` positions on, around the group, or
  /// with `open` ends.
  static void checkPermute(Communicator &communicator, Group &group,
                           int64_t shift, bool open, int64_t bytes,
                           int channel = 0) {
    int64_t ranks = group.size();
    auto partner = [&](int64_t position) {
      bool inside = position >= 0 && position < ranks;
      return open && !inside ? -1 : ((position % ranks) + ranks) % ranks;
    };
    int64_t to = partner(group.position() + shift);
    int64_t from = partner(group.position() - shift);
    Elements in(DType::U8, bytes, [&](int64_t i) {
      return (communicator.rank() * 31 + i) % 251 + 1;
    });
    Elements out(DType::U8, bytes, [](int64_t) { return 99; });
    Status status = communicator.permute(group, channel, in.data(), to,
                                         out.data(), from, bytes);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(out.wrong([&](int64_t i) {
      return from < 0 ? 0 : (group.members()[from] * 31 + i) % 251 + 1;
    }),
              0)
        << bytes << " bytes, shift " << shift << " over " << ranks;
  }

  static void checkBroadcast(Communicator &communicator, Group &group,
                             int64_t root, int64_t bytes, int channel = 0) {
    Elements data(DType::U8, bytes, [&](int64_t i) {
      return (communicator.rank() * 31 + i) % 251;
    });
    Status status =
        communicator.broadcast(group, channel, data.data(), bytes, root);
    EXPECT_TRUE(status.ok()) << status.toString();
    EXPECT_EQ(data.wrong([&](int64_t i) {
      return (group.members()[root] * 31 + i) % 251;
    }),
              0)
        << bytes << " bytes from " << root << " over " << group.size();
  }

  /// All that moves bytes without looking at them.
  static void checkMoves(Communicator &communicator, Group &group,
                         int64_t bytes) {
    checkAllGather(communicator, group, bytes / group.size());
    checkAllToAll(communicator, group, bytes / group.size());
    checkPermute(communicator, group, 1, /*open=*/true, bytes);
    checkBroadcast(communicator, group, group.size() - 1, bytes);
  }

  /// A floating-point value whose sums depend on their order.
  static float roughValue(int64_t rank, int64_t index) {
    std::minstd_rand random(static_cast<unsigned>(rank * 7919 + index + 1));
    random.discard(3);
    float mantissa = static_cast<float>(random() % 20001) / 10000.0f - 1.0f;
    return std::ldexp(mantissa, static_cast<int>(random() % 12));
  }

  /// As the interface states it: in float, neighbours first, then those sums,
  /// rounded once.
  static float roughSum(const std::vector<int64_t> &ranks, DType dtype,
                        int64_t index) {
    auto stored = [&](int64_t rank) {
      float value = roughValue(rank, index);
      return dtype == DType::F16    ? halfToFloat(floatToHalf(value))
             : dtype == DType::BF16 ? bfloatToFloat(floatToBfloat(value))
                                    : value;
    };
    std::vector<float> sums;
    for (int64_t rank : ranks)
      sums.push_back(stored(rank));
    for (size_t step = 1; step < sums.size(); step *= 2)
      for (size_t i = 0; i + step < sums.size(); i += 2 * step)
        sums[i] += sums[i + step];
    return sums[0];
  }

  static void checkRoughBits(Communicator &communicator, Group &group,
                             DType dtype, int64_t count) {
    int64_t rank = communicator.rank();
    std::vector<float> wide(count);
    std::vector<uint16_t> narrow(count);
    for (int64_t i = 0; i < count; ++i) {
      wide[i] = roughValue(rank, i);
      narrow[i] =
          dtype == DType::F16 ? floatToHalf(wide[i]) : floatToBfloat(wide[i]);
    }
    void *data =
        dtype == DType::F32 ? static_cast<void *>(wide.data()) : narrow.data();
    std::vector<std::byte> workspace = workspaceFor(dtype, count, group.size());
    Status status =
        communicator.allReduce(group, 0, data, data, count, dtype,
                               ReductionKind::Sum, workspace.data());
    EXPECT_TRUE(status.ok()) << status.toString();
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; ++i) {
      float sum = roughSum(group.members(), dtype, i);
      if (group.size() == 1)
        sum = dtype == DType::F32 ? wide[i] : sum;
      wrong += dtype == DType::F32   ? wide[i] != sum
               : dtype == DType::F16 ? narrow[i] != floatToHalf(sum)
                                     : narrow[i] != floatToBfloat(sum);
    }
    EXPECT_EQ(wrong, 0) << count << " " << name(dtype);
  }

  std::shared_ptr<TestWorld> world;
};

/// 0, 1, fewer than ranks, odd, around the sizes where algorithms change.
inline const std::vector<int64_t> &testCounts() {
  static const std::vector<int64_t> counts = {0,   1,    2,    3,    7,
                                              100, 1023, 1025, 4097, 20001};
  return counts;
}

TEST_P(CommunicatorConformance, KnowsItsRanks) {
  world->run([&](Communicator &communicator) {
    EXPECT_EQ(communicator.size(), world->size());
    EXPECT_GE(communicator.rank(), 0);
    EXPECT_LT(communicator.rank(), communicator.size());
    EXPECT_TRUE(communicator.fault().ok());
  });
}

TEST_P(CommunicatorConformance, GroupsAreOrderedAsListed) {
  onGroups([](Communicator &communicator, Group &group) {
    EXPECT_EQ(group.members()[group.position()], communicator.rank());
    Result<Group *> again = communicator.group(group.members());
    EXPECT_TRUE(again.ok() && *again == &group);
  });
}

TEST_P(CommunicatorConformance, WrongGroupsAreRefused) {
  world->run([](Communicator &communicator) {
    int64_t self = communicator.rank(), size = communicator.size();
    std::vector<int64_t> others;
    for (int64_t rank = 0; rank < size; ++rank)
      if (rank != self)
        others.push_back(rank);
    for (const std::vector<int64_t> &members : {std::vector<int64_t>{},
                                                {self, self},
                                                {self, size},
                                                {-1, self},
                                                others}) {
      Result<Group *> group = communicator.group(members);
      EXPECT_FALSE(group.ok());
      EXPECT_EQ(group.status().code(), StatusCode::Refused);
    }
  });
}

TEST_P(CommunicatorConformance, AllReduceSumsEveryType) {
  onGroups([](Communicator &communicator, Group &group) {
    for (DType dtype : signedTypes())
      for (int64_t count : {1, 7, 1025, 20001})
        checkAllReduce(communicator, group, dtype, count, ReductionKind::Sum,
                       /*inPlace=*/false);
    for (DType dtype : unsignedTypes())
      for (int64_t count : {1, 7, 20001})
        checkAllReduce(communicator, group, dtype, count, ReductionKind::Sum,
                       /*inPlace=*/true);
  });
}

TEST_P(CommunicatorConformance, AllReduceOfEverySize) {
  onGroups([](Communicator &communicator, Group &group) {
    for (int64_t count : testCounts())
      for (bool inPlace : {false, true})
        checkAllReduce(communicator, group, DType::F32, count,
                       ReductionKind::Sum, inPlace);
    checkAllReduce(communicator, group, DType::F32, 1 << 18, ReductionKind::Sum,
                   /*inPlace=*/true);
  });
}

TEST_P(CommunicatorConformance, AllReduceFindsMaxAndMin) {
  onGroups([](Communicator &communicator, Group &group) {
    for (ReductionKind kind : {ReductionKind::Max, ReductionKind::Min})
      for (int64_t count : {3, 1000, 20001}) {
        for (DType dtype : signedTypes())
          checkAllReduce(communicator, group, dtype, count, kind,
                         /*inPlace=*/false);
        for (DType dtype : unsignedTypes())
          checkAllReduce(communicator, group, dtype, count, kind,
                         /*inPlace=*/true);
      }
  });
}

TEST_P(CommunicatorConformance, CallsOf1MiBAndASumOf16MiB) {
  world->run([&](Communicator &communicator) {
    std::vector<int64_t> all = groupsOf(world->size())[0];
    Result<Group *> made = communicator.group(all);
    EXPECT_TRUE(made.ok());
    if (!made.ok())
      return;
    Group &group = **made;
    constexpr int64_t mebibyte = 1 << 20;
    checkAllReduce(communicator, group, DType::F32, mebibyte / 4,
                   ReductionKind::Sum, /*inPlace=*/true);
    checkReduceScatter(communicator, group, DType::BF16, mebibyte / 2,
                       ReductionKind::Sum);
    checkAllGather(communicator, group, mebibyte);
    checkAllToAll(communicator, group, mebibyte);
    checkPermute(communicator, group, 1, /*open=*/false, mebibyte);
    checkBroadcast(communicator, group, group.size() - 1, mebibyte);
    checkAllReduce(communicator, group, DType::F32, 4 * mebibyte,
                   ReductionKind::Sum, /*inPlace=*/false);
  });
}

/// Takes a while: see tandem_long_tests.
TEST_P(CommunicatorConformance, LongEveryCallTypeAndSizeTo16MiB) {
  constexpr int64_t mebibyte = 1 << 20;
  std::vector<DType> types = signedTypes();
  types.insert(types.end(), unsignedTypes().begin(), unsignedTypes().end());
  onGroups([&](Communicator &communicator, Group &group) {
    for (DType dtype : types)
      for (int64_t bytes :
           {int64_t(0), int64_t(1), int64_t(4099), mebibyte + 8}) {
        bool small = bytes <= 4099;
        if (!small && group.size() == 1)
          continue;
        int64_t count = (bytes + blockBytes(dtype) - 1) / blockBytes(dtype);
        checkAllReduce(communicator, group, dtype, count, ReductionKind::Sum,
                       /*inPlace=*/true);
        checkReduceScatter(communicator, group, dtype, count / group.size(),
                           ReductionKind::Sum);
        for (ReductionKind kind : {ReductionKind::Max, ReductionKind::Min})
          if (small) {
            checkAllReduce(communicator, group, dtype, count, kind,
                           /*inPlace=*/false);
            checkReduceScatter(communicator, group, dtype, count, kind);
          }
      }
    checkMoves(communicator, group, 1);
    checkMoves(communicator, group, mebibyte + 8);
  });
  world->run([&](Communicator &communicator) {
    Result<Group *> all = communicator.group(groupsOf(world->size())[0]);
    EXPECT_TRUE(all.ok());
    if (!all.ok())
      return;
    for (DType dtype : {DType::F32, DType::BF16}) {
      int64_t count = 16 * mebibyte / blockBytes(dtype);
      checkAllReduce(communicator, **all, dtype, count, ReductionKind::Sum,
                     /*inPlace=*/true);
      checkReduceScatter(communicator, **all, dtype, count / world->size(),
                         ReductionKind::Sum);
    }
    checkMoves(communicator, **all, 16 * mebibyte);
  });
}

TEST_P(CommunicatorConformance, SumsAreFormedInRankOrderToTheBit) {
  onGroups([](Communicator &communicator, Group &group) {
    for (DType dtype : {DType::F32, DType::F16, DType::BF16})
      for (int64_t count : {5, 1000, 20001})
        checkRoughBits(communicator, group, dtype, count);
  });
}

TEST_P(CommunicatorConformance, ReduceScatterOfEverySizeAndType) {
  onGroups([](Communicator &communicator, Group &group) {
    for (int64_t count : testCounts())
      checkReduceScatter(communicator, group, DType::F32, count,
                         ReductionKind::Sum);
    for (DType dtype : signedTypes())
      checkReduceScatter(communicator, group, dtype, 777, ReductionKind::Sum);
    for (DType dtype : unsignedTypes())
      checkReduceScatter(communicator, group, dtype, 33333, ReductionKind::Max);
  });
}

TEST_P(CommunicatorConformance, AllGatherOfEverySize) {
  onGroups([](Communicator &communicator, Group &group) {
    for (int64_t bytes : testCounts())
      checkAllGather(communicator, group, bytes);
  });
}

TEST_P(CommunicatorConformance, AllToAllOfEverySize) {
  onGroups([](Communicator &communicator, Group &group) {
    for (int64_t bytes : testCounts())
      checkAllToAll(communicator, group, bytes);
  });
}

TEST_P(CommunicatorConformance, PermuteAroundAndWithOpenEnds) {
  onGroups([](Communicator &communicator, Group &group) {
    for (int64_t shift : {-1, 0, 1, 2})
      for (bool open : {false, true})
        for (int64_t bytes : {0, 1, 1000, 20000})
          checkPermute(communicator, group, shift, open, bytes);
  });
}

TEST_P(CommunicatorConformance, BroadcastFromEveryRoot) {
  onGroups([](Communicator &communicator, Group &group) {
    for (int64_t root = 0; root < group.size(); ++root)
      for (int64_t bytes : {0, 1, 4, 5000, 20000})
        checkBroadcast(communicator, group, root, bytes);
  });
}

TEST_P(CommunicatorConformance, SendsInALine) {
  // Rank 0 sends to 1, which adds one and sends to 2, and so on.
  world->run([](Communicator &communicator) {
    int64_t self = communicator.rank(), last = communicator.size() - 1;
    for (int64_t count : {0, 1, 1000, 100000}) {
      Elements data(DType::I32, count, [](int64_t i) { return i; });
      if (self > 0) {
        Elements received(DType::I32, count);
        Status status = communicator.receive(self - 1, 0, received.data(),
                                             received.bytes());
        EXPECT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(received.wrong([&](int64_t i) { return i + self - 1; }), 0);
        data = received;
        for (int64_t i = 0; i < count; ++i)
          data.set(i, data.get(i) + 1);
      }
      if (self < last) {
        Status status =
            communicator.send(self + 1, 0, data.data(), data.bytes());
        EXPECT_TRUE(status.ok()) << status.toString();
      }
    }
  });
}

TEST_P(CommunicatorConformance, SendsArriveInOrderOnEachChannel) {
  world->run([](Communicator &communicator) {
    int64_t self = communicator.rank();
    if (self > 1 || communicator.size() < 2)
      return;
    for (int32_t round = 0; round < 50; ++round)
      for (int channel : {0, 3}) {
        int32_t value = round * 10 + channel;
        Status status =
            self == 0 ? communicator.send(1, channel, &value, sizeof value)
                      : communicator.receive(0, channel, &value, sizeof value);
        EXPECT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(value, round * 10 + channel);
      }
  });
}

TEST_P(CommunicatorConformance, LanesAreIndependentOfChannelsAndEachOther) {
  // The ends of a lane are on different channels, and lane 1 is received
  // first, on a thread of its own while the sender's lane 0 waits.
  world->run([](Communicator &communicator) {
    int64_t self = communicator.rank();
    if (self > 1 || communicator.size() < 2)
      return;
    auto transfer = [&](int lane) {
      for (int32_t round = 0; round < 20; ++round) {
        int32_t value = self == 0 ? round * 10 + lane : -1;
        Status status =
            self == 0 ? communicator.send(1, 1 + lane, &value, 4, lane)
                      : communicator.receive(0, 5 - lane, &value, 4, lane);
        EXPECT_TRUE(status.ok()) << status.toString();
        EXPECT_EQ(value, round * 10 + lane);
      }
    };
    if (self == 1) {
      transfer(1);
      return transfer(0);
    }
    std::thread other([&] { transfer(0); });
    transfer(1);
    other.join();
  });
}

TEST_P(CommunicatorConformance, OverlappingGroupsOnTwoChannels) {
  // Two threads a rank, as two streams: all ranks on channel 0, pairs and the
  // even ranks on channel 1, at the same time.
  world->run([&](Communicator &communicator) {
    std::vector<std::vector<int64_t>> groups = groupsOf(world->size());
    auto use = [&](size_t begin, size_t end, int channel) {
      for (int round = 0; round < 10; ++round)
        for (size_t index = begin; index < end; ++index) {
          const std::vector<int64_t> &members = groups[index];
          if (!std::count(members.begin(), members.end(), communicator.rank()))
            continue;
          Result<Group *> group = communicator.group(members);
          EXPECT_TRUE(group.ok());
          if (!group.ok())
            continue;
          checkAllReduce(communicator, **group, DType::F32, 500 << (round / 2),
                         ReductionKind::Sum, /*inPlace=*/true, channel);
          checkAllGather(communicator, **group, 100 << round, channel);
        }
    };
    std::thread second([&] { use(1, groups.size(), 1); });
    use(0, 1, 0);
    second.join();
  });
}

TEST_P(CommunicatorConformance, OneGroupOnTwoChannels) {
  world->run([&](Communicator &communicator) {
    std::vector<int64_t> all = groupsOf(world->size())[0];
    auto use = [&](int channel) {
      Result<Group *> group = communicator.group(all);
      EXPECT_TRUE(group.ok());
      for (int round = 0; group.ok() && round < 20; ++round)
        checkAllReduce(communicator, **group, DType::F32,
                       round % 2 ? 100 : 9000, ReductionKind::Sum,
                       /*inPlace=*/false, channel);
    };
    std::thread second([&] { use(5); });
    use(0);
    second.join();
  });
}

TEST_P(CommunicatorConformance, AnyCallAfterAnyOther) {
  // The same random sequence on all ranks, small and large calls mixed.
  onGroups([](Communicator &communicator, Group &group) {
    std::minstd_rand random(42);
    for (int call = 0; call < 60; ++call) {
      int64_t kind = random() % 6;
      int64_t size = random() % 3 ? random() % 300 : random() % 40000;
      int64_t root = random() % group.size();
      if (kind == 0)
        checkAllReduce(communicator, group, DType::F32, size,
                       ReductionKind::Sum, call % 2);
      else if (kind == 1)
        checkReduceScatter(communicator, group, DType::BF16, size,
                           ReductionKind::Sum);
      else if (kind == 2)
        checkAllGather(communicator, group, size);
      else if (kind == 3)
        checkAllToAll(communicator, group, size);
      else if (kind == 4)
        checkPermute(communicator, group, 1, call % 2, size);
      else
        checkBroadcast(communicator, group, root, size);
    }
  });
}

TEST_P(CommunicatorConformance, WrongArgumentsAreRefused) {
  // Found before anything is exchanged, so that the world goes on.
  onGroups([](Communicator &communicator, Group &group) {
    float data[4] = {1, 2, 3, 4}, out[4] = {};
    auto expectRefused = [](const Status &status) {
      EXPECT_EQ(status.code(), StatusCode::Refused) << status.toString();
    };
    expectRefused(communicator.allReduce(group, 0, data, out, 1, DType::Bool,
                                         ReductionKind::Sum, nullptr));
    expectRefused(communicator.allReduce(group, 0, data, out, 1, DType::Q8_0,
                                         ReductionKind::Max, nullptr));
    expectRefused(communicator.reduceScatter(group, Communicator::maxChannels,
                                             data, out, 0, DType::F32,
                                             ReductionKind::Sum, nullptr));
    expectRefused(communicator.allGather(group, -1, data, out, 0));
    expectRefused(communicator.broadcast(group, 0, data, 4, group.size()));
    expectRefused(
        communicator.permute(group, 0, data, group.size(), out, 0, 4));
    expectRefused(communicator.permute(group, 0, data, 0, out, -2, 4));
    expectRefused(communicator.send(communicator.rank(), 0, data, 4));
    expectRefused(communicator.receive(communicator.size(), 0, data, 4));
    if (communicator.size() > 1) {
      int64_t peer = (communicator.rank() + 1) % communicator.size();
      expectRefused(communicator.send(peer, 0, data, 4, /*lane=*/-1));
      expectRefused(
          communicator.receive(peer, 0, data, 4, Communicator::maxLanes));
    }
    EXPECT_TRUE(communicator.fault().ok());
    checkAllReduce(communicator, group, DType::F32, 3, ReductionKind::Sum,
                   /*inPlace=*/false);
  });
}

} // namespace tandem

#endif // TANDEM_TEST_UNIT_COMM_COMMUNICATORCONFORMANCE_H

//===- CommunicatorFaults.h - How worlds of ranks end -----------*- C++ -*-===//
//
// A parameterised suite over a factory of fresh worlds with a deadline: every
// test ends its world. For communicators whose faults end in a Status on all
// ranks (`local`); processes that die are tested in test/multiprocess.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_COMM_COMMUNICATORFAULTS_H
#define TANDEM_TEST_UNIT_COMM_COMMUNICATORFAULTS_H

#include "Elements.h"
#include "TestWorld.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <thread>

namespace tandem {

/// Makes a world of `ranks` whose waits last at most `deadlineSeconds`.
using FreshWorldFactory = std::function<std::shared_ptr<TestWorld>(
    int64_t ranks, double deadlineSeconds)>;

class CommunicatorFaults : public testing::TestWithParam<FreshWorldFactory> {
protected:
  static constexpr double long_ = 60.0, short_ = 0.2;

  /// Runs `call` on all ranks of a fresh world and returns what each got.
  std::vector<Status>
  run(int64_t ranks, double deadline,
      const std::function<Status(Communicator &, Group &)> &call) {
    std::vector<Status> statuses(ranks);
    std::vector<int64_t> all(ranks);
    std::iota(all.begin(), all.end(), 0);
    std::shared_ptr<TestWorld> world = GetParam()(ranks, deadline);
    world->run([&](Communicator &communicator) {
      Result<Group *> group = communicator.group(all);
      EXPECT_TRUE(group.ok());
      if (!group.ok())
        return;
      Status status = call(communicator, **group);
      EXPECT_EQ(communicator.fault().message(), status.message());
      statuses[communicator.rank()] = status;
    });
    return statuses;
  }

  /// All ranks got the same failure, whose line holds each of `texts`.
  static void expectAll(const std::vector<Status> &statuses,
                        const std::vector<std::string> &texts) {
    for (const Status &status : statuses) {
      EXPECT_EQ(status.code(), StatusCode::RankFailed) << status.toString();
      EXPECT_EQ(status.toString(), statuses[0].toString());
      for (const std::string &text : texts)
        EXPECT_NE(status.toString().find(text), std::string::npos)
            << status.toString() << "\nlacks " << text;
    }
  }

  static Status sum(Communicator &communicator, Group &group, int64_t count,
                    DType dtype = DType::F32,
                    ReductionKind kind = ReductionKind::Sum) {
    Elements data(dtype, count);
    std::vector<std::byte> workspace(
        Communicator::allReduceWorkspaceBytes(dtype, count, group.size()));
    return communicator.allReduce(group, 0, data.data(), data.data(), count,
                                  dtype, kind, workspace.data());
  }
};

TEST_P(CommunicatorFaults, OperationsThatDiffer) {
  expectAll(run(3, long_,
                [](Communicator &communicator, Group &group) {
                  if (communicator.rank() != 1)
                    return sum(communicator, group, 16);
                  char in[64] = {}, out[192];
                  return communicator.allGather(group, 0, in, out, 64);
                }),
            {"calls do not match", "all_reduce of 64 bytes",
             "rank 1 made all_gather of 64 bytes"});
}

TEST_P(CommunicatorFaults, SizesThatDiffer) {
  for (int64_t count : {17, 100000})
    expectAll(run(2, long_,
                  [count](Communicator &communicator, Group &group) {
                    return sum(communicator, group,
                               communicator.rank() == 0 ? 16 : count);
                  }),
              {"calls do not match", "64 bytes",
               std::to_string(4 * count) + " bytes"});
}

TEST_P(CommunicatorFaults, TypesThatDiffer) {
  expectAll(run(2, long_,
                [](Communicator &communicator, Group &group) {
                  return sum(communicator, group, 16,
                             communicator.rank() == 0 ? DType::F32
                                                      : DType::I32);
                }),
            {"calls do not match", "f32", "i32"});
}

TEST_P(CommunicatorFaults, KindsThatDiffer) {
  expectAll(run(2, long_,
                [](Communicator &communicator, Group &group) {
                  return sum(communicator, group, 30000, DType::F32,
                             communicator.rank() == 0 ? ReductionKind::Sum
                                                      : ReductionKind::Max);
                }),
            {"calls do not match", "sum", "max"});
}

TEST_P(CommunicatorFaults, RootsThatDiffer) {
  expectAll(run(2, long_,
                [](Communicator &communicator, Group &group) {
                  int value = 0;
                  return communicator.broadcast(group, 0, &value, sizeof value,
                                                communicator.rank());
                }),
            {"calls do not match", "from position 0", "from position 1"});
}

TEST_P(CommunicatorFaults, PermutePartnersThatDiffer) {
  expectAll(run(3, long_,
                [](Communicator &communicator, Group &group) {
                  int in = 0, out = 0;
                  // Rank 2 listens to 0, which sends to 1.
                  int64_t self = communicator.rank();
                  int64_t to = self == 0 ? 1 : -1;
                  int64_t from = self == 0 ? -1 : 0;
                  return communicator.permute(group, 0, &in, to, &out, from, 4);
                }),
            {"calls do not match", "rank 2 expects to hear from rank 0"});
}

TEST_P(CommunicatorFaults, ASendOfAnotherSize) {
  expectAll(run(2, long_,
                [](Communicator &communicator, Group &) {
                  char data[8] = {};
                  return communicator.rank() == 0
                             ? communicator.send(1, 0, data, 8)
                             : communicator.receive(0, 0, data, 4);
                }),
            {"calls do not match", "recv of 4 bytes", "send of 8 bytes"});
}

TEST_P(CommunicatorFaults, AMismatchReachesRanksThatWaitElsewhere) {
  expectAll(run(4, long_,
                [](Communicator &communicator, Group &group) {
                  int value = 0;
                  if (communicator.rank() == 3)
                    return communicator.receive(0, 2, &value, sizeof value);
                  Result<Group *> three = communicator.group({0, 1, 2});
                  EXPECT_TRUE(three.ok()) << group.size();
                  return sum(communicator, **three, 5 + communicator.rank());
                }),
            {"calls do not match"});
}

TEST_P(CommunicatorFaults, ARankThatDoesNotCome) {
  std::atomic<bool> over{false};
  expectAll(run(3, short_,
                [&](Communicator &communicator, Group &group) {
                  if (communicator.rank() == 1) {
                    communicator.begin(0, {"matmul #7", "layers.0.mlp"});
                    while (communicator.fault().ok())
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    return communicator.fault();
                  }
                  communicator.begin(0, {"all_reduce #8", "layers.0.down"});
                  return sum(communicator, group, 16);
                }),
            {"0.2 s", "rank 1", "matmul #7", "layers.0.mlp", "all_reduce #8",
             "layers.0.down"});
}

TEST_P(CommunicatorFaults, AStalledPeerIsNamedOnItsLatestStream) {
  expectAll(run(2, short_,
                [&](Communicator &communicator, Group &group) {
                  if (communicator.rank() == 1) {
                    communicator.begin(1, {"all_gather #3", "layers.1.w"});
                    communicator.begin(0, {"attention #9", "layers.1.attn"});
                    while (communicator.fault().ok())
                      std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    return communicator.fault();
                  }
                  communicator.begin(1, {"all_gather #4", "layers.2.w"});
                  char in[4] = {}, out[8];
                  return communicator.allGather(group, 1, in, out, 4);
                }),
            {"rank 1", "all_gather #3", "attention #9", "layers.1.attn",
             "all_gather #4", "layers.2.w"});
}

TEST_P(CommunicatorFaults, ASendThatNobodyReceives) {
  expectAll(run(2, short_,
                [](Communicator &communicator, Group &group) {
                  int value = 0;
                  communicator.begin(
                      0,
                      {communicator.rank() == 0 ? "send #1" : "all_reduce #2",
                       "layers.3"});
                  if (communicator.rank() == 0)
                    return communicator.send(1, 0, &value, sizeof value);
                  return sum(communicator, group, 1);
                }),
            {"0.2 s", "send #1", "all_reduce #2", "layers.3"});
}

TEST_P(CommunicatorFaults, AReceiveThatNobodySends) {
  expectAll(run(2, short_,
                [](Communicator &communicator, Group &) {
                  int value = 0;
                  return communicator.receive(1 - communicator.rank(), 0,
                                              &value, sizeof value);
                }),
            {"0.2 s", "has begun nothing yet"});
}

TEST_P(CommunicatorFaults, AnAbortReachesEveryWait) {
  // Ranks wait in a collective, in a send and in a receive.
  std::vector<Status> statuses =
      run(4, long_, [](Communicator &communicator, Group &group) {
        int value = 0;
        switch (communicator.rank()) {
        case 0: {
          communicator.begin(0, {"embedding #0", "embed"});
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          communicator.abort(
              Status::rankFailed("id 9 is outside the vocabulary"));
          return sum(communicator, group, 4);
        }
        case 1:
          return sum(communicator, group, 4);
        case 2:
          return communicator.send(3, 1, &value, sizeof value);
        default:
          return communicator.receive(0, 1, &value, sizeof value);
        }
      });
  expectAll(statuses,
            {"id 9 is outside the vocabulary", "rank 0", "embedding #0"});
}

/// Each collective, by the first letters of its name.
inline Status anyCall(Communicator &communicator, Group &group, int kind,
                      int channel, int64_t bytes, std::vector<char> &in,
                      std::vector<char> &out, std::vector<char> &workspace) {
  int64_t n = group.size(), self = group.position();
  switch (kind) {
  case 0:
    return communicator.allReduce(group, channel, in.data(), out.data(),
                                  bytes / 4, DType::F32, ReductionKind::Sum,
                                  workspace.data());
  case 1:
    return communicator.reduceScatter(group, channel, in.data(), out.data(),
                                      bytes / 4, DType::F32, ReductionKind::Sum,
                                      workspace.data());
  case 2:
    return communicator.allGather(group, channel, in.data(), out.data(), bytes);
  case 3:
    return communicator.allToAll(group, channel, in.data(), out.data(), bytes);
  case 4:
    return communicator.permute(group, channel, in.data(), (self + 1) % n,
                                out.data(), (self + n - 1) % n, bytes);
  default:
    return communicator.broadcast(group, channel, out.data(), bytes, 0);
  }
}

TEST_P(CommunicatorFaults, AnAbortEndsEveryCollectiveOnEveryChannel) {
  // Two threads a rank repeat a collective on overlapping groups until rank 1
  // aborts in the middle, or while the others wait for it.
  for (int kind = 0; kind < 6; ++kind)
    for (int64_t bytes : {int64_t(4), int64_t(400000)})
      expectAll(
          run(3, long_,
              [=](Communicator &communicator, Group &all) {
                Result<Group *> pair = communicator.group(
                    communicator.rank() == 2 ? std::vector<int64_t>{2}
                                             : std::vector<int64_t>{0, 1});
                auto repeat = [&](Group &group, int channel) {
                  size_t size = static_cast<size_t>(3 * bytes);
                  std::vector<char> in(size), out(size),
                      workspace(static_cast<size_t>(
                          Communicator::allReduceWorkspaceBytes(
                              DType::F32, 3 * bytes / 4, 3)));
                  Status status;
                  while (status.ok())
                    status = anyCall(communicator, group, kind, channel, bytes,
                                     in, out, workspace);
                  return status;
                };
                std::thread aborter;
                if (communicator.rank() == 1)
                  aborter = std::thread([&] {
                    std::this_thread::sleep_for(std::chrono::milliseconds(3));
                    communicator.abort(Status::rankFailed("stopped"));
                  });
                std::thread second([&] { (void)repeat(**pair, 1); });
                Status status = repeat(all, 0);
                second.join();
                if (aborter.joinable())
                  aborter.join();
                return status;
              }),
          {"stopped", "rank 1"});
}

TEST_P(CommunicatorFaults, AnAbortFromAnotherThreadReachesItsOwnRank) {
  expectAll(run(2, long_,
                [](Communicator &communicator, Group &group) {
                  std::thread watcher;
                  if (communicator.rank() == 1)
                    watcher = std::thread([&] {
                      std::this_thread::sleep_for(
                          std::chrono::milliseconds(10));
                      communicator.abort(Status::rankFailed("disk is full"));
                    });
                  else
                    while (communicator.fault().ok())
                      std::this_thread::yield();
                  Status status = sum(communicator, group, 4);
                  if (watcher.joinable())
                    watcher.join();
                  return status;
                }),
            {"disk is full", "rank 1"});
}

TEST_P(CommunicatorFaults, TheFirstFaultCountsAndLasts) {
  expectAll(
      run(1, long_,
          [](Communicator &communicator, Group &group) {
            communicator.abort(Status());
            EXPECT_TRUE(communicator.fault().ok());
            EXPECT_TRUE(sum(communicator, group, 4).ok());
            communicator.abort(Status::rankFailed("first"));
            communicator.abort(Status::rankFailed("second"));
            EXPECT_FALSE(sum(communicator, group, 4).ok());
            EXPECT_FALSE(sum(communicator, group, 40000).ok());
            char data[4] = {}, out[4];
            EXPECT_FALSE(communicator.allGather(group, 3, data, out, 4).ok());
            EXPECT_FALSE(communicator.broadcast(group, 0, data, 4, 0).ok());
            return communicator.allToAll(group, 0, data, out, 4);
          }),
      {"first"});
}

TEST_P(CommunicatorFaults, BuffersAreFreeOnceACallReturned) {
  // Each rank frees its memory as soon as it learns of the fault, while peers
  // may be in the middle of reading it: shows under AddressSanitizer.
  for (int round = 0; round < 30; ++round) {
    std::vector<Status> statuses =
        run(3, long_, [round](Communicator &communicator, Group &group) {
          std::thread aborter;
          if (communicator.rank() == 0)
            aborter = std::thread([&communicator, round] {
              std::this_thread::sleep_for(
                  std::chrono::microseconds(200 * (round % 10)));
              communicator.abort(Status::rankFailed("stopped"));
            });
          Status status;
          while (status.ok())
            status = sum(communicator, group, 60000);
          if (aborter.joinable())
            aborter.join();
          return status;
        });
    expectAll(statuses, {"stopped"});
  }
}

} // namespace tandem

#endif // TANDEM_TEST_UNIT_COMM_COMMUNICATORFAULTS_H

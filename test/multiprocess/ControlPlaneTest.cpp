//===- ControlPlaneTest.cpp - Planes of many ranks in one process ---------===//
//
// No mpirun: the addresses are handed over by hand, and the activity tables are
// written by the test as ranks would.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/control/ControlPlane.h"
#include "runtime/comm/MpiModule.h"
#include "runtime/comm/control/Endpoint.h"
#include "runtime/comm/control/Inquiry.h"
#include "runtime/comm/control/Launcher.h"

#include <algorithm>
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <map>
#include <queue>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace tandem;

namespace {

//===----------------------------------------------------------------------===//
// Who is connected to whom
//===----------------------------------------------------------------------===//

int64_t farthest(int64_t from, int64_t size, int64_t limit) {
  std::map<int64_t, int64_t> distance{{from, 0}};
  std::queue<int64_t> open({from});
  int64_t most = 0;
  for (; !open.empty(); open.pop())
    for (int64_t next : neighboursOf(open.front(), size, limit))
      if (distance.emplace(next, distance[open.front()] + 1).second) {
        most = std::max(most, distance[next]);
        open.push(next);
      }
  return static_cast<int64_t>(distance.size()) == size ? most : -1;
}

TEST(Neighbours, AreAllRanksOfASmallWorld) {
  EXPECT_EQ(neighboursOf(1, 4, 64), (std::vector<int64_t>{0, 2, 3}));
  EXPECT_TRUE(neighboursOf(0, 1, 64).empty());
}

TEST(Neighbours, OfALargeWorldAreFewAndNear) {
  for (int64_t size : {5, 65, 100, 1024}) {
    for (int64_t rank : {int64_t(0), size / 2, size - 1}) {
      std::vector<int64_t> near = neighboursOf(rank, size, 4);
      EXPECT_LE(near.size(), 20u);
      for (int64_t peer : near) { // both ends agree
        std::vector<int64_t> back = neighboursOf(peer, size, 4);
        EXPECT_TRUE(std::count(back.begin(), back.end(), rank));
      }
    }
    EXPECT_GT(farthest(0, size, 4), 0);
    EXPECT_LE(farthest(0, size, 4), 6);
  }
}

//===----------------------------------------------------------------------===//
// The launcher
//===----------------------------------------------------------------------===//

LauncherReport launchOf(const std::map<std::string, std::string> &variables) {
  return detectLauncher([&](const char *name) -> const char * {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launcher, IsKnownByItsOwnVariables) {
  EXPECT_FALSE(launchOf({}).several());
  EXPECT_EQ(launchOf({{"OMPI_COMM_WORLD_SIZE", "4"}}).processes, 4);
  EXPECT_FALSE(launchOf({{"OMPI_COMM_WORLD_SIZE", "1"}}).several());
  EXPECT_EQ(launchOf({{"SLURM_STEP_NUM_TASKS", "3"}}).processes, 3);
  // sbatch sets this for a script that starts one process.
  EXPECT_FALSE(launchOf({{"SLURM_NTASKS", "8"}}).several());
  EXPECT_FALSE(launchOf({{"OMPI_COMM_WORLD_SIZE", "many"}}).several());
}

TEST(Launcher, MayLeaveTheNumberToMpi) {
  LauncherReport launch = launchOf({{"PMIX_RANK", "0"}});
  EXPECT_TRUE(launch.several());
  EXPECT_EQ(launch.processes, 0);
  EXPECT_EQ(
      launchOf({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}}).processes,
      2);
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

TEST(MpiModuleTest, SaysWhatItCannotLoad) {
  auto missing = mpiVersion("/nowhere/libtandem_mpi.so");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.status().code(), StatusCode::Refused);
  EXPECT_NE(missing.status().message().find("/nowhere/libtandem_mpi.so"),
            std::string::npos);
  auto other = mpiVersion("libm.so.6"); // a library, but not the module
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.status().message().find("another build"), std::string::npos)
      << other.status().message();
}

TEST(MpiModuleTest, SaysWhichMpiItHas) {
  auto version = mpiVersion();
  if (!version.ok())
    GTEST_SKIP() << version.status().message();
  EXPECT_FALSE(version->empty());
  EXPECT_EQ(version->find('\n'), std::string::npos);
}

//===----------------------------------------------------------------------===//
// Who keeps a rank waiting
//===----------------------------------------------------------------------===//

ChannelState waiting(int64_t peer, double still, double unpolled = 0) {
  ChannelState state;
  state.instruction = "all_reduce #12";
  state.location = "layers.3.mlp";
  state.waitingFor = peer;
  state.still = still;
  state.unpolled = unpolled;
  state.meeting.call.bytes = 64;
  return state;
}

ChannelState computing(double still) {
  ChannelState state = waiting(-1, still);
  state.instruction = "launch matmul #13";
  return state;
}

void expectCause(const std::optional<Fault> &fault, int64_t rank,
                 const std::string &words) {
  ASSERT_TRUE(fault.has_value());
  EXPECT_EQ(fault->rank, rank) << fault->cause;
  EXPECT_NE(fault->cause.find(words), std::string::npos) << fault->cause;
}

TEST(InquiryTest, FindsTheRankThatComputes) {
  Inquiry inquiry(0, waiting(2, 1.1), 1.0);
  EXPECT_EQ(inquiry.target(), 2);
  EXPECT_FALSE(inquiry.answer({{waiting(3, 1.0)}}).has_value());
  EXPECT_EQ(inquiry.target(), 3);
  auto fault = inquiry.answer({{computing(1.2)}});
  expectCause(fault, 3, "launch matmul #13 (layers.3.mlp)");
  expectCause(fault, 3, "rank 0 has waited 1.1 s");
  EXPECT_EQ(fault->instruction, "launch matmul #13");
}

TEST(InquiryTest, FindsTheThreadThatDoesNotRun) {
  Inquiry inquiry(0, waiting(2, 1.1), 1.0);
  expectCause(inquiry.answer({{waiting(0, 1.1, 1.1)}}), 2,
              "its thread does not run");
}

TEST(InquiryTest, FindsACircle) {
  Inquiry inquiry(0, waiting(2, 1.1), 1.0);
  EXPECT_FALSE(inquiry.answer({{waiting(3, 1.0)}}).has_value());
  expectCause(inquiry.answer({{waiting(2, 1.0)}}), 3,
              "in a circle: nothing passes between them, as when a "
              "network link is down");
}

TEST(InquiryTest, FindsARankThatGoesOnElsewhere) {
  Inquiry inquiry(0, waiting(1, 1.1), 1.0);
  expectCause(inquiry.answer({{waiting(3, 0.1)}}), 1, "without meeting it");
}

TEST(InquiryTest, FollowsTheOtherStreamOfARank) {
  Inquiry inquiry(0, waiting(1, 1.1), 1.0);
  ChannelState other = waiting(3, 1.0);
  other.channel = 1;
  EXPECT_FALSE(inquiry.answer({{computing(1.0), other}}).has_value());
  EXPECT_EQ(inquiry.target(), 3);
}

TEST(InquiryTest, NamesARankThatHasNotBegun) {
  Inquiry inquiry(0, waiting(1, 1.1), 1.0);
  expectCause(inquiry.answer({}), 1, "has not begun");
}

TEST(InquiryTest, ComparesOnlyCallsThatMeet) {
  ChannelState mine = waiting(1, 0.5), theirs = waiting(0, 0.5);
  EXPECT_FALSE(compareCalls(0, mine, 1, {{theirs}}).has_value());
  theirs.meeting.call.bytes = 128;
  auto fault = compareCalls(0, mine, 1, {{theirs}});
  ASSERT_TRUE(fault.has_value());
  EXPECT_NE(fault->cause.find("calls do not match"), std::string::npos);
  EXPECT_NE(fault->cause.find("128 bytes"), std::string::npos);
  theirs.meeting.sequence = 1; // another call of theirs
  EXPECT_FALSE(compareCalls(0, mine, 1, {{theirs}}).has_value());
}

//===----------------------------------------------------------------------===//
// Planes
//===----------------------------------------------------------------------===//

/// `size` planes that talk over the loopback; nobody exits.
struct Planes {
  explicit Planes(int64_t size, int64_t completeLimit, double deadline = 60) {
    ControlOptions options;
    options.exitOnFault = false;
    options.completeLimit = completeLimit;
    options.deadlineSeconds = deadline;
    std::vector<std::string> addresses;
    for (int64_t rank = 0; rank < size; ++rank) {
      auto made = ControlPlane::listen(rank, size, options);
      EXPECT_TRUE(made.ok()) << made.status().toString();
      planes.push_back(std::move(*made));
      addresses.push_back(planes.back()->address());
    }
    std::vector<std::thread> threads;
    for (auto &plane : planes)
      threads.emplace_back([&plane, &addresses] {
        Status status = plane->connect(addresses);
        EXPECT_TRUE(status.ok()) << status.toString();
      });
    for (std::thread &thread : threads)
      thread.join();
  }

  /// Waits until every plane but those taken away has a fault.
  bool allFaulted(double seconds) {
    for (int i = 0; i < seconds * 100; ++i) {
      if (std::all_of(planes.begin(), planes.end(), [](const auto &plane) {
            return !plane || plane->faulted();
          }))
        return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  void expectAll(const std::string &words) {
    ASSERT_TRUE(allFaulted(5));
    for (const auto &plane : planes) {
      std::string text = plane ? plane->fault().toString() : words;
      EXPECT_NE(text.find(words), std::string::npos) << text;
    }
  }

  /// Makes `rank` wait for `peer` on channel 0 as a polling thread would.
  void wait(int64_t rank, int64_t peer, const Meeting &meeting) {
    ChannelActivity &row = planes[rank]->activity()[0];
    row.begin({"recv #4", "layers.2"});
    row.enter(meeting);
    row.waitFor(peer);
    pollers.emplace_back([this, rank] {
      while (!planes[rank]->faulted() && !over) {
        planes[rank]->activity()[0].polled();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
  }

  ~Planes() {
    over = true;
    for (std::thread &poller : pollers)
      poller.join();
  }

  std::vector<std::unique_ptr<ControlPlane>> planes;
  std::vector<std::thread> pollers;
  std::atomic<bool> over{false};
};

TEST(ControlPlaneTest, GoodbyesAreNoFaults) {
  Planes world(5, 64);
  for (auto &plane : world.planes)
    plane->close();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  for (auto &plane : world.planes)
    EXPECT_TRUE(plane->fault().ok()) << plane->fault().toString();
}

TEST(ControlPlaneTest, AnAbortReachesAllOfASparseWorld) {
  Planes world(12, 4);
  world.planes[5]->activity()[0].begin({"embedding #0", "embed"});
  world.planes[5]->abort(Status::rankFailed("id 9 is outside"));
  world.expectAll("id 9 is outside (rank 5, instruction embedding #0");
}

TEST(ControlPlaneTest, TheFirstFaultStays) {
  Planes world(2, 64);
  world.planes[0]->abort(Status());
  EXPECT_FALSE(world.planes[0]->faulted());
  world.planes[0]->abort(Status::rankFailed("first"));
  world.planes[0]->abort(Status::rankFailed("second"));
  world.expectAll("first");
}

TEST(ControlPlaneTest, ARankThatGoesIsMissed) {
  Planes world(9, 4);
  world.planes[3].reset();
  world.expectAll("rank 3 ended before the others");
}

TEST(ControlPlaneTest, AStallIsFoundAcrossASparseWorld) {
  Planes world(16, 4, 0.4);
  // 0 and 6 are no neighbours, nor are 6 and 11.
  world.planes[11]->activity()[0].begin({"launch matmul #7", "layers.9"});
  world.wait(0, 6, {1, 0, {}});
  world.wait(6, 11, {2, 0, {}});
  world.expectAll("rank 11 stalls");
  world.expectAll("launch matmul #7 (layers.9)");
}

TEST(ControlPlaneTest, AWaitThatMovesIsNoStall) {
  Planes world(2, 64, 0.3);
  world.wait(0, 1, {1, 0, {}});
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    world.planes[0]->activity()[0].advance();
  }
  EXPECT_TRUE(world.planes[0]->fault().ok())
      << world.planes[0]->fault().toString();
}

TEST(ControlPlaneTest, SetUpWaitsAsLongAsItMust) {
  Planes world(2, 64, 0.2);
  ChannelActivity &row = world.planes[0]->activity()[ActivityTable::setUp];
  row.begin({"set-up", ""});
  row.waitFor(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
  EXPECT_TRUE(world.planes[0]->fault().ok());
  world.planes[0]->setSetUpDeadline(true);
  world.expectAll("its thread does not run"); // nobody polls here
}

TEST(ControlPlaneTest, DifferentCallsAreFoundBeforeTheDeadline) {
  Planes world(2, 64, 60);
  Call sum{CallKind::AllReduce, DType::F32, ReductionKind::Sum, 0, 64};
  Call gather{CallKind::AllGather, DType::U8, ReductionKind::Sum, 0, 64};
  world.wait(0, 1, {7, 3, sum});
  world.wait(1, 0, {7, 3, gather});
  world.expectAll("calls do not match");
  world.expectAll("all_gather of 64 bytes");
}

TEST(ControlPlaneTest, AStrangerIsTurnedAway) {
  ControlOptions options;
  options.exitOnFault = false;
  auto a = ControlPlane::listen(0, 2, options);
  auto b = ControlPlane::listen(1, 2, options);
  ASSERT_TRUE(a.ok() && b.ok());
  auto address = EndpointAddress::unpack((*a)->address());
  ASSERT_TRUE(address.ok());
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(address->port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int stranger = socket(AF_INET, SOCK_STREAM, 0);
  ASSERT_EQ(connect(stranger, reinterpret_cast<sockaddr *>(&to), sizeof to), 0);
  ASSERT_GT(write(stranger, std::string(64, 'x').data(), 64), 0);
  std::vector<std::string> all{(*a)->address(), (*b)->address()};
  std::thread other([&] { EXPECT_TRUE((*b)->connect(all).ok()); });
  EXPECT_TRUE((*a)->connect(all).ok());
  other.join();
  ::close(stranger);
  (*a)->close(), (*b)->close();
}

TEST(ControlPlaneTest, AddressesThatCannotBeReadAreRefused) {
  auto plane = ControlPlane::listen(0, 2, {});
  ASSERT_TRUE(plane.ok());
  EXPECT_FALSE((*plane)->connect({(*plane)->address()}).ok());
  EXPECT_FALSE((*plane)->connect({(*plane)->address(), "short"}).ok());
  std::string cut = (*plane)->address();
  cut.pop_back();
  Status status = (*plane)->connect({(*plane)->address(), cut});
  EXPECT_EQ(status.message(), "control plane: an address cannot be read: rank "
                              "1 runs another build of Tandem");
}

} // namespace

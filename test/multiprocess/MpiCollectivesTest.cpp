//===- MpiCollectivesTest.cpp - Every collective between processes --------===//
//
// Every process runs every test with the same sequence of calls; mpirun's exit
// code is not 0 when any rank's test fails. Expected values are computed from
// formulas of (rank, element), never from what was received.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/MpiModule.h"

#include <cstring>
#include <gtest/gtest.h>
#include <thread>

using namespace tandem;

namespace {

MpiWorld *world = nullptr;

const int64_t sizes[] = {0, 1, 2, 3, 5, 64, 1000, 4097, 300000};

/// Small whole numbers, so that sums are exact in every type.
int64_t valueOf(int64_t rank, int64_t element) {
  return (rank * 7 + element * 3) % 11 - 5;
}

template <typename T> std::vector<T> filled(int64_t rank, int64_t count) {
  std::vector<T> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = static_cast<T>(valueOf(rank, i));
  return values;
}

struct Fixture : ::testing::Test {
  Communicator &comm = world->communicator();
  int64_t me = world->rank(), n = world->size();

  Group &groupOf(const std::vector<int64_t> &members) {
    auto made = comm.group(members);
    EXPECT_TRUE(made.ok());
    return **made;
  }
  Group &everyone() {
    std::vector<int64_t> members;
    for (int64_t i = 0; i < n; ++i)
      members.push_back(i);
    return groupOf(members);
  }
  Group &everyoneBackwards() {
    std::vector<int64_t> members;
    for (int64_t i = n; i-- > 0;)
      members.push_back(i);
    return groupOf(members);
  }
  /// Pairs of neighbours; the last rank of an odd world stands alone.
  Group &pair() {
    int64_t first = me / 2 * 2;
    return first + 1 < n ? groupOf({first, first + 1}) : groupOf({first});
  }
};
using MpiCollectives = Fixture;

template <typename T>
T expectedOf(const Group &group, int64_t element, ReductionKind kind) {
  int64_t result = valueOf(group.members()[0], element);
  for (int64_t i = 1; i < group.size(); ++i) {
    int64_t next = valueOf(group.members()[i], element);
    if (kind == ReductionKind::Sum)
      result += next;
    else if (kind == ReductionKind::Max)
      result = std::max(result, next);
    else
      result = std::min(result, next);
  }
  return static_cast<T>(result);
}

template <typename T>
void checkAllReduce(Communicator &comm, Group &group, DType dtype,
                    int64_t count, ReductionKind kind, bool inPlace) {
  std::vector<T> in = filled<T>(comm.rank(), count), out(count);
  T *target = inPlace ? in.data() : out.data();
  std::vector<std::byte> workspace(
      Communicator::allReduceWorkspaceBytes(dtype, count, group.size()));
  Status status = comm.allReduce(group, 0, in.data(), target, count, dtype,
                                 kind, workspace.data());
  ASSERT_TRUE(status.ok()) << status.toString();
  for (int64_t i = 0; i < count; ++i)
    ASSERT_EQ(target[i], expectedOf<T>(group, i, kind)) << "element " << i;
}

TEST_F(MpiCollectives, AllReduceOfEveryKindAndSize) {
  for (Group *group : {&everyone(), &everyoneBackwards(), &pair()})
    for (int64_t count : sizes)
      for (auto kind :
           {ReductionKind::Sum, ReductionKind::Max, ReductionKind::Min})
        for (bool inPlace : {false, true}) {
          checkAllReduce<float>(comm, *group, DType::F32, count, kind, inPlace);
          checkAllReduce<double>(comm, *group, DType::F64, count, kind,
                                 inPlace);
          checkAllReduce<int32_t>(comm, *group, DType::I32, count, kind,
                                  inPlace);
          checkAllReduce<int64_t>(comm, *group, DType::I64, count, kind,
                                  inPlace);
        }
}

TEST_F(MpiCollectives, SumsInRankOrder) {
  // In float, (1e8 + 1) - 1e8 is 0 and (1e8 - 1e8) + 1 is 1: order shows.
  const int64_t count = 97;
  std::vector<float> in(count), out(count);
  const float terms[] = {1e8f, 1.0f, -1e8f, 1.0f};
  for (float &value : in)
    value = terms[me % 4];
  float expected = terms[0];
  for (int64_t i = 1; i < n; ++i)
    expected += terms[i % 4];
  std::vector<std::byte> workspace(
      Communicator::allReduceWorkspaceBytes(DType::F32, count, n));
  ASSERT_TRUE(comm.allReduce(everyone(), 0, in.data(), out.data(), count,
                             DType::F32, ReductionKind::Sum, workspace.data())
                  .ok());
  for (float value : out)
    ASSERT_EQ(value, expected);
}

TEST_F(MpiCollectives, ReduceScatterGivesEachItsPiece) {
  Group &group = everyone();
  for (int64_t count : sizes) {
    std::vector<float> in = filled<float>(me, count * n), out(count);
    std::vector<std::byte> workspace(count * n * sizeof(float));
    ASSERT_TRUE(comm.reduceScatter(group, 1, in.data(), out.data(), count,
                                   DType::F32, ReductionKind::Sum,
                                   workspace.data())
                    .ok());
    for (int64_t i = 0; i < count; ++i)
      ASSERT_EQ(out[i],
                expectedOf<float>(group, me * count + i, ReductionKind::Sum));
  }
}

TEST_F(MpiCollectives, AllGatherOrdersByPosition) {
  Group &group = everyoneBackwards();
  for (int64_t count : sizes) {
    std::vector<int16_t> in = filled<int16_t>(me, count), out(count * n);
    ASSERT_TRUE(
        comm.allGather(group, 0, in.data(), out.data(), count * 2).ok());
    for (int64_t p = 0; p < n; ++p)
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(out[p * count + i], valueOf(group.members()[p], i));
  }
}

TEST_F(MpiCollectives, AllToAllTransposes) {
  Group &group = everyone();
  for (int64_t count : sizes) {
    std::vector<int32_t> in = filled<int32_t>(me, count * n), out(count * n);
    ASSERT_TRUE(comm.allToAll(group, 0, in.data(), out.data(), count * 4).ok());
    for (int64_t p = 0; p < n; ++p)
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(out[p * count + i], valueOf(p, me * count + i));
  }
}

TEST_F(MpiCollectives, PermuteShiftsAndStopsAtTheEdge) {
  Group &group = everyone();
  for (int64_t count : sizes)
    for (bool wrap : {true, false}) {
      std::vector<int32_t> in = filled<int32_t>(me, count), out(count, 99);
      int64_t to = me + 1 < n || wrap ? (me + 1) % n : -1;
      int64_t from = me > 0 || wrap ? (me - 1 + n) % n : -1;
      ASSERT_TRUE(
          comm.permute(group, 0, in.data(), to, out.data(), from, count * 4)
              .ok());
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], from < 0 ? 0 : valueOf(from, i));
    }
}

TEST_F(MpiCollectives, BroadcastFromEveryRoot) {
  Group &group = everyoneBackwards();
  for (int64_t root = 0; root < n; ++root)
    for (int64_t count : sizes) {
      std::vector<int32_t> data = filled<int32_t>(me, count);
      ASSERT_TRUE(comm.broadcast(group, 2, data.data(), count * 4, root).ok());
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(data[i], valueOf(group.members()[root], i));
    }
}

TEST_F(MpiCollectives, SendsOnSeveralChannelsAtOnce) {
  // Each rank sends around the ring on two channels from two threads, with
  // sizes in opposite orders, while overlapping groups reduce on a third.
  auto ring = [&](int channel, bool largestFirst) {
    for (size_t k = 0; k < std::size(sizes); ++k) {
      int64_t count = sizes[largestFirst ? std::size(sizes) - 1 - k : k];
      std::vector<int32_t> in = filled<int32_t>(me + channel, count);
      std::vector<int32_t> out(count);
      int64_t to = (me + 1) % n, from = (me - 1 + n) % n;
      auto give = [&] {
        ASSERT_TRUE(comm.send(to, channel, in.data(), count * 4).ok());
      };
      auto take = [&] {
        ASSERT_TRUE(comm.receive(from, channel, out.data(), count * 4).ok());
      };
      // Rendezvous: the last rank takes first, so that the ring moves.
      me + 1 == n ? (take(), give()) : (give(), take());
      for (int64_t i = 0; i < count; ++i)
        ASSERT_EQ(out[i], valueOf(from + channel, i));
    }
  };
  Group &all = everyone();
  Group &two = pair();
  std::thread first([&] { ring(3, false); });
  std::thread second([&] { ring(4, true); });
  for (int round = 0; round < 20; ++round)
    for (Group *group : {&all, &two})
      checkAllReduce<float>(comm, *group, DType::F32, 1000, ReductionKind::Sum,
                            false);
  first.join();
  second.join();
}

TEST_F(MpiCollectives, RefusesWhatCannotBe) {
  EXPECT_FALSE(comm.group({0, n}).ok());
  EXPECT_FALSE(comm.group({(me + 1) % n}).ok());
  EXPECT_FALSE(comm.group({me, me}).ok());
  EXPECT_FALSE(comm.send(me, 0, nullptr, 0).ok());
  EXPECT_FALSE(comm.receive(-1, 0, nullptr, 0).ok());
  EXPECT_FALSE(comm.allGather(everyone(), 1000, nullptr, nullptr, 0).ok());
}

TEST_F(MpiCollectives, BytesOfAnySizeTravel) {
  for (int64_t root = 0; root < n; ++root)
    for (size_t size : {size_t(0), size_t(1), size_t(3000000)}) {
      std::string plan(size, static_cast<char>('a' + root));
      std::string bytes = me == root ? plan : "something else";
      ASSERT_TRUE(world->broadcast(bytes, root).ok());
      EXPECT_EQ(bytes, plan);
      auto all =
          world->gather(std::string(size, static_cast<char>('a' + me)), root);
      ASSERT_TRUE(all.ok());
      ASSERT_EQ((*all).size(), me == root ? size_t(n) : size_t(0));
      for (size_t r = 0; r < (*all).size(); ++r)
        EXPECT_EQ((*all)[r], std::string(size, static_cast<char>('a' + r)));
    }
}

} // namespace

int main(int argc, char **argv) {
  ::testing::InitGoogleTest(&argc, argv);
  MpiOptions options;
  options.deadlineSeconds = 20;
  auto opened = openMpi(options);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().toString().c_str());
    return 1;
  }
  world = &*opened;
  if (world->rank() != 0) // One report is enough; failures still print.
    delete ::testing::UnitTest::GetInstance()->listeners().Release(
        ::testing::UnitTest::GetInstance()
            ->listeners()
            .default_result_printer());
  int result = RUN_ALL_TESTS();
  if (result != 0)
    std::fprintf(stderr, "rank %d: a test failed\n", int(world->rank()));
  Status ended = world->finish();
  if (!ended.ok())
    std::fprintf(stderr, "%s\n", ended.toString().c_str());
  return result != 0 || !ended.ok();
}

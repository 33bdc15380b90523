//===- MpiConformanceTest.cpp - The suite of communicators, by processes --===//
//
// The whole program runs once in every process; mpirun's code is not 0 when
// any rank's test fails.
//
//===----------------------------------------------------------------------===//

#include "test/unit/comm/CommunicatorConformance.h"

#include "runtime/comm/MpiModule.h"

using namespace tandem;

namespace tandem {
namespace {

MpiWorld *world = nullptr;

/// The body for this process's own rank.
class ProcessWorld final : public TestWorld {
public:
  int64_t size() const override { return world->size(); }
  void run(const std::function<void(Communicator &)> &body) override {
    body(world->communicator());
  }
};

INSTANTIATE_TEST_SUITE_P(Mpi, CommunicatorConformance,
                         testing::Values(WorldFactory([] {
                           return std::make_shared<ProcessWorld>();
                         })));

TEST(MpiWorldTest, BytesOfAnySizeTravel) {
  const int64_t me = world->rank(), n = world->size();
  auto letters = [](size_t size, int64_t rank) {
    return std::string(size, static_cast<char>('a' + rank));
  };
  for (int64_t root = 0; root < n; ++root)
    for (size_t size : {size_t(0), size_t(1), size_t(3000000)}) {
      std::string bytes = me == root ? letters(size, root) : "something else";
      EXPECT_TRUE(world->broadcast(bytes, root).ok());
      EXPECT_EQ(bytes, letters(size, root));
      auto all = world->gather(letters(size, me), root);
      EXPECT_TRUE(all.ok());
      EXPECT_EQ((*all).size(), me == root ? size_t(n) : size_t(0));
      for (size_t rank = 0; rank < (*all).size(); ++rank)
        EXPECT_EQ((*all)[rank], letters(size, int64_t(rank)));
    }
  EXPECT_TRUE(world->meet().ok());
}

TEST(MpiWorldTest, RefusesWhatCannotBe) {
  Communicator &communicator = world->communicator();
  const int64_t me = world->rank();
  for (int64_t peer : {me, int64_t(-1), world->size()}) {
    EXPECT_FALSE(communicator.send(peer, 0, nullptr, 0).ok());
    EXPECT_FALSE(communicator.receive(peer, 0, nullptr, 0).ok());
  }
  int next = Communicator::maxChannels;
  EXPECT_FALSE(communicator.send((me + 1) % world->size(), next, "", 0).ok());
  EXPECT_EQ(world->ranksHere(), world->size());
}

/// One rank's report is enough; failures of the others still count.
void quietOtherRanks() {
  auto &listeners = testing::UnitTest::GetInstance()->listeners();
  if (world->rank() != 0)
    delete listeners.Release(listeners.default_result_printer());
}

} // namespace
} // namespace tandem

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  MpiOptions options;
  options.deadlineSeconds = 30;
  Result<MpiWorld> opened = openMpi(options);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().toString().c_str());
    return 1;
  }
  world = &*opened;
  quietOtherRanks();
  int result = RUN_ALL_TESTS();
  if (result != 0)
    std::fprintf(stderr, "rank %d: a test failed\n", int(world->rank()));
  Status ended = world->finish();
  if (!ended.ok())
    std::fprintf(stderr, "%s\n", ended.toString().c_str());
  return result != 0 || !ended.ok();
}

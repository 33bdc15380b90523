#include "runtime/session/DiskThread.h"

#include "test/unit/files/TestFiles.h"

namespace tandem {
namespace {

using test::Folder;

TEST(DiskThreadTest, GivesWhatItsJobReturns) {
  Folder scratch;
  DiskThread thread(0, "shard", FaultPoint(), 60);
  for (const char *text : {"one", "two"}) {
    ASSERT_OK(thread.begin("a job", [text](WatchedDisk &) -> RankReply {
      return std::string(text);
    }));
    RankReply reply = thread.reply(/*wait=*/true);
    ASSERT_OK(reply);
    EXPECT_EQ(*reply, text);
  }
}

TEST(DiskThreadTest, AJobThatThrowsIsNamed) {
  DiskThread thread(0, "shard", FaultPoint(), 60);
  ASSERT_OK(thread.begin(
      "out/a", [](WatchedDisk &) -> RankReply { throw std::bad_alloc(); }));
  ASSERT_OK(thread.awaitRead());
  test::expectRefusal(thread.reply(/*wait=*/true).status(), "out/a: ");
}

/// The time that a job takes between operations is its own.
TEST(DiskThreadTest, WaitsForASlowJob) {
  DiskThread thread(0, "shard", FaultPoint(), 0.05);
  ASSERT_OK(thread.begin("a job", [](WatchedDisk &) -> RankReply {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return std::string("done");
  }));
  RankReply reply = thread.reply(/*wait=*/true);
  ASSERT_OK(reply);
  EXPECT_EQ(*reply, "done");
  EXPECT_FALSE(thread.stuck());
}

TEST(DiskThreadTest, StopsWaitingForADiskThatHangs) {
  Folder scratch;
  std::string path = scratch / "new";
  Result<FaultPoint> fault = FaultPoint::parse("3:shard:1:delay=1");
  ASSERT_OK(fault);
  DiskThread thread(3, "shard", *fault, 0.1);
  ASSERT_OK(thread.begin("a job", [path](WatchedDisk &disk) -> RankReply {
    TANDEM_TRY(disk.makeFolder(path));
    return std::string();
  }));
  Status status = thread.awaitRead();
  EXPECT_EQ(status.code(), StatusCode::RankFailed);
  test::expectRefusal(status, "the disk does not answer: one operation of a "
                              "checkpoint has taken ");
  EXPECT_EQ(status.rank, 3);
  EXPECT_EQ(status.location, path);
  EXPECT_TRUE(thread.stuck());
}

} // namespace
} // namespace tandem

#include "runtime/exec/FaultPoint.h"

#include <gtest/gtest.h>
#include <new>

namespace tandem {
namespace {

TEST(FaultPoint, CountsInstructionsOfItsKindOnItsRank) {
  Result<FaultPoint> point = FaultPoint::parse("1:all_reduce:2:fail");
  ASSERT_TRUE(point.ok());
  EXPECT_TRUE(point->concerns(1, "all_reduce"));
  EXPECT_FALSE(point->concerns(0, "all_reduce"));
  EXPECT_FALSE(point->concerns(1, "einsum"));
  EXPECT_TRUE(point->reach().ok());
  EXPECT_EQ(point->reach().code(), StatusCode::RankFailed);
  EXPECT_TRUE(point->reach().ok());
}

TEST(FaultPoint, AnyMeansEveryKind) {
  EXPECT_TRUE(FaultPoint::parse("0:any:1:hang")->concerns(0, "rope"));
}

TEST(FaultPoint, AbsentConcernsNothing) {
  EXPECT_FALSE(FaultPoint().concerns(0, "einsum"));
}

TEST(FaultPoint, HasSeveralActions) {
  for (const char *action : {"fail", "allocate", "hang", "exit", "kill", "stop",
                             "crash", "delay=0", "delay=1.5"})
    EXPECT_TRUE(FaultPoint::parse(std::string("0:any:1:") + action).ok())
        << action;
  Result<FaultPoint> delay = FaultPoint::parse("0:any:1:delay=0");
  EXPECT_TRUE(delay->reach(0, "rope").ok());
  Result<FaultPoint> memory = FaultPoint::parse("0:load:1:allocate");
  EXPECT_TRUE(memory->reach(0, "rope").ok());
  EXPECT_THROW((void)memory->reach(0, "load"), std::bad_alloc);
}

TEST(FaultPoint, RefusesOtherForms) {
  for (const char *text :
       {"", "1", "1:einsum:1", "x:einsum:1:fail", "1:einsum:0:fail",
        "1:einsum:1:burn", "1::1:fail", "1:einsum:1:fail:more",
        "1:einsum:1:delay", "1:einsum:1:delay=", "1:einsum:1:delay=1s"}) {
    Result<FaultPoint> point = FaultPoint::parse(text);
    ASSERT_FALSE(point.ok()) << text;
    EXPECT_EQ(point.status().message(),
              "TANDEM_FAULT is '" + std::string(text) +
                  "', expected RANK:KIND:N:ACTION with an action of fail, "
                  "allocate, hang, delay=SECONDS, exit, kill, stop or crash");
  }
}

} // namespace
} // namespace tandem

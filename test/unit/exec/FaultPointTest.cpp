#include "runtime/exec/FaultPoint.h"

#include <gtest/gtest.h>

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

TEST(FaultPoint, RefusesOtherForms) {
  for (const char *text :
       {"", "1", "1:einsum:1", "x:einsum:1:fail", "1:einsum:0:fail",
        "1:einsum:1:burn", "1::1:fail", "1:einsum:1:fail:more"}) {
    Result<FaultPoint> point = FaultPoint::parse(text);
    ASSERT_FALSE(point.ok()) << text;
    EXPECT_EQ(point.status().message(),
              "TANDEM_FAULT is '" + std::string(text) +
                  "', expected RANK:KIND:N:fail|hang|exit");
  }
}

} // namespace
} // namespace tandem

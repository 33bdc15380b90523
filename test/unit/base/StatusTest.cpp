#include "runtime/base/Status.h"

#include <gtest/gtest.h>

using namespace tandem;

namespace {

Status failing() { return Status::refused("no such file"); }
Result<int> half(int value) {
  if (value % 2)
    return Status::usage("odd");
  return value / 2;
}
Result<int> quarter(int value) {
  TANDEM_ASSIGN(int once, half(value));
  TANDEM_ASSIGN(int twice, half(once));
  return twice;
}

} // namespace

TEST(Status, PrintsWhatIsKnown) {
  Status status = Status::rankFailed("peer 2 was lost");
  status.rank = 1;
  status.instruction = "all_reduce #12";
  status.location = "layers.0.mlp";
  EXPECT_EQ(status.toString(), "peer 2 was lost (rank 1, instruction "
                               "all_reduce #12, location layers.0.mlp)");
  EXPECT_EQ(status.exitCode(), 3);
}

TEST(Status, ContextComesFirst) {
  EXPECT_EQ(failing().withContext("a.gguf").message(), "a.gguf: no such file");
  EXPECT_TRUE(Status().withContext("a").ok());
}

TEST(Result, AssignsOrLeaves) {
  EXPECT_EQ(*quarter(8), 2);
  EXPECT_EQ(quarter(6).status().message(), "odd");
}

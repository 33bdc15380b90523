#include "runtime/base/Guarded.h"

#include <gtest/gtest.h>
#include <stdexcept>

namespace tandem {
namespace {

TEST(Guarded, ReturnsWhatTheWorkReturns) {
  EXPECT_TRUE(guarded([] { return Status(); }).ok());
  Status status = guarded([] { return Status::refused("no"); });
  EXPECT_EQ(status.code(), StatusCode::Refused);
  EXPECT_EQ(status.message(), "no");
}

TEST(Guarded, MakesExceptionsFailuresOfTheRank) {
  Status memory = guarded([]() -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(memory.code(), StatusCode::RankFailed);
  EXPECT_EQ(memory.message(),
            "out of memory; use more ranks, a shorter sequence or batch, or a "
            "machine with more memory");
  Status other = guarded([]() -> Status { throw std::runtime_error("odd"); });
  EXPECT_EQ(other.code(), StatusCode::RankFailed);
  EXPECT_EQ(other.message(), "odd");
}

} // namespace
} // namespace tandem

#include "runtime/base/Log.h"

#include <gtest/gtest.h>

using namespace tandem;

TEST(Log, WritesNothingThatSteersATerminal) {
  testing::internal::CaptureStderr();
  log(LogLevel::Error, std::string("key '\x1b[2J\0\r' of\n\ta file\x7f", 24));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "tandem: error: key '\\x1b[2J\\x00\\x0d' of\n\ta file\\x7f\n");
}

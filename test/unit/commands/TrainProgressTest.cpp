#include "tools/commands/TrainProgress.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

StepReport report(int64_t step, double tokensPerSecond) {
  StepReport report;
  report.step = step;
  report.loss = 2.41327;
  report.tokensPerSecond = tokensPerSecond;
  return report;
}

TEST(TrainProgress, SaysHowFarAndHowFast) {
  EXPECT_EQ(progressText(report(120, 1834), 2000, 0.1),
            "step 120/2000  loss 2.4133  1834 tokens/s  3 min 8 s left");
  EXPECT_EQ(progressText(report(1, 18340), 61, 1),
            "step 1/61  loss 2.4133  18.3k tokens/s  1 min 0 s left");
  EXPECT_EQ(progressText(report(1, 1.24e6), 10, 2000),
            "step 1/10  loss 2.4133  1.2M tokens/s  5 h 0 min left");
  EXPECT_EQ(progressText(report(9, 1), 10, 12.4),
            "step 9/10  loss 2.4133  1 tokens/s  12 s left");
}

TEST(TrainProgress, SaysWhatIsKnown) {
  StepReport last = report(10, 100);
  last.utilisation = 0.6117;
  last.evalLoss = 2.5;
  EXPECT_EQ(progressText(last, 10, 1),
            "step 10/10  loss 2.4133  100 tokens/s  MFU 61.2 %  eval 2.5000");
}

} // namespace
} // namespace tandem

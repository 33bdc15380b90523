#include "runtime/base/Suggest.h"

#include <gtest/gtest.h>

using namespace tandem;

TEST(Suggest, CountsEdits) {
  EXPECT_EQ(editDistance("kitten", "sitting"), 3u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
  EXPECT_EQ(editDistance("same", "same"), 0u);
}

TEST(Suggest, NamesTheNearest) {
  EXPECT_EQ(didYouMean("layrs", {"layers", "heads"}),
            "; did you mean 'layers'?");
  EXPECT_EQ(didYouMean("nothing", {"layers", "heads"}), "");
}

#include "passes/strategy/Dominance.h"

#include "gtest/gtest.h"

#include <algorithm>

using namespace tandem;

namespace {

using Kept = std::vector<std::vector<int>>;

CostTables tablesOf(const std::string &text) {
  Result<CostNetwork> network = CostNetwork::parse(text);
  EXPECT_TRUE(network.ok()) << network.status().message();
  return CostTables::of(*network);
}

Kept keptOf(const std::string &text) {
  return withoutDominated(tablesOf(text), 1000).kept;
}

TEST(Dominance, ExampleOfTheHeader) {
  std::string rest = "variable 1 \"next\": \"x\" 0, \"y\" 0\n"
                     "term 0 1: 4, 2, 1, 1\n";
  EXPECT_EQ(keptOf("variable 0 \"v\": \"a\" 5, \"b\" 7\n" + rest),
            (Kept{{0, 1}, {0, 1}}));
  // Then "y" goes too, which costs 2 where "x" costs 4 or more; no: it stays,
  // and "x" goes.
  EXPECT_EQ(keptOf("variable 0 \"v\": \"a\" 2, \"b\" 7\n" + rest),
            (Kept{{0}, {1}}));
}

TEST(Dominance, OfEqualsTheLowerNumberStays) {
  EXPECT_EQ(keptOf("variable 0 \"v\": \"a\" 3, \"b\" 2, \"c\" 2\n"),
            (Kept{{1}}));
}

TEST(Dominance, WhatIsForbiddenWhateverTheOthersTakeGoes) {
  // "a" fits "y" alone, which fits "n" alone: a chain of consequences.
  EXPECT_EQ(keptOf("variable 0 \"u\": \"a\" 0, \"b\" forbidden\n"
                   "variable 1 \"v\": \"x\" 0, \"y\" 5\n"
                   "variable 2 \"w\": \"m\" 0, \"n\" 5\n"
                   "term 0 1: forbidden, 0, 0, 0\n"
                   "term 1 2: 0, 0, forbidden, 0\n"),
            (Kept{{0}, {1}, {1}}));
}

TEST(Dominance, EachVariableKeepsOne) {
  ReducedTables reduced = withoutDominated(
      tablesOf("variable 0 \"u\": \"a\" 0, \"b\" 0\n"
               "variable 1 \"v\": \"x\" forbidden, \"y\" forbidden\n"
               "term 0 1: forbidden, forbidden, forbidden, forbidden\n"),
      1000);
  for (const std::vector<int> &kept : reduced.kept)
    EXPECT_EQ(kept.size(), 1u);
  EXPECT_EQ(reduced.network.tables.back().costs,
            (std::vector<int64_t>{kForbidden}));
}

TEST(Dominance, TablesKeepTheEntriesOfWhatIsLeft) {
  // Three variables; of the one in the middle the second goes.
  std::string text = "variable 0 \"u\": \"a\" 0, \"b\" 0\n"
                     "variable 1 \"v\": \"x\" 0, \"y\" forbidden, \"z\" 0\n"
                     "variable 2 \"w\": \"m\" 0, \"n\" 0\n"
                     "term 0 1 2: 1, 9, 0, 0, 9, 1, 9, 1, 0, 0, 1, 9\n";
  ReducedTables reduced = withoutDominated(tablesOf(text), 1000);
  EXPECT_EQ(reduced.kept, (Kept{{0, 1}, {0, 2}, {0, 1}}));
  EXPECT_EQ(reduced.network.sizes, (std::vector<int>{2, 2, 2}));
  EXPECT_EQ(reduced.network.tables.back().costs,
            (std::vector<int64_t>{1, 9, 9, 1, 9, 1, 1, 9}));
  // No work allowed: nothing goes.
  EXPECT_EQ(withoutDominated(tablesOf(text), 0).kept[0].size(), 2u);
}

} // namespace

#include "passes/strategy/CostNetwork.h"

#include "gtest/gtest.h"

using namespace tandem;

namespace {

std::string messageOf(const std::string &text) {
  return CostNetwork::parse(text).status().message();
}

TEST(CostNetworkText, IsReadAsItIsPrinted) {
  CostNetwork network;
  network.variables = {{"the \"first\"", {{"a", 0}, {"b\\c", kForbidden}}},
                       {"line\nbreak", {{"", 7}}},
                       {"", {{"x", kLargestCost}, {"y", 0}}}};
  network.terms = {{{2, 0}, {1, 2, kForbidden, 4}}, {{1}, {5}}};
  std::string text =
      "variable 0 \"the \\\"first\\\"\": \"a\" 0, \"b\\\\c\" forbidden\n"
      "variable 1 \"line\\nbreak\": \"\" 7\n"
      "variable 2 \"\": \"x\" 4611686018427387903, \"y\" 0\n"
      "term 2 0: 1, 2, forbidden, 4\n"
      "term 1: 5\n";
  EXPECT_EQ(network.toString(), text);
  Result<CostNetwork> read = CostNetwork::parse(text);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->toString(), text);
  EXPECT_EQ(read->variables[0].alternatives[1].name, "b\\c");
  EXPECT_EQ(read->variables[1].name, "line\nbreak");
  EXPECT_EQ(read->terms[0].costs[2], kForbidden);
}

TEST(CostNetworkText, SpaceAndRemarks) {
  Result<CostNetwork> network = CostNetwork::parse(
      "# two\n\n  variable 0 \"a\" :\"x\" 1 ,\"y\" 2\r\n"
      "variable 1 \"b\": \"x\" 0\n   # joined\n term 0 1:0,3");
  ASSERT_TRUE(network.ok()) << network.status().message();
  EXPECT_EQ(network->toString(), "variable 0 \"a\": \"x\" 1, \"y\" 2\n"
                                 "variable 1 \"b\": \"x\" 0\n"
                                 "term 0 1: 0, 3\n");
  EXPECT_EQ(CostNetwork::parse("")->variables.size(), 0u);
}

TEST(CostNetworkText, MistakesAreNamedWithTheirLine) {
  std::string first = "variable 0 \"a\": \"x\" 1\n";
  EXPECT_EQ(messageOf("\nvalue 0"), "cost network: line 2: expected 'variable' "
                                    "or 'term', got 'value 0'");
  EXPECT_EQ(messageOf(first + "variable 0 \"b\": \"x\" 1"),
            "cost network: line 2: expected '1', got '0 \"b\": \"x\" 1'");
  EXPECT_EQ(messageOf("variable 0 a"),
            "cost network: line 1: expected a name in quotes, got 'a'");
  EXPECT_EQ(messageOf("variable 0 \"a"),
            "cost network: line 1: expected '\"', got its end");
  EXPECT_EQ(messageOf("variable 0 \"a\" \"x\" 1"),
            "cost network: line 1: expected ':', got '\"x\" 1'");
  EXPECT_EQ(messageOf("variable 0 \"a\": \"x\" much"),
            "cost network: line 1: expected a cost or 'forbidden', got 'much'");
  EXPECT_EQ(messageOf("variable 0 \"a\": \"x\" 9223372036854775808"),
            "cost network: line 1: expected a cost or 'forbidden', got "
            "'9223372036854775808'");
  EXPECT_EQ(messageOf("variable 0 \"a\": \"x\" 1 2"),
            "cost network: line 1: expected ',' or the line's end, got '2'");
  EXPECT_EQ(messageOf(first + "term 0 b: 1"),
            "cost network: line 2: expected a variable's number, got 'b: 1'");
  EXPECT_EQ(messageOf(first + "term 0:"), "cost network: line 2: expected a "
                                          "cost or 'forbidden', got its end");
  EXPECT_EQ(messageOf(first + "term 0: 1, 2"),
            "cost network: term 0 has 2 costs, expected one for each "
            "combination of its 1 variables");
}

} // namespace

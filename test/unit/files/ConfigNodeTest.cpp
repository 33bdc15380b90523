#include "runtime/files/ConfigNode.h"

#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

ConfigNode config(const std::string &text) {
  Result<ConfigNode> node = ConfigNode::parse(text, "config.json");
  EXPECT_TRUE(node.ok()) << messageOf(node);
  return node.ok() ? *node : ConfigNode();
}

} // namespace

TEST(ConfigNode, ReadsValuesOfEachKind) {
  ConfigNode node = config(R"({"i": 7, "f": 0.5, "b": true, "s": "text",
      "whole": 8.0, "l": [1, 2], "n": null, "o": {"x": 1}})");
  EXPECT_EQ(*node.integer("i"), 7);
  EXPECT_EQ(*node.integer("whole"), 8);
  EXPECT_EQ(*node.number("i"), 7.0);
  EXPECT_EQ(*node.number("f"), 0.5);
  EXPECT_TRUE(*node.boolean("b"));
  EXPECT_EQ(*node.string("s"), "text");
  EXPECT_EQ(*node.at("l")->asIntegers(), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(*node.at("o")->integer("x"), 1);
  EXPECT_EQ(node.keys().size(), 8u);
}

TEST(ConfigNode, TakesNullForAbsent) {
  ConfigNode node = config(R"({"head_dim": null})");
  EXPECT_FALSE(node.has("head_dim"));
  EXPECT_EQ(*node.integerOr("head_dim", 64), 64);
  EXPECT_EQ(*node.stringOr("act", "silu"), "silu");
  expectRefusal(node.integer("head_dim"),
                "config.json: the key 'head_dim' is missing");
}

TEST(ConfigNode, NamesFileKeyGotAndExpected) {
  ConfigNode node = config(
      R"({"rope_scaling": {"factor": "eight", "list": [1, "two"]},
          "heads": 2.5, "huge": 18446744073709551615, "on": 1})");
  ConfigNode rope = *node.at("rope_scaling");
  expectRefusal(rope.number("factor"),
                "config.json: rope_scaling.factor: expected a number, got "
                "string \"eight\"");
  expectRefusal(rope.at("list")->asIntegers(),
                "config.json: rope_scaling.list[1]: expected an integer, got "
                "string \"two\"");
  expectRefusal(node.integer("heads"), "expected an integer, got number 2.5");
  expectRefusal(node.integer("huge"), "expected an integer below 2^63");
  expectRefusal(node.boolean("on"), "expected true or false, got number 1");
  expectRefusal(node.integerOr("rope_scaling", 1),
                "rope_scaling: expected an integer, got an object");
  expectRefusal(node.at("heads")->at("x"),
                "heads: expected an object, got number 2.5");
}

TEST(ConfigNode, RefusesWhatIsNoJson) {
  expectRefusal(ConfigNode::parse("{\"a\": 1,}", "config.json"),
                "config.json: not valid JSON at line 1, column 9");
  expectRefusal(ConfigNode::parse("", "config.json"), "not valid JSON");
  expectRefusal(ConfigNode::parse("{\"a\": 1, \"a\": 2}", "config.json"),
                "config.json: the key 'a' stands twice");
}

TEST(ConfigNode, SetsValuesByPath) {
  ConfigNode before = config(R"({"heads": 8, "rope": null})");
  ConfigNode node = before;
  ASSERT_OK(node.set("heads", "4"));
  ASSERT_OK(node.set("rope.factor", "8.5"));
  ASSERT_OK(node.set("act", "silu"));
  EXPECT_EQ(*node.integer("heads"), 4);
  EXPECT_EQ(*node.at("rope")->number("factor"), 8.5);
  EXPECT_EQ(*node.string("act"), "silu");
  EXPECT_EQ(*before.integer("heads"), 8);
  expectRefusal(node.set("heads.x", "1"), "'heads.x' leads into number 4");
  expectRefusal(node.set("", "1"), "'' is no key path");
}

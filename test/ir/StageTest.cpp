// Stages: several functions of one entry that send to each other.

#include "test/ir/ReferenceModules.h"

#include "ir/reference/Compare.h"

#include "gtest/gtest.h"

using namespace tandem;
using namespace tandem::test;

namespace {

const char *oneStage = R"(
func.func @step(
    %x: tensor<4xf32> {tandem.input = "x"},
    %w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">},
    %s: tensor<4xf32> {tandem.state = "s", tandem.aliases = 1 : i64})
    -> (tensor<4xf32> {tandem.output = "y"}, tensor<4xf32>) {
  %0 = tandem.binary mul, %x, %w : tensor<4xf32>
  %1 = tandem.sum %0, %s : tensor<4xf32>
  return %1, %1 : tensor<4xf32>, tensor<4xf32>
})";

// Stage 0 multiplies, stage 1 adds; each half of the lanes on its own tp rank.
const char *twoStages = R"(
tandem.mesh @mesh = <["pp"=2, "tp"=2]>
!half = tensor<2xf32, #tandem.local<[4], @mesh, [{"tp"}]>>
func.func @step.pp0(
    %x: !half {tandem.input = "x"},
    %w: !half {tandem.parameter = #tandem.view<"w">})
    attributes {tandem.entry = "step", tandem.pp = 0 : i64} {
  %0 = tandem.binary mul, %x, %w : !half
  tandem.send %0 to 1 : !half
  return
}
func.func @step.pp1(%s: !half {tandem.state = "s", tandem.aliases = 1 : i64})
    -> (!half {tandem.output = "y"}, !half)
    attributes {tandem.entry = "step", tandem.pp = 1 : i64} {
  %0 = tandem.recv from 0 : !half
  %1 = tandem.sum %0, %s : !half
  return %1, %1 : !half, !half
})";

TEST(Stages, ComputeWhatOneFunctionDoes) {
  Fixture fixture;
  auto before = fixture.parse(oneStage);
  auto after = fixture.parse(twoStages);
  ASSERT_TRUE(before && after) << fixture.errors();
  EXPECT_EQ(entriesOf(*before), (std::vector<std::string>{"step"}));
  EXPECT_EQ(entriesOf(*after), (std::vector<std::string>{"step"}));
  Status status = compareModules(*before, *after);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Stages, ALostResultIsNamed) {
  Fixture fixture;
  auto before = fixture.parse(oneStage);
  auto after = fixture.parse(R"(
func.func @step(
    %x: tensor<4xf32> {tandem.input = "x"},
    %w: tensor<4xf32> {tandem.parameter = #tandem.view<"w">},
    %s: tensor<4xf32> {tandem.state = "s", tandem.aliases = 0 : i64})
    -> tensor<4xf32> {
  return %s : tensor<4xf32>
})");
  ASSERT_TRUE(before && after) << fixture.errors();
  Status status = compareModules(*before, *after);
  EXPECT_EQ(status.message(), "entry 'step' lost its result output:y");
}

std::string twoStageText(const std::string &first, const std::string &second) {
  return "tandem.mesh @mesh = <[\"pp\"=2]>\n"
         "!t = tensor<4xf32>\n"
         "func.func @a(%x: !t {tandem.input = \"x\"}) attributes {tandem.entry "
         "= \"f\", tandem.pp = 0 : i64} {\n" +
         first +
         "  return\n}\n"
         "func.func @b(%x: !t {tandem.input = \"x\"}) attributes {tandem.entry "
         "= \"f\", tandem.pp = 1 : i64} {\n" +
         second + "  return\n}\n";
}

std::string errorOf(const std::string &text) {
  return Fixture().errorOf(text, {{"input:x", random({4}, 1)}});
}

TEST(Stages, ThatWaitForEachOtherAreADeadlock) {
  std::string error = errorOf(twoStageText(
      "  %0 = tandem.recv from 1 : !t\n  tandem.send %x to 1 : !t\n",
      "  %0 = tandem.recv from 0 : !t\n  tandem.send %x to 0 : !t\n"));
  EXPECT_NE(error.find("'tandem.recv' op waits forever: stages wait for each "
                       "other"),
            std::string::npos)
      << error;
  EXPECT_NE(error.find("note: b waits at 'tandem.recv'"), std::string::npos)
      << error;
}

TEST(Stages, ASendThatNobodyTakesIsAnError) {
  std::string error = errorOf(twoStageText(
      "  tandem.send %x to 1 : !t\n", "  %0 = tandem.unary neg, %x : !t\n"));
  EXPECT_NE(error.find("'tandem.send' op of rank 0 to rank 1 is never "
                       "received"),
            std::string::npos)
      << error;
}

TEST(Stages, AReceiveOfAnotherTypeIsAnError) {
  std::string error =
      errorOf(twoStageText("  tandem.send %x to 1 : !t\n",
                           "  %0 = tandem.recv from 0 : tensor<5xf32>\n"));
  EXPECT_NE(error.find("'tandem.recv' op receives 'tensor<4xf32>'"),
            std::string::npos)
      << error;
}

TEST(Stages, APeerThatDoesNotExistIsAnError) {
  std::string error = errorOf(twoStageText("  tandem.send %x to 2 : !t\n", ""));
  EXPECT_NE(error.find("'tandem.send' op peer is 2, expected 0 to 1"),
            std::string::npos)
      << error;
}

TEST(Stages, MessagesBetweenTwoRanksKeepTheirOrder) {
  Fixture fixture;
  auto before = fixture.parse(R"(
func.func @f(%x: tensor<4xf32> {tandem.input = "x"}) -> (tensor<4xf32> {tandem.output = "y"}) {
  %0 = tandem.unary exp, %x : tensor<4xf32>
  %1 = tandem.binary sub, %x, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
})");
  auto after = fixture.parse(R"(
tandem.mesh @mesh = <["pp"=2]>
!t = tensor<4xf32>
func.func @a(%x: !t {tandem.input = "x"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  tandem.send %x to 1 : !t
  %0 = tandem.unary exp, %x : !t
  tandem.send %0 to 1 : !t
  return
}
func.func @b() -> (!t {tandem.output = "y"}) attributes {tandem.entry = "f", tandem.pp = 1 : i64} {
  %0 = tandem.recv from 0 : !t
  %1 = tandem.recv from 0 : !t
  %2 = tandem.binary sub, %0, %1 : !t
  return %2 : !t
})");
  ASSERT_TRUE(before && after) << fixture.errors();
  Status status = compareModules(*before, *after);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Stages, MeetInACollectiveOverPp) {
  Fixture fixture;
  auto before = fixture.parse(R"(
func.func @f(%x: tensor<4xf32> {tandem.input = "x"}) -> (tensor<4xf32> {tandem.output = "y"}) {
  %0 = tandem.unary exp, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
})");
  auto after = fixture.parse(R"(
tandem.mesh @mesh = <["pp"=2]>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
func.func @a() -> (!t {tandem.output = "y"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %0 = tandem.constant dense<0.0> : tensor<4xf32> -> !t
  %1 = tandem.broadcast %0 over <"pp"> root 1 cause "output" : (!t) -> !t
  return %1 : !t
}
func.func @b(%x: !t {tandem.input = "x"}) -> (!t {tandem.output = "y"}) attributes {tandem.entry = "f", tandem.pp = 1 : i64} {
  %0 = tandem.unary exp, %x : !t
  %1 = tandem.broadcast %0 over <"pp"> root 1 cause "output" : (!t) -> !t
  return %1 : !t
})");
  ASSERT_TRUE(before && after) << fixture.errors();
  Status status = compareModules(*before, *after);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Stages, ACollectiveOverPpNeedsEveryStage) {
  std::string error = errorOf(R"(
tandem.mesh @mesh = <["pp"=2]>
!t = tensor<4xf32, #tandem.local<[4], @mesh, [{}]>>
func.func @a(%x: !t {tandem.input = "x"}) -> (!t {tandem.output = "y"}) attributes {tandem.entry = "f", tandem.pp = 0 : i64} {
  %1 = tandem.broadcast %x over <"pp"> root 0 cause "output" : (!t) -> !t
  return %1 : !t
}
func.func @b() attributes {tandem.entry = "f", tandem.pp = 1 : i64} {
  return
})");
  EXPECT_NE(error.find("'tandem.broadcast' op rank 1 of its group takes no "
                       "part"),
            std::string::npos)
      << error;
}

} // namespace

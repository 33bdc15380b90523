// Collectives move values about and never change them: whatever comes in
// global comes out global.

#include "test/ir/ReferenceModules.h"

#include "ir/reference/Compare.h"

#include "gtest/gtest.h"

using namespace tandem;
using namespace tandem::test;

namespace {

struct CollectiveCase {
  const char *name;
  const char *from, *to; ///< Layouts of a 7x10 tensor.
  const char *operation;
};

// Sizes are uneven on purpose: 7 over 2 is 4 and 3, 10 over (2, 2) is 3 2 3 2.
const CollectiveCase cases[] = {
    {"all_reduce", R"([{}, {"y"}], unreduced={"x"})", R"([{}, {"y"}])",
     R"(all_reduce %0 over <"x"> cause "test")"},
    {"all_reduce_max", R"([{}, {}], unreduced={"x"}, max)", "[{}, {}]",
     R"(all_reduce %0 over <"x"> cause "test")"},
    {"all_reduce_two", R"([{}, {}], unreduced={"x", "y"})", "[{}, {}]",
     R"(all_reduce %0 over <"x", "y"> cause "test")"},
    {"all_gather", R"([{"x"}, {"y"}])", R"([{}, {"y"}])",
     R"(all_gather %0 over <"x"> dim 0 cause "test")"},
    {"all_gather_minor", R"([{}, {"x", "y"}])", R"([{}, {"x"}])",
     R"(all_gather %0 over <"y"> dim 1 cause "test")"},
    {"all_gather_both", R"([{}, {"x", "y"}])", "[{}, {}]",
     R"(all_gather %0 over <"x", "y"> dim 1 cause "test")"},
    {"reduce_scatter", R"([{}, {"x"}], unreduced={"y"})", R"([{}, {"x", "y"}])",
     R"(reduce_scatter %0 over <"y"> dim 1 cause "test")"},
    {"all_to_all", R"([{"x"}, {}])", R"([{}, {"x"}])",
     R"(all_to_all %0 over <"x"> from 0 to 1 cause "test")"},
    {"all_slice", R"([{"x"}, {}])", R"([{"x", "y"}, {}])",
     R"(all_slice %0 over <"y"> dim 0 cause "test")"},
    {"permute", R"([{"x", "y"}, {}])", R"([{"y", "x"}, {}])",
     R"(permute %0 over <"x", "y"> cause "test")"},
    {"broadcast", R"([{"x"}, {}])", R"([{"x"}, {}])",
     R"(broadcast %0 over <"y"> root 1 cause "test")"},
};

std::string localText(int64_t rows, int64_t columns, const char *layout) {
  return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) +
         "xf32, #tandem.local<[7, 10], @mesh, " + layout + ">>";
}

/// The local type: capacities are what the layout's axes leave of 7x10.
std::string typeText(const std::string &layout) {
  size_t comma = layout.find("}, {");
  auto capacity = [&](int64_t size, const std::string &axes) {
    for (char c : axes)
      if (c == 'x' || c == 'y')
        size = (size + 1) / 2;
    return size;
  };
  size_t end = layout.find(']');
  return localText(capacity(7, layout.substr(0, comma)),
                   capacity(10, layout.substr(comma, end - comma)),
                   layout.c_str());
}

class Collectives : public testing::TestWithParam<CollectiveCase> {};

TEST_P(Collectives, KeepTheValue) {
  const CollectiveCase &c = GetParam();
  std::string from = typeText(c.from), to = typeText(c.to);
  Fixture fixture;
  auto module = fixture.parse(
      "tandem.mesh @mesh = <[\"x\"=2, \"y\"=2]>\nfunc.func @f(%0: " + from +
      ") -> " + to + " {\n  %1 = tandem." + c.operation + " : (" + from +
      ") -> " + to + "\n  return %1 : " + to + "\n}\n");
  ASSERT_TRUE(module) << fixture.errors();
  Tensor input = random({7, 10}, 3);
  auto results = evaluateEntry(*module, "f", {{"argument:0", input}});
  ASSERT_TRUE(succeeded(results)) << fixture.errors();
  expectEqual(results->at("result:0"), input);
}

INSTANTIATE_TEST_SUITE_P(
    All, Collectives, testing::ValuesIn(cases),
    [](const testing::TestParamInfo<CollectiveCase> &info) {
      return std::string(info.param.name);
    });

//===----------------------------------------------------------------------===//
// Around them
//===----------------------------------------------------------------------===//

const char *globalProduct = R"(
func.func @f(%0: tensor<3x7xf32>, %1: tensor<7x5xf32>) -> tensor<3x5xf32> {
  %2 = tandem.einsum "ab,bc->ac" %0, %1 : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  return %2 : tensor<3x5xf32>
})";

/// Seven over four ranks is 2 2 2 1: the last one's padding is not summed.
const char *splitProduct = R"(
tandem.mesh @mesh = <["x"=4]>
!a = tensor<3x2xf32, #tandem.local<[3, 7], @mesh, [{}, {"x"}]>>
!b = tensor<2x5xf32, #tandem.local<[7, 5], @mesh, [{"x"}, {}]>>
!terms = tensor<3x5xf32, #tandem.local<[3, 5], @mesh, [{}, {}], unreduced={"x"}>>
!whole = tensor<3x5xf32, #tandem.local<[3, 5], @mesh, [{}, {}]>>
func.func @f(%0: !a, %1: !b) -> !whole {
  %2 = tandem.einsum "ab,bc->ac" %0, %1 : (!a, !b) -> !terms
  %3 = tandem.all_reduce %2 over <"x"> cause "einsum" : (!terms) -> !whole
  return %3 : !whole
})";

TEST(Lockstep, TermsOfAllRanksAreSummed) {
  Fixture fixture;
  auto before = fixture.parse(globalProduct);
  auto after = fixture.parse(splitProduct);
  ASSERT_TRUE(before && after) << fixture.errors();
  Status status = compareModules(*before, *after);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Lockstep, ADroppedAllReduceIsADisagreement) {
  // The types lie: what is called whole are terms still.
  Fixture fixture;
  auto before = fixture.parse(globalProduct);
  auto after = fixture.parse(R"(
tandem.mesh @mesh = <["x"=4]>
!a = tensor<3x2xf32, #tandem.local<[3, 7], @mesh, [{}, {"x"}]>>
!b = tensor<2x5xf32, #tandem.local<[7, 5], @mesh, [{"x"}, {}]>>
!whole = tensor<3x5xf32, #tandem.local<[3, 5], @mesh, [{}, {}]>>
func.func @f(%0: !a, %1: !b) -> !whole {
  %2 = tandem.einsum "ab,bc->ac" %0, %1 : (!a, !b) -> !whole
  return %2 : !whole
})");
  ASSERT_TRUE(before && after) << fixture.errors();
  Status status = compareModules(*before, *after);
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.message().find("of result:0, another rank"),
            std::string::npos)
      << status.message();
}

TEST(Lockstep, AWrongValueIsNamed) {
  Fixture fixture;
  auto before = fixture.parse(globalProduct);
  auto after = fixture.parse(R"(
func.func @f(%0: tensor<3x7xf32>, %1: tensor<7x5xf32>) -> tensor<3x5xf32> {
  %2 = tandem.einsum "ab,bc->ac" %0, %1 : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  %3 = tandem.unary neg, %2 : tensor<3x5xf32>
  return %3 : tensor<3x5xf32>
})");
  ASSERT_TRUE(before && after) << fixture.errors();
  Status status = compareModules(*before, *after);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.message().find("entry 'f': element 0 of result:0 is "), 0u)
      << status.message();
}

TEST(Lockstep, AnAnnotationIsTheIdentity) {
  Fixture fixture;
  auto module = fixture.parse(R"(
tandem.mesh @mesh = <["x"=2]>
func.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = tandem.sharding_constraint %0 {sharding = #tandem.sharding<@mesh, [{"x"}]>} : tensor<4xf32>
  %2 = tandem.reshard %1 {sharding = #tandem.sharding<@mesh, [{}]>, cause = "output"} : tensor<4xf32>
  return %2 : tensor<4xf32>
})");
  ASSERT_TRUE(module) << fixture.errors();
  Tensor input = random({4}, 1);
  auto results = evaluateEntry(*module, "f", {{"argument:0", input}});
  ASSERT_TRUE(succeeded(results)) << fixture.errors();
  expectEqual(results->at("result:0"), input);
}

TEST(Lockstep, InputsAreCheckedByNameAndSize) {
  Fixture fixture;
  auto module =
      fixture.parse("func.func @f(%0: tensor<4xf32> {tandem.input = \"x\"}) -> "
                    "(tensor<4xf32> {tandem.output = \"y\"}) {\n"
                    "  return %0 : tensor<4xf32>\n}");
  ASSERT_TRUE(module) << fixture.errors();
  EXPECT_TRUE(failed(evaluateEntry(*module, "f", {})));
  EXPECT_NE(fixture.errors().find("has no value for its argument input:x"),
            std::string::npos)
      << fixture.errors();
  EXPECT_TRUE(
      failed(evaluateEntry(*module, "f", {{"input:x", random({5}, 1)}})));
  EXPECT_NE(fixture.errors().find("got 5 elements for its argument input:x, "
                                  "expected 4"),
            std::string::npos)
      << fixture.errors();
  EXPECT_TRUE(failed(evaluateEntry(*module, "g", {})));
  EXPECT_NE(fixture.errors().find("has no entry 'g'"), std::string::npos);
  auto good = evaluateEntry(*module, "f", {{"input:x", random({4}, 1)}});
  ASSERT_TRUE(succeeded(good));
  EXPECT_EQ(good->count("output:y"), 1u);
}

TEST(Lockstep, AnOperationWithoutMeaningIsAnError) {
  Fixture fixture;
  auto module = fixture.parse(R"(
func.func private @g(tensor<4xf32>) -> tensor<4xf32>
func.func @f(%0: tensor<4xf32>) -> tensor<4xf32> {
  %1 = func.call @g(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
})");
  ASSERT_TRUE(module) << fixture.errors();
  EXPECT_TRUE(
      failed(evaluateEntry(*module, "f", {{"argument:0", random({4}, 1)}})));
  EXPECT_NE(fixture.errors().find(
                "'func.call' op has no meaning for the reference evaluator"),
            std::string::npos)
      << fixture.errors();
}

TEST(Lockstep, ALaneThatNobodyHoldsIsAnError) {
  // Unverified: what is over x and y is not whole when gathered over y.
  std::string error = Fixture().errorOf(R"(
tandem.mesh @mesh = <["x"=2, "y"=2]>
!quarter = tensor<2xf32, #tandem.local<[8], @mesh, [{"x", "y"}]>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
func.func @f(%0: !quarter) -> !whole {
  %1 = tandem.all_gather %0 over <"y"> dim 0 cause "test" : (!quarter) -> !whole
  return %1 : !whole
})",
                                        {{"argument:0", random({8}, 1)}},
                                        /*verify=*/false);
  EXPECT_NE(error.find("'tandem.all_gather' op needs lanes that no rank of "
                       "its group holds"),
            std::string::npos)
      << error;
}

TEST(Lockstep, OperandsHoldTheSameLanesOfALetter) {
  std::string error = Fixture().errorOf(
      R"(
tandem.mesh @mesh = <["x"=2]>
!half = tensor<4xf32, #tandem.local<[8], @mesh, [{"x"}]>>
!whole = tensor<8xf32, #tandem.local<[8], @mesh, [{}]>>
!scalar = tensor<f32, #tandem.local<[], @mesh, []>>
func.func @f(%0: !half, %1: !whole) -> !scalar {
  %2 = tandem.einsum "a,a->" %0, %1 : (!half, !whole) -> !scalar
  return %2 : !scalar
})",
      {{"argument:0", random({8}, 1)}, {"argument:1", random({8}, 2)}});
  EXPECT_NE(error.find("'tandem.einsum' op operands hold different lanes of a "
                       "letter"),
            std::string::npos)
      << error;
}

TEST(Lockstep, AReshapeKeepsPiecesOnlyWhereBoundariesAgree) {
  // Six rows over four ranks are 2 2 2 0, 24 elements 6 each.
  std::string error = Fixture().errorOf(R"(
tandem.mesh @mesh = <["x"=4]>
!rows = tensor<2x4xf32, #tandem.local<[6, 4], @mesh, [{"x"}, {}]>>
!flat = tensor<6xf32, #tandem.local<[24], @mesh, [{"x"}]>>
func.func @f(%0: !rows) -> !flat {
  %1 = tandem.reshape %0 : (!rows) -> !flat
  return %1 : !flat
})",
                                        {{"argument:0", random({6, 4}, 1)}});
  EXPECT_NE(error.find("'tandem.reshape' op a rank holds 8 elements of the "
                       "operand and 6 of the result"),
            std::string::npos)
      << error;
}

TEST(Lockstep, AnEntryHasABodyOfOneBlock) {
  std::string error =
      Fixture().errorOf("func.func private @f() -> tensor<4xf32>", {});
  EXPECT_NE(error.find("'func.func' op has no body of one block"),
            std::string::npos)
      << error;
}

} // namespace

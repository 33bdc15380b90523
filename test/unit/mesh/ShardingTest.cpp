#include "runtime/mesh/Sharding.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

const Mesh &testMesh() {
  static const Mesh mesh = *Mesh::parse("x=2,y=3,tp=4");
  return mesh;
}

Sharding parsed(const char *text) { return *parseSharding(text, testMesh()); }
AxisList axes(const char *text) {
  return parsed((std::string("[{") + text + "}]").c_str()).dims[0].axes;
}

TEST(Extent, TheHeadersExample) {
  Mesh mesh = *Mesh::parse("x=2,y=2");
  AxisList both = {{"x", 1, 2}, {"y", 1, 2}};
  int64_t begins[] = {0, 3, 5, 8}, sizes[] = {3, 2, 3, 2};
  for (int64_t rank = 0; rank < 4; ++rank) {
    Extent extent = extentOf(10, both, mesh, rank);
    EXPECT_EQ(extent.begin, begins[rank]);
    EXPECT_EQ(extent.size, sizes[rank]);
    EXPECT_EQ(extent.capacity, 3);
  }
}

/// Every element belongs to exactly one position, in order, for sizes from 0.
TEST(Extent, PiecesTileTheDimension) {
  for (const char *text :
       {"", R"("tp")", R"("x", "y")", R"("y", "x")", R"("tp", "x", "y")",
        R"("tp":(1)2, "tp":(2)2)", R"("tp":(2)2, "x", "tp":(1)2)"}) {
    AxisList list = axes(text);
    for (int64_t size = 0; size <= 60; ++size) {
      int64_t at = 0;
      bool padded = false;
      for (int64_t position = 0; position < sizeOf(list); ++position) {
        int64_t rank = testMesh().withCoordinate(5, list, position);
        Extent extent = extentOf(size, list, testMesh(), rank);
        EXPECT_EQ(extent.begin, at) << text << " of " << size;
        EXPECT_EQ(extent.capacity, capacityOf(size, list));
        EXPECT_LE(extent.size, extent.capacity);
        EXPECT_GE(extent.size, 0);
        padded |= extent.size != extent.capacity;
        at += extent.size;
      }
      EXPECT_EQ(at, size);
      EXPECT_EQ(isPadded(size, list), padded) << text << " of " << size;
    }
  }
}

/// Dropping the last axis joins neighbours and touches no one else.
TEST(Extent, MinorAxesGatherLocally) {
  AxisList all = axes(R"("x", "y", "tp")");
  AxisList most = axes(R"("x", "y")");
  for (int64_t size = 0; size <= 60; ++size)
    for (int64_t rank = 0; rank < testMesh().numRanks(); ++rank) {
      Extent joined = extentOf(size, most, testMesh(), rank);
      int64_t total = 0;
      for (int64_t member :
           testMesh().groupRanks(rank, {testMesh().whole("tp")})) {
        Extent piece = extentOf(size, all, testMesh(), member);
        EXPECT_EQ(piece.begin, joined.begin + total);
        total += piece.size;
      }
      EXPECT_EQ(total, joined.size);
    }
}

TEST(Sharding, SameSplitIsWhatExtentsSay) {
  const char *lists[] = {R"("tp")",
                         R"("tp":(1)2, "tp":(2)2)",
                         R"("x", "tp")",
                         R"("x", "tp":(1)2, "tp":(2)2)",
                         R"("tp":(1)2, "tp":(2)2, "y")",
                         R"("tp", "y")"};
  for (const char *a : lists)
    for (const char *b : lists)
      for (int64_t size = 1; size <= 60; ++size) {
        bool same = true;
        for (int64_t rank = 0; rank < testMesh().numRanks(); ++rank) {
          Extent left = extentOf(size, axes(a), testMesh(), rank);
          Extent right = extentOf(size, axes(b), testMesh(), rank);
          same = same && left.size == right.size &&
                 (left.size == 0 || left.begin == right.begin);
        }
        // It may refuse what happens to agree, never the other way round.
        bool said = sameSplit(size, axes(a), axes(b));
        EXPECT_TRUE(!said || same) << a << " and " << b << " of " << size;
        EXPECT_TRUE(said || !same || size % 24 != 0);
      }
  EXPECT_FALSE(sameSplit(10, axes(R"("tp")"), axes(R"("tp":(1)2, "tp":(2)2)")));
  // Only what is spelled differently needs to be even.
  EXPECT_TRUE(
      sameSplit(4, axes(R"("tp", "y")"), axes(R"("tp":(1)2, "tp":(2)2, "y")")));
}

TEST(Sharding, PrintsWhatItParses) {
  for (const char *text : {"[]", "[{}]", R"([{"x"}, {?}, {"tp", ?}])",
                           R"([{"tp":(1)2}p1, {"x", "y"}p3])",
                           R"([{}, {"y"}], replicated={"tp"}, unreduced={"x"})",
                           R"([{}], unreduced={"tp":(2)2, "x"})"})
    EXPECT_EQ(toString(parsed(text), testMesh()), text);
  EXPECT_EQ(toString(parsed(R"( [ { "x" , ? }p2 ,{}] )"), testMesh()),
            R"([{"x", ?}p2, {}])");
}

TEST(Sharding, SaysWhereTextIsWrong) {
  auto refusal = [](const char *text) {
    return parseSharding(text, testMesh()).status().message();
  };
  const std::string hint = "; expected one {...} for each dimension, such as "
                           "[{\"tp\"}, {}]";
  EXPECT_EQ(refusal("{}"), "sharding '{}': expected '[' at column 1" + hint);
  EXPECT_EQ(refusal("[{}"), "sharding '[{}': expected ',' at column 4" + hint);
  EXPECT_EQ(refusal("[{tp}]"),
            "sharding '[{tp}]': expected '\"' at column 3" + hint);
  EXPECT_EQ(refusal("[{\"tp}]"),
            "sharding '[{\"tp}]': an axis name has no closing quote at column "
            "4" +
                hint);
  EXPECT_EQ(refusal("[{}] x"),
            "sharding '[{}] x': unexpected text at column 6" + hint);
  EXPECT_EQ(refusal("[{\"tp\":(a)2}]"),
            "sharding '[{\"tp\":(a)2}]': expected a number at column 9" + hint);
  EXPECT_EQ(refusal("[{}], foo={}"),
            "sharding '[{}], foo={}': expected 'replicated=' or 'unreduced=' "
            "at column 7" +
                hint);
}

TEST(Sharding, CheckNamesTheMistake) {
  auto refusal = [](const char *text, size_t rank) {
    return check(parsed(text), rank, testMesh()).message();
  };
  EXPECT_EQ(refusal("[{}]", 2), "sharding has 1 dimensions, the tensor has 2");
  EXPECT_EQ(refusal(R"([{"dp"}])", 1),
            "unknown axis \"dp\"; the mesh is x=2,y=3,tp=4");
  EXPECT_EQ(refusal(R"([{"tp":(1)3}])", 1),
            "axis \"tp\":(1)3 is no part of an axis of size 4");
  EXPECT_EQ(refusal(R"([{"x"}, {"x"}])", 2), "axis \"x\" is used twice");
  EXPECT_EQ(refusal(R"([{"x"}], unreduced={"x"})", 1),
            "axis \"x\" is used twice");
  EXPECT_EQ(refusal(R"([{"tp":(1)2, "tp"}])", 1), "axis \"tp\" is used twice");
  EXPECT_TRUE(
      check(parsed(R"([{"tp":(1)2}, {"tp":(2)2}])"), 2, testMesh()).ok());
}

TEST(Sharding, SameLayoutIgnoresSpelling) {
  EXPECT_TRUE(parsed(R"([{"tp"}])")
                  .sameLayout(parsed(R"([{"tp":(1)2, "tp":(2)2, ?}p1])")));
  EXPECT_FALSE(parsed(R"([{"tp"}])").sameLayout(parsed("[{}]")));
  EXPECT_FALSE(parsed("[{}]").sameLayout(parsed("[{}, {}]")));
  EXPECT_TRUE(parsed(R"([{}], unreduced={"x", "tp"})")
                  .sameLayout(parsed(R"([{}], unreduced={"tp", "x"})")));
  EXPECT_TRUE(parsed(R"([{}], replicated={"x"})").isReplicated());
  EXPECT_FALSE(parsed(R"([{}], unreduced={"x"})").isReplicated());
}

TEST(Sharding, AxesOfSizeOneSplitNothing) {
  Mesh mesh = *Mesh::parse("x=1,y=2");
  Sharding one = *parseSharding(R"([{"x", "y"}], unreduced={})", mesh);
  Sharding none = *parseSharding(R"([{"y"}])", mesh);
  EXPECT_TRUE(one.sameLayout(none));
  EXPECT_TRUE(sameSplit(3, one.dims[0].axes, none.dims[0].axes));
  EXPECT_TRUE(parseSharding(R"([{}], unreduced={"x"})", mesh)
                  ->sameLayout(*parseSharding("[{}]", mesh)));
}

TEST(Sharding, LocalShapesAreCapacities) {
  EXPECT_EQ(localShape({7, 10, 5}, parsed(R"([{"x"}, {"y", "tp"}, {}])")),
            std::vector<int64_t>({4, 1, 5}));
  EXPECT_EQ(localShape({0}, parsed(R"([{"x"}])")), std::vector<int64_t>({0}));
}

} // namespace
} // namespace tandem

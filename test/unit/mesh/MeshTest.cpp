#include "runtime/mesh/Mesh.h"

#include <gtest/gtest.h>
#include <set>

namespace tandem {
namespace {

Mesh mesh(const char *text) { return *Mesh::parse(text); }

std::string refusal(const char *text) {
  return Mesh::parse(text).status().message();
}

TEST(Mesh, ParsesAndPrints) {
  EXPECT_EQ(mesh("pp=2,tp=4").toString(), "pp=2,tp=4");
  EXPECT_EQ(mesh("pp=2,tp=4").numRanks(), 8);
  EXPECT_EQ(mesh("").numRanks(), 1);
  EXPECT_EQ(mesh("").toString(), "");
  EXPECT_EQ(mesh("a_1=1").sizeOf("a_1"), 1);
  EXPECT_EQ(mesh("tp=4").sizeOf("dp"), 1);
  EXPECT_FALSE(mesh("tp=4").has("dp"));
}

TEST(Mesh, SaysWhatIsWrong) {
  const std::string hint = "; expected NAME=SIZE,... such as pp=2,tp=4";
  EXPECT_EQ(refusal("tp"), "mesh 'tp': 'tp' has no '='" + hint);
  EXPECT_EQ(refusal("tp=2,"), "mesh 'tp=2,': it ends with a comma" + hint);
  EXPECT_EQ(refusal(",tp=2"), "mesh ',tp=2': '' has no '='" + hint);
  EXPECT_EQ(refusal("tp=0"),
            "mesh 'tp=0': the size of axis 'tp' is 0, below 1" + hint);
  EXPECT_EQ(refusal("tp=-3"),
            "mesh 'tp=-3': the size of axis 'tp' is -3, below 1" + hint);
  EXPECT_EQ(refusal("tp=two"),
            "mesh 'tp=two': the size of axis 'tp' is 'two', not a number" +
                hint);
  EXPECT_EQ(refusal("tp=2 "),
            "mesh 'tp=2 ': the size of axis 'tp' is '2 ', not a number" + hint);
  EXPECT_EQ(refusal("2tp=2"), "mesh '2tp=2': '2tp' is no axis name" + hint);
  EXPECT_EQ(refusal("tp=2,tp=2"),
            "mesh 'tp=2,tp=2': axis 'tp' is named twice" + hint);
  EXPECT_EQ(refusal("a=65536,b=65536"),
            "mesh 'a=65536,b=65536': axis 'b' of size 65536 makes more than "
            "2^31 ranks" +
                hint);
  EXPECT_EQ(refusal("a=99999999999999999999"),
            "mesh 'a=99999999999999999999': the size of axis 'a' is "
            "'99999999999999999999', not a number" +
                hint);
  EXPECT_EQ(Mesh::parse("tp").status().exitCode(), 2);
}

TEST(Mesh, RanksAreRowMajor) {
  Mesh m = mesh("pp=2,dp=3,tp=4");
  for (int64_t pp = 0, rank = 0; pp < 2; ++pp)
    for (int64_t dp = 0; dp < 3; ++dp)
      for (int64_t tp = 0; tp < 4; ++tp, ++rank) {
        EXPECT_EQ(m.coordinate(rank, m.whole("pp")), pp);
        EXPECT_EQ(m.coordinate(rank, m.whole("dp")), dp);
        EXPECT_EQ(m.coordinate(rank, m.whole("tp")), tp);
        EXPECT_EQ(m.coordinate(rank, AxisRef{"tp", 1, 2}), tp / 2);
        EXPECT_EQ(m.coordinate(rank, AxisRef{"tp", 2, 2}), tp % 2);
        EXPECT_EQ(m.coordinate(rank, {m.whole("tp"), m.whole("pp")}),
                  tp * 2 + pp);
      }
}

TEST(Mesh, WithCoordinateMovesAlongTheAxesOnly) {
  Mesh m = mesh("pp=2,dp=3,tp=4");
  AxisList axes = {{"tp", 2, 2}, {"pp", 1, 2}};
  for (int64_t rank = 0; rank < m.numRanks(); ++rank)
    for (int64_t position = 0; position < 4; ++position) {
      int64_t moved = m.withCoordinate(rank, axes, position);
      EXPECT_EQ(m.coordinate(moved, axes), position);
      EXPECT_EQ(m.coordinate(moved, m.whole("dp")),
                m.coordinate(rank, m.whole("dp")));
      EXPECT_EQ(m.coordinate(moved, AxisRef{"tp", 1, 2}),
                m.coordinate(rank, AxisRef{"tp", 1, 2}));
    }
}

TEST(Mesh, GroupsPartitionTheRanks) {
  Mesh m = mesh("pp=2,dp=3,tp=4");
  for (const AxisList &axes :
       {AxisList{}, AxisList{{"tp", 1, 4}}, AxisList{{"tp", 1, 2}},
        AxisList{{"tp", 2, 2}, {"dp", 1, 3}},
        AxisList{{"dp", 1, 3}, {"pp", 1, 2}, {"tp", 1, 4}}}) {
    std::multiset<int64_t> seen;
    for (int64_t rank = 0; rank < m.numRanks(); ++rank) {
      std::vector<int64_t> group = m.groupRanks(rank, axes);
      ASSERT_EQ(static_cast<int64_t>(group.size()), sizeOf(axes));
      EXPECT_EQ(group[m.coordinate(rank, axes)], rank);
      for (int64_t member : group)
        EXPECT_EQ(m.groupRanks(member, axes), group);
      seen.insert(group.begin(), group.end());
    }
    for (int64_t rank = 0; rank < m.numRanks(); ++rank)
      EXPECT_EQ(static_cast<int64_t>(seen.count(rank)), sizeOf(axes));
  }
}

TEST(Mesh, ContainsOnlyPartsThatDivide) {
  Mesh m = mesh("tp=12");
  EXPECT_TRUE(m.contains({"tp", 1, 12}));
  EXPECT_TRUE(m.contains({"tp", 4, 3}));
  EXPECT_FALSE(m.contains({"tp", 2, 4}));
  EXPECT_FALSE(m.contains({"tp", 1, 5}));
  EXPECT_FALSE(m.contains({"tp", 0, 2}));
  EXPECT_FALSE(m.contains({"tp", 1, -1}));
  EXPECT_FALSE(m.contains({"tp", int64_t(1) << 32, int64_t(1) << 32}));
  EXPECT_FALSE(m.contains({"dp", 1, 1}));
}

/// Two parts may be used side by side if a rank can be moved along each
/// without moving along the other.
TEST(AxisRef, OverlapsUnlessOneLiesBehindTheOther) {
  Mesh m = mesh("x=24");
  std::vector<AxisRef> parts;
  for (int64_t pre = 1; pre <= 24; ++pre)
    for (int64_t size = 2; size <= 24; ++size)
      if (m.contains({"x", pre, size}))
        parts.push_back({"x", pre, size});
  for (const AxisRef &a : parts)
    for (const AxisRef &b : parts) {
      bool isFree = true;
      for (int64_t rank = 0; rank < 24; ++rank)
        for (int64_t position = 0; position < a.size; ++position) {
          int64_t moved = m.withCoordinate(rank, {a}, position);
          isFree = isFree && moved >= 0 && moved < 24 &&
                   m.coordinate(moved, b) == m.coordinate(rank, b);
        }
      EXPECT_EQ(a.overlaps(b), !isFree)
          << toString(a, m) << " and " << toString(b, m);
      EXPECT_EQ(a.overlaps(b), b.overlaps(a));
    }
  EXPECT_FALSE((AxisRef{"x", 1, 4}).overlaps({"y", 1, 4}));
}

TEST(AxisList, MergesPartsInOrder) {
  EXPECT_EQ(merged({{"x", 1, 2}, {"x", 2, 2}}), AxisList({{"x", 1, 4}}));
  EXPECT_EQ(merged({{"x", 2, 2}, {"x", 1, 2}}),
            AxisList({{"x", 2, 2}, {"x", 1, 2}}));
  EXPECT_EQ(merged({{"x", 1, 2}, {"y", 1, 2}, {"x", 2, 2}}),
            AxisList({{"x", 1, 2}, {"y", 1, 2}, {"x", 2, 2}}));
}

TEST(AxisList, CommonPrefixSplitsParts) {
  AxisList x4 = {{"x", 1, 4}}, x2 = {{"x", 1, 2}};
  EXPECT_EQ(commonPrefix(x4, {{"x", 1, 2}, {"y", 1, 2}}), x2);
  EXPECT_EQ(commonPrefix({{"y", 1, 2}, {"x", 1, 4}}, {{"y", 1, 2}}),
            AxisList({{"y", 1, 2}}));
  EXPECT_EQ(commonPrefix(x4, {{"x", 2, 2}}), AxisList());
  EXPECT_EQ(commonPrefix({{"x", 1, 6}}, {{"x", 1, 4}}), AxisList());
  EXPECT_TRUE(isPrefix(x2, x4));
  EXPECT_FALSE(isPrefix(x4, x2));
  EXPECT_TRUE(isPrefix({}, x2));
  EXPECT_EQ(withoutPrefix(x4, x2), AxisList({{"x", 2, 2}}));
  EXPECT_EQ(withoutPrefix({{"x", 1, 4}, {"y", 1, 2}}, x2),
            AxisList({{"x", 2, 2}, {"y", 1, 2}}));
  EXPECT_EQ(withoutPrefix(x4, {{"x", 1, 2}, {"x", 2, 2}}), AxisList());
}

TEST(AxisRef, PrintsPartsOnly) {
  Mesh m = mesh("tp=4");
  EXPECT_EQ(toString(m.whole("tp"), m), "\"tp\"");
  EXPECT_EQ(toString({"tp", 2, 2}, m), "\"tp\":(2)2");
}

} // namespace
} // namespace tandem

#include "runtime/mesh/Collectives.h"
#include "SmallPlans.h"

#include <gtest/gtest.h>
#include <map>

namespace tandem {
namespace {

using test::sharding;

class Collectives : public ::testing::Test {
protected:
  Mesh mesh = *Mesh::parse("pp=2,x=2,y=3,tp=4");

  TensorType type(std::vector<int64_t> shape, const char *text) const {
    return {DType::F32, std::move(shape), sharding(text, mesh),
            ReductionKind::Sum};
  }
  AxisList axes(const char *text) const {
    return sharding((std::string("[{") + text + "}]").c_str(), mesh)
        .dims[0]
        .axes;
  }
  Collective collective(CollectiveKind kind, const char *over, size_t dim = 0,
                        size_t fromDim = 0) const {
    return {kind, axes(over), dim, fromDim, ReductionKind::Sum};
  }
  std::string derived(const Collective &c, const TensorType &from) const {
    Result<TensorType> to = resultType(c, from, mesh);
    return to.ok() ? to->toString(mesh) : to.status().message();
  }
};

TEST_F(Collectives, TypesOfResults) {
  using Kind = CollectiveKind;
  EXPECT_EQ(derived(collective(Kind::AllReduce, R"("tp")"),
                    type({4, 8}, R"([{"x"}, {}], unreduced={"tp"})")),
            R"(f32[4x8] [{"x"}, {}])");
  EXPECT_EQ(derived(collective(Kind::AllReduce, R"("tp":(2)2)"),
                    type({4}, R"([{}], unreduced={"tp", "x"})")),
            R"(f32[4] [{}], unreduced={"tp":(1)2, "x"})");
  EXPECT_EQ(derived(collective(Kind::AllGather, R"("y")", 1),
                    type({4, 8}, R"([{}, {"x", "y"}])")),
            R"(f32[4x8] [{}, {"x"}])");
  EXPECT_EQ(derived(collective(Kind::AllGather, R"("tp":(2)2)", 0),
                    type({8}, R"([{"tp"}])")),
            R"(f32[8] [{"tp":(1)2}])");
  EXPECT_EQ(derived(collective(Kind::ReduceScatter, R"("tp")", 1),
                    type({4, 9}, R"([{}, {"x"}], unreduced={"tp"})")),
            R"(f32[4x9] [{}, {"x", "tp"}])");
  EXPECT_EQ(derived(collective(Kind::AllToAll, R"("tp")", 0, 1),
                    type({4, 8}, R"([{"x"}, {"y", "tp"}])")),
            R"(f32[4x8] [{"x", "tp"}, {"y"}])");
  EXPECT_EQ(derived(collective(Kind::AllSlice, R"("tp")", 0),
                    type({5}, R"([{"x"}])")),
            R"(f32[5] [{"x", "tp"}])");
  EXPECT_EQ(derived(collective(Kind::Broadcast, R"("pp", "tp")"),
                    type({5}, R"([{}])")),
            R"(f32[5] [{}])");
}

TEST_F(Collectives, RefusesOperandsThatDoNotFit) {
  using Kind = CollectiveKind;
  EXPECT_EQ(
      derived(collective(Kind::AllReduce, R"("tp")"), type({4}, R"([{"x"}])")),
      R"(all_reduce over {"tp"} does not fit f32[4] [{"x"}]: )"
      "it is not unreduced over these axes");
  EXPECT_EQ(derived(collective(Kind::AllReduce, R"("x", "tp")"),
                    type({4}, R"([{}], unreduced={"tp"})")),
            R"(all_reduce over {"x", "tp"} does not fit f32[4] [{}], )"
            R"(unreduced={"tp"}: it is not unreduced over these axes)");
  Collective max = collective(Kind::AllReduce, R"("tp")");
  max.reduction = ReductionKind::Max;
  EXPECT_EQ(derived(max, type({4}, R"([{}], unreduced={"tp"})")),
            R"(all_reduce over {"tp"} does not fit f32[4] [{}], )"
            R"(unreduced={"tp"}: its terms combine otherwise)");
  EXPECT_EQ(derived(collective(Kind::AllGather, R"("x")"),
                    type({4}, R"([{"x", "y"}])")),
            R"(all_gather over {"x"} does not fit f32[4] [{"x", "y"}]: )"
            "dimension 0 is not split by these axes last");
  EXPECT_EQ(derived(collective(Kind::AllGather, R"("x")", 1),
                    type({4}, R"([{"x"}])")),
            R"(all_gather over {"x"} does not fit f32[4] [{"x"}]: )"
            "it has no dimension 1");
  EXPECT_EQ(derived(collective(Kind::AllSlice, R"("tp")", 0),
                    type({4}, R"([{}], unreduced={"tp"})")),
            R"(all_slice over {"tp"} does not fit f32[4] [{}], )"
            R"(unreduced={"tp"}: axis "tp" is used twice)");
  EXPECT_EQ(derived(collective(Kind::AllToAll, R"("tp")", 0, 0),
                    type({4}, R"([{"tp"}])")),
            R"(all_to_all over {"tp"} does not fit f32[4] [{"tp"}]: )"
            "it has no other dimension 0");
  // 10 over tp=4 lies as 3 3 3 1, which no two ranks join to 5.
  EXPECT_EQ(derived(collective(Kind::AllGather, R"("tp":(2)2)"),
                    type({10}, R"([{"tp"}])")),
            R"(all_gather over {"tp":(2)2} does not fit f32[10] [{"tp"}]: )"
            "the uneven pieces of dimension 0 do not join along a part of an "
            "axis");
  EXPECT_EQ(derived(collective(Kind::AllGather, R"("tp":(2)2)"),
                    type({10}, R"([{"tp":(1)2, "tp":(2)2}])")),
            R"(f32[10] [{"tp":(1)2}])");
}

TEST_F(Collectives, DeclaredResultMustBeTheDerivedOne) {
  Collective c = collective(CollectiveKind::AllReduce, R"("tp")");
  TensorType from = type({4}, R"([{}], unreduced={"tp", "x"})");
  EXPECT_TRUE(
      checkCollective(c, from, type({4}, R"([{}], unreduced={"x"})"), mesh)
          .ok());
  EXPECT_EQ(checkCollective(c, from, type({4}, "[{}]"), mesh).message(),
            R"(all_reduce over {"tp"} does not fit f32[4] [{}], )"
            R"(unreduced={"tp", "x"}: the result is declared f32[4] [{}], )"
            R"(it is f32[4] [{}], unreduced={"x"})");
}

/// What `rank` holds: begin and size of each dimension, nothing if empty.
std::vector<int64_t> holding(const TensorType &type, const Mesh &mesh,
                             int64_t rank) {
  std::vector<int64_t> piece;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    Extent extent =
        extentOf(type.shape[d], type.sharding.dims[d].axes, mesh, rank);
    if (extent.size == 0)
      return {};
    piece.push_back(extent.begin);
    piece.push_back(extent.size);
  }
  return piece;
}

/// Whether, in every group, each piece is wanted as often as it is held.
bool isPermutation(const Collective &c, const TensorType &from,
                   const TensorType &to, const Mesh &mesh) {
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    std::map<std::vector<int64_t>, int> balance;
    for (int64_t member : mesh.groupRanks(rank, c.axes)) {
      ++balance[holding(from, mesh, member)];
      --balance[holding(to, mesh, member)];
    }
    for (const auto &[piece, count] : balance)
      if (count != 0)
        return false;
  }
  return true;
}

TEST_F(Collectives, PermuteIsWhatRanksCanExchange) {
  const char *layouts[] = {
      R"([{"x"}, {}])",          R"([{}, {"x"}])",
      R"([{"x", "y"}, {}])",     R"([{"y", "x"}, {}])",
      R"([{"tp":(1)2}, {}])",    R"([{"tp":(2)2}, {}])",
      R"([{"x", "tp"}, {"y"}])", R"([{"tp", "x"}, {"y"}])",
      R"([{"x"}, {"tp":(1)2}])", R"([{"tp":(1)2}, {"x"}])",
      R"([{"x", "pp"}, {"y"}])", R"([{"x", "tp":(2)2}, {"y"}])",
  };
  const char *groups[] = {R"("x")", R"("x", "y")", R"("tp":(1)2, "x")",
                          R"("pp", "x", "y", "tp")", R"("tp")"};
  int accepted = 0;
  for (int64_t size : {12, 7})
    for (const char *a : layouts)
      for (const char *b : layouts)
        for (const char *group : groups) {
          Collective c = collective(CollectiveKind::Permute, group);
          TensorType from = type({size, 24}, a), to = type({size, 24}, b);
          if (!checkCollective(c, from, to, mesh).ok())
            continue;
          ++accepted;
          EXPECT_TRUE(isPermutation(c, from, to, mesh))
              << from.toString(mesh) << " -> " << to.toString(mesh) << " over "
              << group;
          EXPECT_EQ(from.localShape(), to.localShape());
        }
  EXPECT_GT(accepted, 50);
  // Swapping the axes of a dimension is one, if it divides evenly.
  Collective swap = collective(CollectiveKind::Permute, R"("x", "y")");
  EXPECT_TRUE(checkCollective(swap, type({12}, R"([{"x", "y"}])"),
                              type({12}, R"([{"y", "x"}])"), mesh)
                  .ok());
  EXPECT_FALSE(checkCollective(swap, type({7}, R"([{"x", "y"}])"),
                               type({7}, R"([{"y", "x"}])"), mesh)
                   .ok());
}

/// The pieces of a group, joined in its order, are its members' new piece.
TEST_F(Collectives, GatherJoinsPiecesEvenOrNot) {
  for (int64_t size = 1; size <= 40; ++size)
    for (const char *split :
         {R"("tp")", R"("x", "tp")", R"("y", "x")", R"("x", "y", "tp")",
          R"("x", "tp":(1)2, "tp":(2)2)"}) {
      TensorType from =
          type({size}, (std::string("[{") + split + "}]").c_str());
      AxisList last = {from.sharding.dims[0].axes.back()};
      Collective c{CollectiveKind::AllGather, last, 0, 0, ReductionKind::Sum};
      Result<TensorType> to = resultType(c, from, mesh);
      ASSERT_TRUE(to.ok()) << to.status().message();
      for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
        Extent whole = extentOf(size, to->sharding.dims[0].axes, mesh, rank);
        int64_t at = whole.begin, total = 0;
        for (int64_t member : mesh.groupRanks(rank, last)) {
          Extent piece =
              extentOf(size, from.sharding.dims[0].axes, mesh, member);
          EXPECT_TRUE(piece.size == 0 || piece.begin == at);
          at += piece.size;
          total += piece.size;
        }
        EXPECT_EQ(total, whole.size);
      }
    }
}

// The formulas of the assets' collectives table, with figures from it: gpt2
// tp8 infer is nine all-reduces of A = 8 * 128 * d * 4 bytes.
TEST_F(Collectives, WireBytesOfRings) {
  using Kind = CollectiveKind;
  const int64_t a = 8 * 128 * 256 * 4;
  EXPECT_EQ(9 * trafficOf(Kind::AllReduce, 8, a).wireBytes, 16515072);
  EXPECT_EQ(trafficOf(Kind::AllGather, 8, 100).wireBytes, 700);
  EXPECT_EQ(trafficOf(Kind::ReduceScatter, 4, 100).wireBytes, 75);
  EXPECT_EQ(trafficOf(Kind::AllToAll, 4, 100).wireBytes, 75);
  EXPECT_EQ(trafficOf(Kind::Permute, 4, 100).wireBytes, 100);
  EXPECT_EQ(trafficOf(Kind::Broadcast, 4, 100).wireBytes, 100);
  EXPECT_EQ(trafficOf(Kind::Send, 2, 100).wireBytes, 100);
  EXPECT_EQ(trafficOf(Kind::AllSlice, 4, 100).wireBytes, 0);
  EXPECT_EQ(trafficOf(Kind::AllReduce, 3, 100).wireBytes, 134); // 133.3
  EXPECT_EQ(trafficOf(Kind::AllReduce, 1, 100).wireBytes, 0);
  EXPECT_EQ(trafficOf(Kind::AllReduce, 8, 100).steps, 14);
  EXPECT_EQ(trafficOf(Kind::AllGather, 8, 100).steps, 7);
}

TEST_F(Collectives, WorkspaceOnlyWherePiecesAreCopied) {
  auto need = [&](const Collective &c, const TensorType &from) {
    return workspaceBytes(c, from, *resultType(c, from, mesh));
  };
  using Kind = CollectiveKind;
  // 10 elements in 4 pieces of 3.
  EXPECT_EQ(need(collective(Kind::AllReduce, R"("tp")"),
                 type({10}, R"([{}], unreduced={"tp"})")),
            48);
  Collective rows = collective(Kind::AllGather, R"("tp")", 0);
  EXPECT_EQ(need(rows, type({8, 5}, R"([{"tp"}, {}])")), 0);
  EXPECT_EQ(need(rows, type({7, 5}, R"([{"tp"}, {}])")), 4 * 2 * 5 * 4);
  Collective columns = collective(Kind::AllGather, R"("tp")", 1);
  EXPECT_EQ(need(columns, type({2, 8}, R"([{}, {"tp"}])")), 4 * 2 * 2 * 4);
  EXPECT_EQ(need(columns, type({1, 8}, R"([{}, {"tp"}])")), 0);
  EXPECT_EQ(need(columns, type({2, 8}, R"([{"x"}, {"tp"}])")), 0);
  Collective scatter = collective(Kind::ReduceScatter, R"("tp")", 1);
  EXPECT_EQ(need(scatter, type({2, 8}, R"([{}, {}], unreduced={"tp"})")),
            2 * 4 * 2 * 2 * 4);
  EXPECT_EQ(need(scatter, type({1, 8}, R"([{}, {}], unreduced={"tp"})")),
            4 * 2 * 4);
  // Rows are sent as they lie; columns that come must be put side by side.
  Collective turn = collective(Kind::AllToAll, R"("tp")", 0, 1);
  EXPECT_EQ(need(turn, type({8, 8}, R"([{}, {"tp"}])")), 4 * 2 * 2 * 4);
}

TEST_F(Collectives, OverOneRankNothingChanges) {
  mesh = *Mesh::parse("tp=1,x=2");
  TensorType whole = type({4}, "[{}]");
  for (CollectiveKind kind :
       {CollectiveKind::AllReduce, CollectiveKind::AllGather,
        CollectiveKind::AllSlice})
    EXPECT_TRUE(
        checkCollective(collective(kind, R"("tp")"), whole, whole, mesh).ok())
        << name(kind);
  EXPECT_TRUE(checkCollective(collective(CollectiveKind::AllReduce, R"("tp")"),
                              type({4}, R"([{}], unreduced={"tp"})"), whole,
                              mesh)
                  .ok());
}

TEST_F(Collectives, RemovingAxes) {
  EXPECT_EQ(withoutAxes(axes(R"("tp", "x")"), axes(R"("x")")), axes(R"("tp")"));
  EXPECT_EQ(withoutAxes(axes(R"("tp":(1)2, "x", "tp":(2)2)"), axes(R"("tp")")),
            axes(R"("x")"));
  EXPECT_EQ(withoutAxes(axes(R"("tp":(1)2)"), axes(R"("tp")")), std::nullopt);
  EXPECT_EQ(withoutSuffix(axes(R"("x", "tp")"), axes(R"("tp":(2)2)")),
            axes(R"("x", "tp":(1)2)"));
  EXPECT_EQ(
      withoutSuffix(axes(R"("x", "tp":(1)2, "tp":(2)2)"), axes(R"("tp")")),
      axes(R"("x")"));
  EXPECT_EQ(withoutSuffix(axes(R"("x", "tp")"), axes(R"("tp":(1)2)")),
            std::nullopt);
  EXPECT_EQ(withoutSuffix(axes(R"("tp":(2)2)"), axes(R"("tp")")), std::nullopt);
  EXPECT_EQ(withoutSuffix({}, axes(R"("tp")")), std::nullopt);
}

} // namespace
} // namespace tandem

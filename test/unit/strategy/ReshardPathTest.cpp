#include "passes/strategy/ReshardPath.h"

#include "gtest/gtest.h"

using namespace tandem;

namespace {

Mesh meshOf(const char *text) { return *Mesh::parse(text); }

TensorType typeOf(std::vector<int64_t> shape, const char *sharding,
                  const Mesh &mesh) {
  TensorType type;
  type.shape = std::move(shape);
  type.sharding = *parseSharding(sharding, mesh);
  return type;
}

std::vector<std::string> kindsOf(const ReshardPath &path) {
  std::vector<std::string> kinds;
  for (const ReshardStep &step : path.steps)
    kinds.push_back(name(step.collective.kind));
  return kinds;
}

/// Whether each step does what it says and the last ends at `to`; the bytes
/// are those of the table.
Status follow(const ReshardPath &path, const TensorType &from,
              const TensorType &to, const Mesh &mesh) {
  TensorType now = from;
  int64_t bytes = 0;
  for (const ReshardStep &step : path.steps) {
    TANDEM_TRY(checkCollective(step.collective, now, step.result, mesh));
    bytes += trafficOf(step.collective.kind, sizeOf(step.collective.axes),
                       now.localBytes())
                 .wireBytes;
    now = step.result;
  }
  if (now != to)
    return Status::refused("ends at " + now.toString(mesh));
  if (bytes != path.wireBytes)
    return Status::refused("states " + std::to_string(path.wireBytes) +
                           " bytes, moves " + std::to_string(bytes));
  return Status();
}

/// What gathering every split dimension and slicing anew costs.
int64_t gatherAll(TensorType type, const Mesh &mesh) {
  int64_t bytes = 0;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    AxisList axes = type.sharding.dims[d].axes;
    if (axes.empty())
      continue;
    Collective gather{CollectiveKind::AllGather, axes, d};
    bytes += trafficOf(gather.kind, sizeOf(axes), type.localBytes()).wireBytes;
    type = *resultType(gather, type, mesh);
  }
  return bytes;
}

/// Every way to split three dimensions by some of the mesh's axes.
std::vector<Sharding> allShardings(const Mesh &mesh) {
  std::vector<Sharding> result{Sharding::replicatedOver(3)};
  for (const Axis &axis : mesh.axes())
    for (size_t i = 0, count = result.size(); i < count; ++i)
      for (size_t d = 0; d < 3; ++d) {
        size_t places = result[i].dims[d].axes.size() + 1;
        for (size_t at = 0; at < places; ++at) {
          Sharding sharding = result[i];
          AxisList &axes = sharding.dims[d].axes;
          axes.insert(axes.begin() + at, mesh.whole(axis.name));
          result.push_back(std::move(sharding));
        }
      }
  return result;
}

void checkAllPairs(std::vector<int64_t> shape) {
  Mesh mesh = meshOf("x=2,y=3");
  std::vector<Sharding> shardings = allShardings(mesh);
  ASSERT_EQ(shardings.size(), 19u); // 1 + 3 + 3 + 3 * 3 + 3
  for (const Sharding &a : shardings)
    for (const Sharding &b : shardings) {
      TensorType from, to;
      from.shape = to.shape = shape;
      from.sharding = a;
      to.sharding = b;
      std::string what = from.toString(mesh) + " to " + to.toString(mesh);
      Result<ReshardPath> path = planReshard(from, to, mesh);
      ASSERT_TRUE(path.ok()) << what << ": " << path.status().message();
      Status status = follow(*path, from, to, mesh);
      EXPECT_TRUE(status.ok()) << what << ": " << status.message();
      EXPECT_LE(path->wireBytes, gatherAll(from, mesh)) << what;
      if (a == b) {
        EXPECT_TRUE(path->steps.empty()) << what;
      }
    }
}

TEST(ReshardPath, AllPairsOfAnEvenTensor) { checkAllPairs({12, 18, 6}); }

TEST(ReshardPath, AllPairsOfAnUnevenTensor) { checkAllPairs({7, 10, 5}); }

TEST(ReshardPath, ReductionsOntoEveryLayout) {
  Mesh mesh = meshOf("x=2,y=3");
  for (const char *terms : {R"([{}, {}, {}], unreduced={"x"})",
                            R"([{}, {"y"}, {}], unreduced={"x"})",
                            R"([{}, {}, {}], unreduced={"x", "y"})"})
    for (const Sharding &goal : allShardings(mesh)) {
      TensorType from = typeOf({12, 18, 6}, terms, mesh), to = from;
      to.sharding = goal;
      std::string what = from.toString(mesh) + " to " + to.toString(mesh);
      Result<ReshardPath> path = planReshard(from, to, mesh);
      ASSERT_TRUE(path.ok()) << what << ": " << path.status().message();
      Status status = follow(*path, from, to, mesh);
      EXPECT_TRUE(status.ok()) << what << ": " << status.message();
      // Reducing first and gathering what is split costs no less.
      Collective reduce{CollectiveKind::AllReduce, from.sharding.unreduced};
      int64_t naive =
          trafficOf(reduce.kind, sizeOf(reduce.axes), from.localBytes())
              .wireBytes +
          gatherAll(*resultType(reduce, from, mesh), mesh);
      EXPECT_LE(path->wireBytes, naive) << what;
    }
}

TEST(ReshardPath, AxesThatMoveToOtherDimensionsAreExchanged) {
  Mesh mesh = meshOf("x=4,y=2");
  TensorType from = typeOf({16, 16, 16}, R"([{"y"}, {}, {"x"}])", mesh);
  TensorType to = typeOf({16, 16, 16}, R"([{}, {"x", "y"}, {}])", mesh);
  ReshardPath path = *planReshard(from, to, mesh);
  ASSERT_EQ(kindsOf(path),
            (std::vector<std::string>{"all_to_all", "all_to_all"}));
  EXPECT_EQ(path.wireBytes, 2560); // 3/4 and 1/2 of the 2,048 bytes held
  EXPECT_EQ(path.steps[0].collective.fromDim, 2u);
  EXPECT_EQ(path.steps[0].collective.dim, 1u);
  EXPECT_EQ(path.steps[1].collective.fromDim, 0u);
  EXPECT_EQ(path.steps[1].collective.dim, 1u);
}

TEST(ReshardPath, OneCollectiveWhereOneDoes) {
  Mesh mesh = meshOf("x=2,y=2");
  struct {
    const char *from, *to;
    std::vector<std::string> kinds;
  } cases[] = {
      {R"([{"x"}, {}])", R"([{}, {}])", {"all_gather"}},
      {R"([{}, {}])", R"([{"x"}, {}])", {"all_slice"}},
      {R"([{"x"}, {}])", R"([{}, {"x"}])", {"all_to_all"}},
      {R"([{"x"}, {}])", R"([{"y"}, {}])", {"permute"}},
      {R"([{"x", "y"}, {}])", R"([{"y", "x"}, {}])", {"permute"}},
      {R"([{}, {}], unreduced={"x"})", R"([{}, {}])", {"all_reduce"}},
      {R"([{}, {}], unreduced={"x"})", R"([{"x"}, {}])", {"reduce_scatter"}},
      {R"([{"x", "y"}, {}])", R"([{}, {}])", {"all_gather"}},
  };
  for (const auto &c : cases) {
    TensorType from = typeOf({8, 8}, c.from, mesh);
    TensorType to = typeOf({8, 8}, c.to, mesh);
    Result<ReshardPath> path = planReshard(from, to, mesh);
    ASSERT_TRUE(path.ok()) << path.status().message();
    EXPECT_EQ(kindsOf(*path), c.kinds) << c.from << " to " << c.to;
  }
}

TEST(ReshardPath, PartsOfAnAxis) {
  Mesh mesh = meshOf("tp=4");
  for (const char *a : {R"([{"tp"}, {}])", R"([{"tp":(1)2}, {}])",
                        R"([{"tp":(1)2}, {"tp":(2)2}])", R"([{}, {"tp"}])",
                        R"([{}, {"tp":(2)2}])"})
    for (const char *b : {R"([{"tp"}, {}])", R"([{"tp":(1)2}, {}])",
                          R"([{"tp":(1)2}, {"tp":(2)2}])", R"([{}, {}])"}) {
      TensorType from = typeOf({8, 12}, a, mesh), to = typeOf({8, 12}, b, mesh);
      Result<ReshardPath> path = planReshard(from, to, mesh);
      ASSERT_TRUE(path.ok())
          << a << " to " << b << ": " << path.status().message();
      Status status = follow(*path, from, to, mesh);
      EXPECT_TRUE(status.ok()) << a << " to " << b << ": " << status.message();
    }
}

TEST(ReshardPath, NothingBecomesUnreduced) {
  Mesh mesh = meshOf("x=2");
  Result<ReshardPath> path =
      planReshard(typeOf({8}, "[{}]", mesh),
                  typeOf({8}, R"([{}], unreduced={"x"})", mesh), mesh);
  ASSERT_FALSE(path.ok());
  EXPECT_EQ(path.status().message(),
            "cannot bring f32[8] [{}] to f32[8] [{}], unreduced={\"x\"}");
}

} // namespace

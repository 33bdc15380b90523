//===- OpenOpsTest.cpp - Open operations against all combinations ---------===//
//
// Random graphs small enough to try every combination of choices. The bytes of
// a combination are added up value by value, apart from the cost network.
//
//===----------------------------------------------------------------------===//

#include "passes/propagate/OpenOps.h"

#include "gtest/gtest.h"

#include <random>

namespace tandem {
namespace {

/// A graph of a few products, sums, element-wise operations and a norm over
/// annotated sources.
class RandomGraph {
public:
  RandomGraph(const Mesh &mesh, uint32_t seed)
      : graph(mesh), mesh(mesh), random(seed) {
    for (int i = 0; i < 3; ++i)
      values.push_back(source());
    int count = 2 + below(3);
    for (int i = 0; i < count; ++i)
      addOp();
    for (size_t v = 0; v < values.size(); ++v)
      if (!used[values[v]])
        addTarget(values[v]);
    graph.run();
  }

  PropagationGraph graph;

private:
  int below(int n) { return static_cast<int>(random() % n); }
  int64_t size() { return std::array<int64_t, 4>{4, 6, 8, 16}[below(4)]; }

  int tensor(std::vector<int64_t> shape) {
    used.push_back(false);
    return graph.addTensor(DType::F32, std::move(shape));
  }

  const std::vector<int64_t> &shapeOf(int t) {
    return graph.tensors()[t].shape;
  }

  /// Each axis on one of the dimensions or on none.
  Sharding sharding(size_t rank) {
    Sharding result = Sharding::replicatedOver(rank);
    for (const Axis &axis : mesh.axes())
      if (int dim = below(static_cast<int>(rank) + 1);
          dim < static_cast<int>(rank))
        result.dims[dim].axes.push_back(mesh.whole(axis.name));
    return result;
  }

  void declare(int t, std::vector<int> operands) {
    PropagationOp op;
    op.declares = true;
    FactorMapping mapping;
    for (int64_t size : shapeOf(t)) {
      mapping.dims.push_back({static_cast<int32_t>(op.rule.factors.size())});
      op.rule.factors.push_back({size});
    }
    op.rule.operands.assign(operands.size(), mapping);
    op.rule.results.push_back(mapping);
    op.operands = std::move(operands);
    op.results = {t};
    graph.addOp(std::move(op));
  }

  int source(std::vector<int64_t> shape = {}) {
    int t =
        tensor(shape.empty() ? std::vector<int64_t>{size(), size()} : shape);
    if (below(4))
      graph.annotate(t, sharding(2));
    declare(t, {});
    return t;
  }

  void addTarget(int from) {
    int to = tensor(shapeOf(from));
    if (below(2))
      graph.annotate(to, sharding(2));
    declare(to, {from});
  }

  int pick() {
    int t = values[below(static_cast<int>(values.size()))];
    used[t] = true;
    return t;
  }

  void add(PropagationOp op, RuleBuilder rule, std::vector<int> operands,
           std::vector<int64_t> result) {
    std::vector<std::vector<int64_t>> shapes;
    for (int operand : operands)
      shapes.push_back(shapeOf(operand));
    op.rule = rule.build(shapes, {result});
    op.operands = std::move(operands);
    op.results = {tensor(std::move(result))};
    values.push_back(op.results[0]);
    graph.addOp(std::move(op));
  }

  void addOp() {
    PropagationOp op;
    int x = pick();
    const std::vector<int64_t> shape = shapeOf(x);
    switch (below(4)) {
    case 0: {
      int64_t columns = size();
      int w = source({shape[1], columns});
      used[w] = true;
      op.flops = 1;
      return add(op,
                 RuleBuilder("ab,bc->ac")
                     .kind('b', FactorKind::Reduction)
                     .linear(0)
                     .linear(1),
                 {x, w}, {shape[0], columns});
    }
    case 1: {
      std::vector<int> terms{x, source(shape)};
      used[terms[1]] = true;
      for (int v : std::vector<int>(values))
        if (v != x && shapeOf(v) == shape && terms.size() < 3) {
          terms.push_back(v);
          used[v] = true;
        }
      op.sums = true;
      return add(op,
                 RuleBuilder(terms.size() == 2 ? "ab,ab->ab" : "ab,ab,ab->ab")
                     .allLinear(),
                 terms, shape);
    }
    case 2:
      op.exchanged = [rows = shape[0]](int32_t, int64_t) {
        return std::optional<int64_t>(rows * 4);
      };
      return add(op, RuleBuilder("ab->ab").kind('b', FactorKind::Selection),
                 {x}, shape);
    default:
      return add(op,
                 below(2) ? RuleBuilder("ab->ab").linear(0)
                          : RuleBuilder("ab->ab"),
                 {x}, shape);
    }
  }

  Mesh mesh;
  std::mt19937 random;
  std::vector<int> values;
  std::vector<bool> used; ///< By tensor.
};

/// The fewest bytes of all combinations; nothing where there are too many.
std::optional<int64_t> fewest(OpenOps &ops, size_t count) {
  int64_t combinations = 1;
  for (size_t o = 0; o < count; ++o) {
    combinations *= static_cast<int64_t>(ops.choices(o).size());
    if (combinations > 4000)
      return std::nullopt;
  }
  std::optional<int64_t> best;
  std::vector<int> taken(count, 0);
  for (int64_t i = 0; i < combinations; ++i) {
    int64_t rest = i;
    for (size_t o = 0; o < count; ++o) {
      int64_t choices = static_cast<int64_t>(ops.choices(o).size());
      taken[o] = static_cast<int>(rest % choices);
      rest /= choices;
    }
    auto bytes = ops.bytesOf(taken);
    if (bytes && (!best || *bytes < *best))
      best = bytes;
  }
  return best;
}

class OpenOpsOn : public testing::TestWithParam<const char *> {};

TEST_P(OpenOpsOn, AreTheCheapestOfAllCombinations) {
  Mesh mesh = *Mesh::parse(GetParam());
  int tried = 0, open = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraph random(mesh, seed);
    ReshardPaths paths(mesh);
    OpenOps ops(random.graph, paths);
    Status status = ops.solve();
    ASSERT_TRUE(status.ok()) << status.message();
    auto best = fewest(ops, random.graph.ops().size());
    if (!best)
      continue;
    ++tried;
    for (size_t o = 0; o < random.graph.ops().size(); ++o)
      open += ops.choices(o).size() > 1;
    EXPECT_TRUE(ops.isExact());
    EXPECT_EQ(ops.bytesOf(ops.taken()), best);
  }
  EXPECT_GT(tried, 75);
  EXPECT_GT(open, 100);
}

INSTANTIATE_TEST_SUITE_P(Meshes, OpenOpsOn,
                         testing::Values("tp=4", "x=2,y=2", "x=3,y=2"));

// Products never leave an axis unused that could split them, and repeat no
// work to save bytes.
TEST(Candidates, OfProductsUseEveryAxis) {
  Mesh mesh = *Mesh::parse("fsdp=4,tp=2");
  PropagationOp op;
  op.rule = RuleBuilder("bd,df->bf")
                .kind('d', FactorKind::Reduction)
                .linear(0)
                .linear(1)
                .build({{8, 16}, {16, 32}}, {{8, 32}});
  op.flops = 1;
  AxisList fsdp{mesh.whole("fsdp")}, tp{mesh.whole("tp")};
  // b and d claim fsdp, f claims tp.
  std::vector<FactorAxes> choices = factorChoices(op, {{fsdp}, {fsdp}, {tp}});
  EXPECT_EQ(choices, (std::vector<FactorAxes>{{fsdp, {}, tp}, {{}, fsdp, tp}}));
  // f claims both; what is left for b is fsdp alone or nothing.
  AxisList both{mesh.whole("tp"), mesh.whole("fsdp")};
  choices = factorChoices(op, {{fsdp}, {}, {both}});
  EXPECT_EQ(choices, (std::vector<FactorAxes>{{fsdp, {}, tp}, {{}, {}, both}}));
  // One row is on one rank, whatever b takes; d keeps four at work.
  op.rule.factors[0].size = 1;
  choices = factorChoices(op, {{fsdp}, {fsdp}, {tp}});
  EXPECT_EQ(choices, (std::vector<FactorAxes>{{{}, fsdp, tp}}));
  choices = factorChoices(op, {{fsdp}, {fsdp}, {tp}}, /*mayIdle=*/true);
  EXPECT_EQ(choices, (std::vector<FactorAxes>{{fsdp, {}, tp}, {{}, fsdp, tp}}));
}

} // namespace
} // namespace tandem

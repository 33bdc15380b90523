// Every collective, even and uneven, moves each element to where the types
// say it is: an element's value is its global index, so that the expected
// tensor is known without a computation.

#include "runtime/exec/BlockCopy.h"
#include "runtime/exec/CollectiveCall.h"
#include "runtime/mesh/Collectives.h"
#include "test/unit/exec/LocalRanks.h"
#include "test/unit/exec/PlanSketch.h"

namespace tandem {
namespace {

struct Case {
  const char *name;
  const char *mesh;
  std::vector<int64_t> shape;
  fb::Opcode op;
  const char *from, *to;
  std::vector<const char *> axes;
  int dim = 0, fromDim = 0;
};

void PrintTo(const Case &c, std::ostream *out) { *out << c.name; }

const Case kCases[] = {
    {"AllReduce",
     "tp=3",
     {5, 3},
     fb::Opcode::AllReduce,
     "[{}, {}], unreduced={\"tp\"}",
     "[{}, {}]",
     {"tp"}},
    {"AllReduceOverOneOfTwo",
     "dp=2,tp=2",
     {4, 3},
     fb::Opcode::AllReduce,
     "[{\"dp\"}, {}], unreduced={\"tp\"}",
     "[{\"dp\"}, {}]",
     {"tp"}},
    {"GatherLeadingEven",
     "tp=2",
     {4, 3},
     fb::Opcode::AllGather,
     "[{\"tp\"}, {}]",
     "[{}, {}]",
     {"tp"},
     0},
    {"GatherLeadingUneven",
     "tp=3",
     {7, 3},
     fb::Opcode::AllGather,
     "[{\"tp\"}, {}]",
     "[{}, {}]",
     {"tp"},
     0},
    {"GatherInnerUneven",
     "tp=2",
     {3, 5},
     fb::Opcode::AllGather,
     "[{}, {\"tp\"}]",
     "[{}, {}]",
     {"tp"},
     1},
    {"GatherEmptyPieces",
     "tp=4",
     {2, 5},
     fb::Opcode::AllGather,
     "[{}, {\"tp\"}]",
     "[{}, {}]",
     {"tp"},
     1},
    {"GatherMinorAxis",
     "x=2,y=2",
     {10, 2},
     fb::Opcode::AllGather,
     "[{\"x\", \"y\"}, {}]",
     "[{\"x\"}, {}]",
     {"y"},
     0},
    {"GatherBothAxesUneven",
     "x=2,y=2",
     {10, 2},
     fb::Opcode::AllGather,
     "[{\"x\", \"y\"}, {}]",
     "[{}, {}]",
     {"x", "y"},
     0},
    {"GatherSwappedAxes",
     "x=2,y=3",
     {2, 6},
     fb::Opcode::AllGather,
     "[{}, {\"y\", \"x\"}]",
     "[{}, {}]",
     {"y", "x"},
     1},
    {"ScatterLeadingEven",
     "tp=2",
     {4, 3},
     fb::Opcode::ReduceScatter,
     "[{}, {}], unreduced={\"tp\"}",
     "[{\"tp\"}, {}]",
     {"tp"},
     0},
    {"ScatterInnerUneven",
     "tp=3",
     {2, 7},
     fb::Opcode::ReduceScatter,
     "[{}, {}], unreduced={\"tp\"}",
     "[{}, {\"tp\"}]",
     {"tp"},
     1},
    {"ScatterWithinAxis",
     "dp=2,tp=2",
     {7, 2},
     fb::Opcode::ReduceScatter,
     "[{\"dp\"}, {}], unreduced={\"tp\"}",
     "[{\"dp\", \"tp\"}, {}]",
     {"tp"},
     0},
    {"AllToAllEven",
     "tp=2",
     {4, 6},
     fb::Opcode::AllToAll,
     "[{\"tp\"}, {}]",
     "[{}, {\"tp\"}]",
     {"tp"},
     1,
     0},
    {"AllToAllUneven",
     "tp=3",
     {5, 7},
     fb::Opcode::AllToAll,
     "[{\"tp\"}, {}]",
     "[{}, {\"tp\"}]",
     {"tp"},
     1,
     0},
    {"AllToAllThreeDims",
     "tp=2",
     {3, 2, 5},
     fb::Opcode::AllToAll,
     "[{}, {}, {\"tp\"}]",
     "[{\"tp\"}, {}, {}]",
     {"tp"},
     0,
     2},
    {"Slice",
     "tp=3",
     {7, 2},
     fb::Opcode::AllSlice,
     "[{}, {}]",
     "[{\"tp\"}, {}]",
     {"tp"},
     0},
    {"SliceWithinAxis",
     "dp=2,tp=2",
     {2, 10},
     fb::Opcode::AllSlice,
     "[{}, {\"dp\"}]",
     "[{}, {\"dp\", \"tp\"}]",
     {"tp"},
     1},
    {"PermuteAxes",
     "x=2,y=3",
     {12, 2},
     fb::Opcode::Permute,
     "[{\"x\", \"y\"}, {}]",
     "[{\"y\", \"x\"}, {}]",
     {"x", "y"},
     0},
    {"PermuteDims",
     "x=2,y=2",
     {4, 6},
     fb::Opcode::Permute,
     "[{\"x\"}, {\"y\"}]",
     "[{\"y\"}, {\"x\"}]",
     {"x", "y"},
     0},
    {"Broadcast",
     "tp=3",
     {4, 2},
     fb::Opcode::Broadcast,
     "[{}, {}]",
     "[{}, {}]",
     {"tp"}},
};

double indexValue(const std::vector<int64_t> &index) {
  double value = 1;
  for (int64_t i : index)
    value = value * 100 + static_cast<double>(i);
  return value;
}

class CollectiveTest : public testing::TestWithParam<Case> {
protected:
  void run(uint64_t seed, bool planWorkspace) {
    const Case &c = GetParam();
    PlanSketch sketch(c.mesh);
    TensorType from = sketch.type(c.shape, c.from);
    TensorType to = sketch.type(c.shape, c.to);
    AxisList axes;
    for (const char *name : c.axes)
      axes.push_back(sketch.axis(name));
    Collective collective{static_cast<CollectiveKind>(c.op), axes,
                          static_cast<size_t>(c.dim),
                          static_cast<size_t>(c.fromDim), ReductionKind::Sum};
    ASSERT_TRUE(checkCollective(collective, from, to, sketch.mesh).ok())
        << checkCollective(collective, from, to, sketch.mesh).message();
    sketch.entry("move");
    uint32_t in = sketch.input("in", from);
    uint32_t out = sketch.value(0, to);
    uint64_t bytes =
        static_cast<uint64_t>(workspaceBytes(collective, from, to));
    sketch.collective(0, c.op, axes, in, out, static_cast<uint8_t>(c.dim),
                      static_cast<uint8_t>(c.fromDim),
                      planWorkspace ? bytes : 0);
    sketch.output("out", to, {out});
    Plan plan = sketch.finish();
    LocalRanks ranks(plan, seed);
    for (const Status &status : ranks.created)
      ASSERT_TRUE(status.ok()) << status.toString();
    for (int step = 0; step < 2; ++step)
      stepOnce(plan, ranks, from, sizeOf(from.sharding.unreduced));
  }

  void stepOnce(const Plan &plan, LocalRanks &ranks, const TensorType &from,
                int64_t terms) {
    for (auto &executor : ranks.executors) {
      int64_t term =
          plan.mesh().coordinate(executor->rank(), from.sharding.unreduced);
      bool blank =
          (GetParam().op == fb::Opcode::Broadcast && executor->rank() != 0) ||
          term != 0;
      // Terms that differ by rank and add up to the value exactly.
      double skew = 3.0 * static_cast<double>(2 * term - terms + 1);
      fillPiece(*executor->input(0, 0), [&](const auto &index) {
        return (blank ? 0 : indexValue(index)) + skew;
      });
    }
    for (const Status &status : ranks.run(0))
      ASSERT_TRUE(status.ok()) << status.toString();
    for (auto &executor : ranks.executors)
      forEachValid(*executor->output(0, 0),
                   [&](std::byte *at, const std::vector<int64_t> &index) {
                     float got;
                     std::memcpy(&got, at, sizeof got);
                     EXPECT_EQ(got, indexValue(index))
                         << "rank " << executor->rank();
                   });
  }
};

TEST_P(CollectiveTest, OnCpu) { run(0, true); }
TEST_P(CollectiveTest, OnChaos) {
  for (uint64_t seed = 1; seed <= 3; ++seed)
    run(seed, true);
}
TEST_P(CollectiveTest, OnMoreChaos) {
  for (uint64_t seed = 4; seed <= 20; ++seed)
    run(seed, seed % 2 == 0);
}
TEST_P(CollectiveTest, WithoutPlannedWorkspace) { run(0, false); }

TEST_P(CollectiveTest, NeedsWhatTheTableSays) {
  const Case &c = GetParam();
  Mesh mesh = *Mesh::parse(c.mesh);
  CollectiveCall call;
  call.op = c.op;
  for (const char *name : c.axes)
    call.axes.push_back(mesh.whole(name));
  call.dim = static_cast<size_t>(c.dim);
  call.fromDim = static_cast<size_t>(c.fromDim);
  call.from = {DType::F32, c.shape, *parseSharding(c.from, mesh),
               ReductionKind::Sum};
  call.to = {DType::F32, c.shape, *parseSharding(c.to, mesh),
             ReductionKind::Sum};
  Collective collective{static_cast<CollectiveKind>(c.op), call.axes, call.dim,
                        call.fromDim, ReductionKind::Sum};
  EXPECT_EQ(workspaceBytes(call),
            workspaceBytes(collective, call.from, call.to));
}

INSTANTIATE_TEST_SUITE_P(All, CollectiveTest, testing::ValuesIn(kCases),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

TEST(BlockCopy, MovesLanesOfTheMiddleDimension) {
  // [2, 3, 2] -> [2, 4, 2]: lanes 1 and 2 go to 2 and 3.
  std::vector<int8_t> source(12), target(16, -1);
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = static_cast<int8_t>(i);
  laneCopy({2, 3, 2}, {2, 4, 2}, 1, {1, 2, 2}, 1)
      .run(reinterpret_cast<std::byte *>(source.data()),
           reinterpret_cast<std::byte *>(target.data()));
  EXPECT_EQ(target, (std::vector<int8_t>{-1, -1, -1, -1, 2, 3, 4, 5, -1, -1, -1,
                                         -1, 8, 9, 10, 11}));
}

} // namespace
} // namespace tandem

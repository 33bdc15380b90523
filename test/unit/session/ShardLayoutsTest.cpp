//===- ShardLayoutsTest.cpp - Any layout reads any other ------------------===//
//
// Random meshes and random shardings of the same random tensors, without a
// model: what one layout's ranks write, the other's read, element by element.
//
//===----------------------------------------------------------------------===//

#include "runtime/files/ConfigNode.h"
#include "runtime/files/checkpoint/Checkpoint.h"
#include "runtime/files/checkpoint/CheckpointFolder.h"
#include "runtime/session/CheckpointShards.h"
#include "runtime/session/ShardWriter.h"
#include "test/unit/exec/LocalRanks.h"
#include "test/unit/exec/PlanSketch.h"
#include "test/unit/files/TestFiles.h"

#include <random>

namespace tandem {
namespace {

using Random = std::mt19937;

int64_t pick(Random &random, int64_t from, int64_t to) {
  return from +
         static_cast<int64_t>(random() % static_cast<uint64_t>(to - from + 1));
}

/// The tensors that two layouts share: shapes of parameters, then of states.
struct Tensors {
  std::vector<std::vector<int64_t>> parameters, states;

  explicit Tensors(Random &random) {
    for (auto *shapes : {&parameters, &states})
      for (int64_t count = pick(random, 1, 4); count > 0; --count) {
        shapes->emplace_back();
        for (int64_t rank = pick(random, 0, 3); rank > 0; --rank)
          shapes->back().push_back(pick(random, 1, 9));
      }
  }
};

/// A mesh of at most 12 ranks; `tp` may be 4, to be split in parts.
std::string randomMesh(Random &random) {
  static const char *meshes[] = {
      "tp=1",           "tp=2",      "tp=3",           "tp=4",
      "dp=2,tp=2",      "dp=3,tp=2", "pp=2",           "pp=3,dp=2",
      "pp=2,dp=2,tp=2", "dp=2,pp=2", "dp=2,pp=3,tp=2", "tp=4,dp=2",
  };
  return meshes[random() % (sizeof meshes / sizeof *meshes)];
}

/// Axes and halves of axes over the dimensions, in random order.
std::string randomSharding(Random &random, const Mesh &mesh, size_t rank) {
  std::vector<std::string> dims(rank), axes;
  for (const Axis &axis : mesh.axes()) {
    if (axis.name == kStageAxis)
      continue;
    std::string name = "\"" + axis.name + "\"";
    if (axis.size == 4 && random() % 2) {
      axes.push_back(name + ":(1)2");
      axes.push_back(name + ":(2)2");
    } else {
      axes.push_back(name);
    }
  }
  std::shuffle(axes.begin(), axes.end(), random);
  for (const std::string &axis : axes)
    if (rank > 0 && random() % 3) {
      std::string &dim = dims[random() % rank];
      dim += (dim.empty() ? "" : ", ") + axis;
    }
  std::string text = "[";
  for (size_t d = 0; d < rank; ++d)
    text += (d ? ", {" : "{") + dims[d] + "}";
  return text + "]";
}

/// One stage or several, ascending.
std::vector<uint32_t> randomStages(Random &random, uint32_t stages) {
  std::vector<uint32_t> chosen;
  for (uint32_t stage = 0; stage < stages; ++stage)
    if (random() % 3 == 0)
      chosen.push_back(stage);
  if (chosen.empty())
    chosen.push_back(static_cast<uint32_t>(random() % stages));
  return chosen;
}

Plan randomPlan(Random &random, const Tensors &tensors) {
  PlanSketch sketch(randomMesh(random).c_str());
  uint32_t stages = sketch.builder.plan.stages;
  auto type = [&](const std::vector<int64_t> &shape) {
    std::string sharding = randomSharding(random, sketch.mesh, shape.size());
    return sketch.type(shape, sharding.c_str());
  };
  for (size_t i = 0; i < tensors.parameters.size(); ++i)
    sketch.parameter("p" + std::to_string(i), type(tensors.parameters[i]),
                     randomStages(random, stages));
  for (size_t i = 0; i < tensors.states.size(); ++i)
    sketch.state("s" + std::to_string(i), type(tensors.states[i]),
                 randomStages(random, stages));
  sketch.entry("nothing");
  return sketch.finish();
}

/// Says which tensor and which element of it.
double valueOf(size_t tensor, const std::vector<int64_t> &index) {
  double value = static_cast<double>(tensor + 1);
  for (int64_t i : index)
    value = value * 16 + static_cast<double>(i);
  return value;
}

/// Calls `visit(tensor, piece)` for everything that a rank holds.
template <typename Visit>
void forEachPiece(const Plan &plan, const Executor &executor,
                  const Visit &visit) {
  uint32_t parameters = plan.table().parameters()->size();
  for (uint32_t i = 0; i < parameters; ++i)
    if (auto piece = executor.parameter(i))
      visit(i, *piece);
  for (uint32_t i = 0; i < plan.table().states()->size(); ++i)
    if (auto piece = executor.state(i))
      visit(parameters + i, *piece);
}

/// Fills all ranks of `plan`, NaN where there is padding, and writes them.
void writeAll(const Plan &plan, const std::string &path) {
  LocalRanks ranks(plan, 0);
  for (const Status &status : ranks.created)
    ASSERT_OK(status);
  CheckpointManifest manifest;
  manifest.tensors = checkpointTensors(plan);
  for (const auto &executor : ranks.executors) {
    forEachPiece(plan, *executor, [](size_t tensor, const TensorArg &piece) {
      auto *data = reinterpret_cast<float *>(piece.data);
      std::fill(data, data + piece.elements(), std::nanf(""));
      fillPiece(piece, [&](const std::vector<int64_t> &index) {
        return valueOf(tensor, index);
      });
    });
    ShardWriter writer(plan, *executor, FaultPoint(), 60);
    ASSERT_OK(writer.begin(path));
    RankReply reply = writer.reply(true);
    ASSERT_OK(reply);
    if (*reply == "null")
      continue;
    auto shard = readShard(*ConfigNode::parse(*reply, "shard"));
    ASSERT_OK(shard);
    manifest.shards.push_back(*shard);
  }
  std::ofstream(path + "/manifest.json") << manifest.toText();
}

/// Loads into all ranks of `plan` and looks at each element.
void readAll(const Plan &plan, const std::string &path) {
  LocalRanks ranks(plan, 0);
  for (const auto &executor : ranks.executors) {
    ASSERT_OK(checkShards(plan, executor->rank(), path));
    ASSERT_OK(loadShards(plan, *executor, path));
    forEachPiece(plan, *executor, [](size_t tensor, const TensorArg &piece) {
      forEachValid(piece, [&](std::byte *at, const std::vector<int64_t> &i) {
        float value;
        std::memcpy(&value, at, sizeof value);
        ASSERT_EQ(value, static_cast<float>(valueOf(tensor, i)));
      });
    });
  }
}

/// Two random layouts of the same random tensors for each seed.
void checkLayouts(unsigned from, unsigned to) {
  for (unsigned seed = from; seed < to; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Tensors tensors(random);
    Plan first = randomPlan(random, tensors);
    Plan second = randomPlan(random, tensors);
    SCOPED_TRACE(first.mesh().toString() + " -> " + second.mesh().toString());
    test::Folder folder;
    writeAll(first, folder.path());
    // The manifest is refused unless pieces tile every tensor.
    auto checkpoint = Checkpoint::open(folder.path());
    ASSERT_OK(checkpoint);
    readAll(second, folder.path());
    readAll(first, folder.path());
    if (testing::Test::HasFatalFailure())
      return;
  }
}

TEST(ShardLayoutsTest, AnyLayoutReadsAnyOther) { checkLayouts(0, 40); }

TEST(ShardLayoutsLongTest, AnyLayoutReadsAnyOther) { checkLayouts(40, 500); }

TEST(ShardLayoutsTest, TheLowestRankThatHoldsAPieceOwnsIt) {
  PlanSketch sketch("pp=2,dp=2,tp=2");
  TensorType type = sketch.type({7, 4}, "[{\"tp\"}, {}]");
  sketch.parameter("w", type, {1});
  sketch.entry("nothing");
  Plan plan = sketch.finish();
  for (int64_t rank = 4; rank < 8; ++rank)
    EXPECT_EQ(ownsPiece(plan, type, {1}, rank), rank < 6) << rank;
  for (int64_t rank = 0; rank < 8; ++rank)
    EXPECT_EQ(ownsPiece(plan, type, {0, 1}, rank), rank < 2) << rank;
  // Rows 0-3, 4-6 over tp; one row is left for nobody.
  TensorType thin = sketch.type({1, 4}, "[{\"tp\"}, {}]");
  EXPECT_TRUE(ownsPiece(plan, thin, {0, 1}, 0));
  EXPECT_FALSE(ownsPiece(plan, thin, {0, 1}, 1));
}

/// Two plans of one parameter each.
Status loadInto(const char *name, std::vector<int64_t> shape, DType dtype,
                bool state, const std::string &path) {
  PlanSketch sketch("tp=1");
  std::string sharding = shape.size() == 1 ? "[{}]" : "[{}, {}]";
  TensorType type = sketch.type(std::move(shape), sharding.c_str(), dtype);
  sketch.parameter(name, type);
  if (state)
    sketch.state("exp_avg.w", type);
  sketch.entry("nothing");
  Plan plan = sketch.finish();
  LocalRanks ranks(plan, 0);
  return loadShards(plan, *ranks.executors[0], path);
}

TEST(ShardLayoutsTest, OtherModelsAreRefused) {
  PlanSketch sketch("tp=2");
  sketch.parameter("w", sketch.type({4, 2}, "[{\"tp\"}, {}]"));
  sketch.entry("nothing");
  test::Folder folder;
  writeAll(sketch.finish(), folder.path());
  EXPECT_TRUE(loadInto("w", {4, 2}, DType::F32, false, folder.path()).ok());
  test::expectRefusal(loadInto("w", {4, 2}, DType::F32, true, folder.path()),
                      "it holds no 'exp_avg.w' as the plan has it, f32[4, 2]");
  test::expectRefusal(loadInto("v", {4, 2}, DType::F32, false, folder.path()),
                      "it holds 'w', which the plan's model has not");
  test::expectRefusal(loadInto("w", {4, 3}, DType::F32, false, folder.path()),
                      "it holds no 'w' as the plan has it, f32[4, 3]");
  test::expectRefusal(loadInto("w", {4, 2}, DType::BF16, false, folder.path()),
                      "is of another model, optimizer or --dtype");
}

} // namespace
} // namespace tandem

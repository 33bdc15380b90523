//===- MpiSessionTest.cpp - A session of processes under mpirun -----------===//
//
// The program runs once in every process. Rank 0 runs the tests, the others
// serve the sessions that it makes, in the same order.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/MpiModule.h"
#include "runtime/session/Generator.h"
#include "test/unit/exec/MlpSketch.h"
#include "test/unit/session/SumModel.h"

namespace tandem {
namespace {

MpiWorld *world = nullptr;

/// Makes a session of `plan`, lets rank 0 do `lead` and the others serve.
void inSession(Plan plan, const std::function<void(Session &)> &lead) {
  SessionOptions options;
  options.threads = 1;
  auto session = createMpiSession(std::make_shared<const Plan>(std::move(plan)),
                                  *world, options);
  ASSERT_TRUE(session.ok()) << session.status().toString();
  EXPECT_EQ((*session)->leads(), world->rank() == 0);
  if ((*session)->leads())
    lead(**session);
  Status served = (*session)->serve();
  EXPECT_TRUE(served.ok()) << served.toString();
  Status closed = (*session)->close();
  EXPECT_TRUE(closed.ok()) << closed.toString();
}

std::string meshText() { return "tp=" + std::to_string(world->size()); }

TEST(MpiSession, Generates) {
  SumModel model;
  std::string mesh = meshText();
  model.mesh = mesh.c_str();
  model.batch = 2;
  inSession(model.plan(), [](Session &session) {
    Result<Generator> generator = Generator::create(session);
    ASSERT_TRUE(generator.ok()) << generator.status().toString();
    GenerateOptions options;
    options.tokens = 6;
    std::vector<int64_t> a = {1, 2, 3, 4, 5, 6, 7}, b = {9};
    auto texts = generator->run({a, b}, options);
    ASSERT_TRUE(texts.ok()) << texts.status().toString();
    EXPECT_EQ((*texts)[0].ids, SumModel::continuation(a, 6));
    EXPECT_EQ((*texts)[1].ids, SumModel::continuation(b, 6));
  });
}

/// y = relu(x), both split over all ranks: y is put together on rank 0.
TEST(MpiSession, GathersSplitOutputs) {
  PlanSketch sketch(meshText().c_str());
  Mlp mlp;
  TensorType type = sketch.type({mlp.b, mlp.f}, "[{}, {\"tp\"}]");
  sketch.entry("act");
  uint32_t x = sketch.input("x", type), y = sketch.value(0, type);
  sketch.launch(0, "map", mlp.relu(), {x}, {y}, Mlp::reluNumbers());
  sketch.output("y", type, {y});
  inSession(sketch.finish(), [&](Session &session) {
    HostTensor whole(DType::F32, {mlp.b, mlp.f});
    for (int64_t i = 0; i < whole.elements(); ++i)
      whole.as<float>()[i] = static_cast<float>(i % 5 - 2);
    for (int step = 0; step < 2; ++step) {
      Result<HostTensors> outputs = session.run("act", {{"x", whole}});
      ASSERT_TRUE(outputs.ok()) << outputs.status().toString();
      for (int64_t i = 0; i < whole.elements(); ++i)
        EXPECT_EQ(outputs->at("y").as<float>()[i],
                  std::max(whole.as<float>()[i], 0.0f));
    }
  });
}

/// A plan that cannot start is refused on all ranks, with words on rank 0.
TEST(MpiSession, ARefusalReachesAllRanks) {
  PlanSketch sketch(meshText().c_str());
  sketch.parameter("w", sketch.type({4}, "[{}]"));
  sketch.entry("none");
  auto session = createMpiSession(std::make_shared<const Plan>(sketch.finish()),
                                  *world, SessionOptions());
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), StatusCode::Refused);
  EXPECT_EQ(session.status().message(),
            world->rank()
                ? ""
                : "the plan names no files of weights, for it was compiled "
                  "from a configuration alone; compile it with its weights, or "
                  "train a new model with --init SEED");
}

/// One rank's report is enough; failures of the others still count.
void quietOtherRanks() {
  auto &listeners = testing::UnitTest::GetInstance()->listeners();
  if (world->rank() != 0)
    delete listeners.Release(listeners.default_result_printer());
}

} // namespace
} // namespace tandem

int main(int argc, char **argv) {
  using namespace tandem;
  testing::InitGoogleTest(&argc, argv);
  MpiOptions options;
  options.deadlineSeconds = 30;
  Result<MpiWorld> opened = openMpi(options);
  if (!opened.ok()) {
    std::fprintf(stderr, "%s\n", opened.status().toString().c_str());
    return 77; // Skipped: no MPI here.
  }
  world = &*opened;
  quietOtherRanks();
  int result = RUN_ALL_TESTS();
  Status finished = opened->finish();
  if (!finished.ok())
    std::fprintf(stderr, "%s\n", finished.toString().c_str());
  return finished.ok() ? result : 1;
}

//===- TrainingLoopTest.cpp - The loop around a plan drawn by hand
//---------===//

#include "runtime/session/TrainingLoop.h"
#include "runtime/files/Json.h"
#include "runtime/kernels/MapOp.h"
#include "test/unit/exec/PlanSketch.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace tandem {
namespace {

/// A model of one number w, which each step lowers by the learning rate: the
/// loss is w * decay as it was, the norm the number of the step.
struct OneNumber {
  static Plan plan(bool withLoss = false) {
    PlanSketch sketch("tp=1");
    sketch.builder.fact("vocab_size", "300");
    sketch.builder.fact("batch", "3");
    TensorType number = sketch.type({}, "[]");
    uint32_t state = sketch.state("w", number);
    sketch.entry("train");
    addTokens(sketch);
    uint32_t rate = sketch.input("learning_rate", number);
    uint32_t decay = sketch.input("weight_decay", number);
    uint32_t step = sketch.input("step", sketch.type({}, "[]", DType::I32));
    uint32_t before = sketch.useState(0, state);
    uint32_t loss = sketch.value(0, number), norm = sketch.value(0, number);
    ShardingRule two = ofNumbers(2), one = ofNumbers(1);
    sketch.launch(0, "map", two, {before, decay}, {loss},
                  {kMapInput, 0, kMapInput, 1, kMapMul, 0});
    sketch.launch(0, "map", one, {step}, {norm}, {kMapInput, 0});
    sketch.launch(0, "map", two, {before, rate}, {sketch.useState(0, state)},
                  {kMapInput, 0, kMapInput, 1, kMapSub, 0});
    sketch.output("loss", number, {loss});
    sketch.output("grad_norm", number, {norm});
    if (withLoss)
      addLoss(sketch, state, number);
    return sketch.finish();
  }

  /// The rule of an operation on tensors without dimensions.
  static ShardingRule ofNumbers(size_t operands) {
    ShardingRule rule;
    rule.operands.resize(operands);
    rule.results.resize(1);
    return rule;
  }

  /// Entry `loss`: w itself.
  static void addLoss(PlanSketch &sketch, uint32_t state,
                      const TensorType &number) {
    sketch.entry("loss");
    addTokens(sketch);
    uint32_t loss = sketch.value(0, number);
    sketch.launch(0, "map", ofNumbers(1), {sketch.useState(0, state)}, {loss},
                  {kMapInput, 0});
    sketch.output("loss", number, {loss});
  }

  static void addTokens(PlanSketch &sketch) {
    sketch.input("input_ids",
                 sketch.type({2, 2, 4}, "[{}, {}, {}]", DType::I32));
    sketch.input("labels", sketch.type({2, 2, 5}, "[{}, {}, {}]", DType::I32));
  }
};

/// Rows that say which window they came from.
class CountedData final : public TrainingData {
public:
  Result<HostTensors> rowsFrom(int64_t window) const override {
    taken.push_back(window);
    HostTensor ids(DType::I32, {3, 4}), labels(DType::I32, {3, 5});
    return HostTensors{{"input_ids", ids}, {"labels", labels}};
  }
  int64_t windows() const override { return 12; }
  std::string summary() const override { return ""; }

  mutable std::vector<int64_t> taken;
};

/// Notes what would be written.
class NotedCheckpoints final : public Checkpoints {
public:
  Result<CheckpointNote> load() override { return CheckpointNote(); }
  Status begin(const CheckpointNote &note) override {
    begun.push_back(note.step);
    note_ = note;
    return failing;
  }
  bool pending() const override { return false; }
  Status finish(bool) override { return Status(); }
  std::string last() const override { return "out/step-4"; }

  std::vector<int64_t> begun;
  CheckpointNote note_;
  Status failing;
};

class TrainingLoopTest : public testing::Test {
protected:
  TrainingLoopTest() {
    log = std::filesystem::temp_directory_path() /
          ("tandem-log-" + std::to_string(getpid()) + "-" +
           testing::UnitTest::GetInstance()->current_test_info()->name());
    options.steps = 5;
    options.rows = 3;
    options.rate = {LearningRate::Constant, 0.25, 2, 5};
    options.weightDecay = 2;
    options.onStep = [this](const StepReport &report) {
      reports.push_back(report);
    };
  }
  ~TrainingLoopTest() override { std::filesystem::remove(log); }

  Result<TrainingOutcome> run(Plan plan = OneNumber::plan()) {
    auto session = createLocalSession(
        std::make_shared<const Plan>(std::move(plan)), SessionOptions());
    EXPECT_TRUE(session.ok()) << session.status().toString();
    return TrainingLoop(**session, data, options).run();
  }
  std::vector<nlohmann::json> logged() const {
    std::ifstream file(log);
    std::vector<nlohmann::json> lines;
    for (std::string line; std::getline(file, line);)
      lines.push_back(*parseJson(line, "log"));
    return lines;
  }

  CountedData data;
  TrainingOptions options;
  std::vector<StepReport> reports;
  std::filesystem::path log;
};

TEST_F(TrainingLoopTest, EachStepGetsItsRowsAndSettings) {
  Result<TrainingOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok()) << outcome.status().toString();
  EXPECT_EQ(outcome->position.step, 5);
  EXPECT_EQ(outcome->position.window, 15);
  EXPECT_FALSE(outcome->cancelled);
  EXPECT_EQ(data.taken, (std::vector<int64_t>{0, 3, 6, 9, 12}));
  // Rates 0.125, 0.25, 0.25, ...; the loss is twice what was before.
  std::vector<double> losses = {0, -0.25, -0.75, -1.25, -1.75};
  ASSERT_EQ(reports.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(reports[i].step, static_cast<int64_t>(i) + 1);
    EXPECT_DOUBLE_EQ(reports[i].loss, losses[i]);
    EXPECT_DOUBLE_EQ(reports[i].gradNorm, static_cast<double>(i) + 1);
    EXPECT_DOUBLE_EQ(reports[i].rate, i == 0 ? 0.125 : 0.25);
    EXPECT_GT(reports[i].tokensPerSecond, 0);
  }
}

TEST_F(TrainingLoopTest, GoesOnFromAPosition) {
  options.from = {3, 100, 7};
  Result<TrainingOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(data.taken, (std::vector<int64_t>{100, 103}));
  EXPECT_EQ(reports[0].step, 4);
  EXPECT_DOUBLE_EQ(reports[0].gradNorm, 4);
  EXPECT_EQ(outcome->position.seed, 7u);
}

TEST_F(TrainingLoopTest, LeavesCheckpointsWhenDueAndAtTheEnd) {
  NotedCheckpoints checkpoints;
  options.checkpoints = &checkpoints;
  options.checkpointEvery = 2;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(checkpoints.begun, (std::vector<int64_t>{2, 4, 5}));
  Result<TrainingPosition> position = positionOf(checkpoints.note_);
  ASSERT_TRUE(position.ok()) << position.status().message();
  EXPECT_EQ(position->step, 5);
  EXPECT_EQ(position->window, 15);

  checkpoints.begun.clear();
  options.checkpointEvery = 0;
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(checkpoints.begun, (std::vector<int64_t>{5}));

  checkpoints.begun.clear();
  options.checkpointEvery = 5; // Not twice at the end.
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(checkpoints.begun, (std::vector<int64_t>{5}));

  checkpoints.begun.clear();
  options.from = {5, 15, 0}; // Nothing to do.
  ASSERT_TRUE(run().ok());
  EXPECT_TRUE(checkpoints.begun.empty());
}

TEST_F(TrainingLoopTest, AFullDiskCostsACheckpointUnlessItIsTheLast) {
  NotedCheckpoints checkpoints;
  checkpoints.failing = Status::refused("no space left");
  options.checkpoints = &checkpoints;
  options.checkpointEvery = 2;
  Result<TrainingOutcome> outcome = run();
  EXPECT_EQ(outcome.status().message(), "no space left");
  EXPECT_EQ(checkpoints.begun, (std::vector<int64_t>{2, 4, 5}));
}

TEST_F(TrainingLoopTest, EndsBehindTheStepWhenCancelled) {
  NotedCheckpoints checkpoints;
  options.checkpoints = &checkpoints;
  std::atomic<bool> cancel{false};
  options.cancel = &cancel;
  options.onStep = [&](const StepReport &report) { cancel = report.step == 3; };
  Result<TrainingOutcome> outcome = run();
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(outcome->cancelled);
  EXPECT_EQ(outcome->position.step, 3);
  EXPECT_EQ(checkpoints.begun, (std::vector<int64_t>{3}));
}

TEST_F(TrainingLoopTest, ALossThatIsNoNumberEndsTheRun) {
  NotedCheckpoints checkpoints;
  options.checkpoints = &checkpoints;
  options.rate.peak = 1e39; // Infinite as float32: w is not finite.
  options.rate.warmup = 0;
  Status status = run().status();
  EXPECT_EQ(status.code(), StatusCode::Refused);
  EXPECT_EQ(status.message(),
            "step 2: the loss is -inf and the gradients' norm 2.000000, which "
            "no further step can mend; expected a smaller --lr, or a longer "
            "--warmup; the last checkpoint is 'out/step-4'");
  EXPECT_TRUE(checkpoints.begun.empty());
}

TEST_F(TrainingLoopTest, LogsOneObjectAStep) {
  {
    Result<TrainingLog> file = TrainingLog::open(log, 0);
    ASSERT_TRUE(file.ok()) << file.status().message();
    options.log = &*file;
    ASSERT_TRUE(run().ok());
  }
  std::vector<nlohmann::json> lines = logged();
  ASSERT_EQ(lines.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(lines[i].at("step"), i + 1);
    EXPECT_EQ(lines[i].at("loss"), reports[i].loss);
    EXPECT_EQ(lines[i].at("grad_norm"), reports[i].gradNorm);
    EXPECT_EQ(lines[i].at("lr"), reports[i].rate);
    EXPECT_GT(lines[i].at("tokens_per_s"), 0);
    EXPECT_EQ(lines[i].at("window"), 3 * i);
    EXPECT_FALSE(lines[i].contains("mfu"));
    EXPECT_FALSE(lines[i].contains("eval_loss"));
  }
}

TEST_F(TrainingLoopTest, ALogGoesOnBehindTheCheckpoint) {
  std::ofstream(log) << "{\"step\": 1}\n{\"step\": 2}\n{\"step\": 3}\n{\"st";
  {
    Result<TrainingLog> file = TrainingLog::open(log, 2);
    ASSERT_TRUE(file.ok());
    options.log = &*file;
    options.from = {2, 6, 0};
    ASSERT_TRUE(run().ok());
  }
  std::vector<int64_t> steps;
  for (const nlohmann::json &line : logged())
    steps.push_back(line.at("step"));
  EXPECT_EQ(steps, (std::vector<int64_t>{1, 2, 3, 4, 5}));
}

TEST_F(TrainingLoopTest, ALogThatCannotBeWrittenEndsTheRun) {
  Status missing = TrainingLog::open("/nowhere/log.jsonl", 0).status();
  EXPECT_EQ(missing.message(), "cannot open the log '/nowhere/log.jsonl': No "
                               "such file or directory");
  Result<TrainingLog> full = TrainingLog::open("/dev/full", 0);
  ASSERT_TRUE(full.ok());
  options.log = &*full;
  EXPECT_EQ(run().status().message(),
            "cannot write the log '/dev/full': No space left on device");
}

TEST_F(TrainingLoopTest, EvaluatesWithoutLearning) {
  CountedData held;
  options.evalData = &held;
  options.evalEvery = 2;
  options.evalBatches = 8; // There are four.
  Result<TrainingOutcome> outcome = run(OneNumber::plan(/*withLoss=*/true));
  ASSERT_TRUE(outcome.ok()) << outcome.status().toString();
  EXPECT_EQ(held.taken, (std::vector<int64_t>{0, 3, 6, 9, 0, 3, 6, 9}));
  EXPECT_DOUBLE_EQ(reports[0].evalLoss, -1);
  EXPECT_DOUBLE_EQ(reports[1].evalLoss, -0.375);
  EXPECT_DOUBLE_EQ(reports[3].evalLoss, -0.875);
  EXPECT_EQ(run().status().message(),
            "--eval-every needs an entry 'loss' beside 'train', the plan has "
            "none; compile with --evaluation");
}

TEST_F(TrainingLoopTest, RefusesPlansThatDoNotTrain) {
  PlanSketch sketch("tp=1");
  sketch.entry("logits");
  TensorType number = sketch.type({}, "[]");
  sketch.output("y", number, {sketch.value(0, number)});
  EXPECT_EQ(run(sketch.finish()).status().message(),
            "it has no entry 'train': the plan does not train; compile with "
            "--entry train");
}

TEST_F(TrainingLoopTest, AStepHasTheTrueRows) {
  Result<StepShape> shape = stepShapeOf(OneNumber::plan());
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(shape->rows, 3); // of 2 x 2
  EXPECT_EQ(shape->sequence, 4);
  EXPECT_TRUE(shape->labelsBehind);
}

TEST(TrainingPosition, AManifestMustSayIt) {
  CheckpointNote note;
  note.step = 9;
  note.training = {{"window", -1}, {"seed", 1}};
  EXPECT_EQ(positionOf(note).status().message(),
            "the checkpoint of step 9 does not say where in the data it was; "
            "expected the numbers 'window' and 'seed' in its manifest");
}

} // namespace
} // namespace tandem

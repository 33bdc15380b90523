#include "runtime/session/Generator.h"
#include "test/unit/session/SumModel.h"

namespace tandem {
namespace {

using Prompts = std::vector<std::vector<int64_t>>;

class GeneratorTest : public testing::Test {
protected:
  void start(const SumModel &model, const char *device = "cpu") {
    SessionOptions options;
    options.threads = 1;
    options.device = device;
    Result<std::unique_ptr<Session>> made =
        createLocalSession(std::make_shared<const Plan>(model.plan()), options);
    ASSERT_TRUE(made.ok()) << made.status().toString();
    session = std::move(*made);
    Result<Generator> generating = Generator::create(*session);
    ASSERT_TRUE(generating.ok()) << generating.status().toString();
    generator.reset(new Generator(std::move(*generating)));
  }

  static std::vector<int64_t> promptOf(int64_t length) {
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i < length; ++i)
      prompt.push_back((3 * i + 1) % SumModel::vocabulary);
    return prompt;
  }

  std::unique_ptr<Session> session;
  std::unique_ptr<Generator> generator;
};

TEST_F(GeneratorTest, EveryPromptLengthIsPrefilledWhole) {
  start(SumModel());
  EXPECT_EQ(generator->chunks(), (std::vector<int64_t>{4, 16}));
  GenerateOptions options;
  options.tokens = 4;
  for (int64_t length : {1, 2, 4, 5, 6, 8, 11, 14, 17, 21, 30, 37}) {
    auto texts = generator->run({promptOf(length)}, options);
    ASSERT_TRUE(texts.ok()) << texts.status().toString();
    EXPECT_EQ((*texts)[0].ids, SumModel::continuation(promptOf(length), 4))
        << "prompt of " << length;
    EXPECT_EQ((*texts)[0].stop, StopReason::Length);
  }
}

TEST_F(GeneratorTest, WithoutPrefillEveryIdIsDecoded) {
  SumModel model;
  model.chunks = {};
  start(model);
  GenerateOptions options;
  options.tokens = 3;
  auto texts = generator->run({promptOf(9)}, options);
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ((*texts)[0].ids, SumModel::continuation(promptOf(9), 3));
}

TEST_F(GeneratorTest, RowsOfABatchEndEachForItself) {
  SumModel model;
  model.batch = 3;
  start(model, "chaos");
  Prompts prompts = {promptOf(1), promptOf(7), promptOf(22)};
  GenerateOptions options;
  options.tokens = 6;
  std::vector<int64_t> first = SumModel::continuation(prompts[0], 6);
  options.endIds = {first[1]};
  std::vector<std::vector<int64_t>> streamed(3);
  auto texts = generator->run(prompts, options, [&](size_t row, int64_t id) {
    streamed[row].push_back(id);
  });
  ASSERT_TRUE(texts.ok()) << texts.status().toString();
  for (size_t r = 0; r < prompts.size(); ++r) {
    std::vector<int64_t> expected = SumModel::continuation(prompts[r], 6);
    auto end = std::find(expected.begin(), expected.end(), first[1]);
    bool ends = end != expected.end();
    expected.erase(ends ? end + 1 : end, expected.end());
    EXPECT_EQ((*texts)[r].ids, expected);
    EXPECT_EQ(streamed[r], expected);
    EXPECT_EQ((*texts)[r].stop, ends ? StopReason::End : StopReason::Length);
  }
  EXPECT_EQ((*texts)[0].stop, StopReason::End);
}

TEST_F(GeneratorTest, TheWholeRoomCanBeUsed) {
  start(SumModel()); // 40 places
  GenerateOptions options;
  options.tokens = 31;
  auto texts = generator->run({promptOf(10)}, options);
  ASSERT_TRUE(texts.ok()) << texts.status().toString();
  EXPECT_EQ((*texts)[0].ids, SumModel::continuation(promptOf(10), 31));
  options.tokens = 32;
  EXPECT_EQ(generator->run({promptOf(10)}, options).status().message(),
            "a prompt of 10 ids leaves room for 31 new ones, 32 are wanted; "
            "ask for fewer --tokens or compile with --max-seq 41");
}

TEST_F(GeneratorTest, RefusesWhatItCannotContinue) {
  start(SumModel());
  auto refusal = [&](const Prompts &prompts, GenerateOptions options = {}) {
    options.tokens = 1;
    return generator->run(prompts, options).status().message();
  };
  EXPECT_EQ(refusal({{}}), "an empty prompt, and no id that begins a text");
  EXPECT_EQ(refusal({{1, 17}}), "prompt id 17 is outside the vocabulary of 17");
  EXPECT_EQ(refusal({{-1}}), "prompt id -1 is outside the vocabulary of 17");
  EXPECT_EQ(refusal({promptOf(41)}),
            "the prompt has 41 ids, the plan has room for 40; compile with a "
            "larger --max-seq");
  EXPECT_EQ(refusal({{1}, {1}}), "2 prompts, the plan's batch is 1");
  GenerateOptions warm;
  warm.temperature = 1;
  EXPECT_EQ(refusal({{1}}, warm),
            "the plan has no entry 'decode_sample', which a temperature above "
            "0 needs");
  // The session is as good as before.
  GenerateOptions options;
  options.tokens = 2;
  EXPECT_TRUE(generator->run({{1}}, options).ok());
}

TEST_F(GeneratorTest, CancelStopsBetweenSteps) {
  start(SumModel());
  std::atomic<bool> cancel{false};
  GenerateOptions options;
  options.tokens = 30;
  options.cancel = &cancel;
  auto texts = generator->run({{5}}, options, [&](size_t, int64_t) {
    static int count = 0;
    cancel = ++count == 3;
  });
  ASSERT_TRUE(texts.ok());
  EXPECT_EQ((*texts)[0].stop, StopReason::Cancelled);
  EXPECT_EQ((*texts)[0].ids, SumModel::continuation({5}, 3));
}

TEST_F(GeneratorTest, APlanThatDoesNotGenerateIsRefused) {
  PlanSketch sketch("tp=1");
  sketch.entry("logits");
  SessionOptions options;
  auto other = createLocalSession(std::make_shared<const Plan>(sketch.finish()),
                                  options);
  ASSERT_TRUE(other.ok()) << other.status().toString();
  EXPECT_EQ(Generator::create(**other).status().message(),
            "the plan does not generate; compile with --entry generate: the "
            "plan has no entry 'decode'; its entries are logits");
}

} // namespace
} // namespace tandem

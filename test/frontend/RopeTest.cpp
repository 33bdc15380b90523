#include "frontend/Rope.h"

#include "test/unit/files/TestFiles.h"

#include <cmath>

using namespace tandem;
using namespace tandem::test;

namespace {

/// Two pairs, in a context of 64.
const RopeBase kBase = {4, 10000, 64};

RopeScaling read(const std::string &config, const RopeBase &base = kBase) {
  Result<ConfigNode> node = ConfigNode::parse(config, "config.json");
  Result<RopeScaling> scaling = readRopeScaling(*node, base);
  EXPECT_TRUE(scaling.ok()) << scaling.status().message();
  return scaling.ok() ? *scaling : RopeScaling();
}

TEST(Rope, FrequenciesArePowersOfTheta) {
  EXPECT_EQ(ropeFrequencies(kBase), (std::vector<double>{1, 0.01}));
}

TEST(Rope, OldAndNewKeysMeanTheSame) {
  for (const char *text :
       {R"({"rope_scaling": {"type": "linear", "factor": 4}})",
        R"({"rope_scaling": {"rope_type": "linear", "factor": 4.0}})",
        R"({"rope_parameters": {"rope_type": "linear", "factor": 4}})"}) {
    RopeScaling scaling = read(text);
    EXPECT_EQ(scaling.kind, RopeScaling::Linear);
    EXPECT_EQ(ropeFrequencies(kBase, scaling),
              (std::vector<double>{0.25, 0.0025}));
  }
  EXPECT_EQ(read("{}").kind, RopeScaling::None);
  EXPECT_EQ(read(R"({"rope_scaling": null})").kind, RopeScaling::None);
}

/// Factors that a GGUF writer stored for these settings: what it divides
/// frequencies by.
TEST(Rope, Llama3BlendsBetweenItsBounds) {
  RopeScaling scaling = read(
      R"({"rope_scaling": {"rope_type": "llama3", "factor": 8,
          "low_freq_factor": 1, "high_freq_factor": 4,
          "original_max_position_embeddings": 64}})");
  const double factors[] = {1.0, 7.667385101318359, 8.0, 8.0};
  RopeBase base = {8, 10000, 64};
  std::vector<double> plain = ropeFrequencies(base);
  std::vector<double> result = ropeFrequencies(base, scaling);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_NEAR(plain[j] / result[j], factors[j], 1e-6);
}

TEST(Rope, GgufKeys) {
  auto kind = [](const std::string &text) {
    return readGgufRopeScaling(*ConfigNode::parse(text, "m.gguf"), "llama",
                               kBase);
  };
  EXPECT_EQ(kind("{}")->kind, RopeScaling::None);
  EXPECT_EQ(kind(R"({"llama.rope.scaling.type": "none"})")->kind,
            RopeScaling::None);
  EXPECT_EQ(kind(R"({"llama.rope.scale_linear": 2.0})")->factor, 2.0);
  EXPECT_EQ(kind(R"({"llama.rope.scaling.type": "linear",
                     "llama.rope.scaling.factor": 4.0})")
                ->factor,
            4.0);
  expectRefusal(kind(R"({"llama.rope.scaling.type": "ntk"})"),
                "llama.rope.scaling.type: unknown kind of rotary scaling "
                "'ntk'; known are: none, linear, yarn, longrope");
}

TEST(Rope, YarnBlendsByTurns) {
  RopeScaling scaling = read(
      R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
          "original_max_position_embeddings": 32}})");
  // A pair turns once in 32 positions at 4 ln(32 / 2 pi) / (2 ln 10000) =
  // 0.35, rounded up 1; 32 times below 0. So pair 0 stays and pair 1 is
  // divided.
  std::vector<double> result = ropeFrequencies(kBase, scaling);
  EXPECT_DOUBLE_EQ(result[0], 1);
  EXPECT_DOUBLE_EQ(result[1], 0.0025);
  EXPECT_DOUBLE_EQ(scaling.amplitude, 0.1 * std::log(4.0) + 1);
}

TEST(Rope, YarnsAmplitudeMayBeGiven) {
  EXPECT_EQ(read(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
                     "attention_factor": 1.5}})")
                .amplitude,
            1.5);
  EXPECT_DOUBLE_EQ(read(R"({"rope_scaling": {"rope_type": "yarn", "factor": 4,
                            "mscale": 2, "mscale_all_dim": 1}})")
                       .amplitude,
                   (0.2 * std::log(4.0) + 1) / (0.1 * std::log(4.0) + 1));
}

TEST(Rope, LongropeTakesTheListOfTheOriginalContext) {
  RopeScaling scaling = read(
      R"({"rope_scaling": {"type": "longrope", "short_factor": [1, 2],
          "long_factor": [4, 8]},
          "original_max_position_embeddings": 16})");
  EXPECT_EQ(ropeFrequencies(kBase, scaling), (std::vector<double>{1, 0.005}));
  EXPECT_EQ(scaling.longest, 16);
  // The context is 4 times the original.
  EXPECT_DOUBLE_EQ(scaling.amplitude,
                   std::sqrt(1 + std::log(4.0) / std::log(16.0)));
}

TEST(Rope, DynamicScalingStartsBehindTheContext) {
  RopeScaling scaling =
      read(R"({"rope_scaling": {"type": "dynamic", "factor": 2}})");
  EXPECT_EQ(ropeFrequencies(kBase, scaling), ropeFrequencies(kBase));
  EXPECT_EQ(scaling.longest, 64);
}

} // namespace

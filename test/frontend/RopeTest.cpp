#include "frontend/Rope.h"

#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

RopeScaling read(const std::string &config) {
  Result<ConfigNode> node = ConfigNode::parse(config, "config.json");
  Result<RopeScaling> scaling = readRopeScaling(*node);
  EXPECT_TRUE(scaling.ok()) << scaling.status().message();
  return scaling.ok() ? *scaling : RopeScaling();
}

TEST(Rope, FrequenciesArePowersOfTheta) {
  EXPECT_EQ(ropeFrequencies(4, 10000), (std::vector<double>{1, 0.01}));
}

TEST(Rope, OldAndNewKeysMeanTheSame) {
  for (const char *text :
       {R"({"rope_scaling": {"type": "linear", "factor": 4}})",
        R"({"rope_scaling": {"rope_type": "linear", "factor": 4.0}})",
        R"({"rope_parameters": {"rope_type": "linear", "factor": 4}})"}) {
    RopeScaling scaling = read(text);
    EXPECT_EQ(scaling.kind, RopeScaling::Linear);
    EXPECT_EQ(scaled({1, 0.01}, scaling), (std::vector<double>{0.25, 0.0025}));
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
  std::vector<double> plain = ropeFrequencies(8, 10000);
  std::vector<double> result = scaled(plain, scaling);
  for (size_t j = 0; j < 4; ++j)
    EXPECT_NEAR(plain[j] / result[j], factors[j], 1e-6);
}

TEST(Rope, GgufKeys) {
  auto kind = [](const std::string &text) {
    return readGgufRopeScaling(*ConfigNode::parse(text, "m.gguf"), "llama");
  };
  EXPECT_EQ(kind("{}")->kind, RopeScaling::None);
  EXPECT_EQ(kind(R"({"llama.rope.scaling.type": "none"})")->kind,
            RopeScaling::None);
  EXPECT_EQ(kind(R"({"llama.rope.scale_linear": 2.0})")->factor, 2.0);
  EXPECT_EQ(kind(R"({"llama.rope.scaling.type": "linear",
                     "llama.rope.scaling.factor": 4.0})")
                ->factor,
            4.0);
  expectRefusal(kind(R"({"llama.rope.scaling.type": "yarn"})"),
                "llama.rope.scaling.type: unknown kind of rotary scaling "
                "'yarn'; known are: none, linear");
}

} // namespace

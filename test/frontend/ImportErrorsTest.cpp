//===- ImportErrorsTest.cpp - What the frontend refuses, and how --------===//

#include "test/frontend/TinyModel.h"

#include "gtest/gtest.h"

using namespace tandem;
using namespace tandem::test;

namespace {

/// A setting that is wrong, and what the message must say.
struct Mistake {
  const char *key;
  const char *value; ///< JSON; null takes the key away.
  const char *message;
};

class ConfigMistake : public testing::TestWithParam<Mistake> {};

TEST_P(ConfigMistake, IsNamed) {
  TinyModel model;
  model.config[GetParam().key] = nlohmann::json::parse(GetParam().value);
  expectRefusal(model.import(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Llama, ConfigMistake,
    testing::Values(
        Mistake{"architectures", "[\"MambaForCausalLM\"]",
                "config.json: architectures: unknown architecture "
                "'MambaForCausalLM'; known are: llama, mistral"},
        Mistake{"vocab_size", "null",
                "config.json: the key 'vocab_size' is missing"},
        Mistake{"num_attention_heads", "0",
                "config.json: num_attention_heads: expected a size of 1 to "
                "2147483648, got 0"},
        Mistake{"hidden_size", "-8", "hidden_size: expected a size of 1 to"},
        Mistake{"num_hidden_layers", "70000",
                "expected at most 65536 layers, got 70000"},
        Mistake{"num_hidden_layers", "\"two\"",
                "num_hidden_layers: expected an integer, got string \"two\""},
        Mistake{"num_hidden_layers", "1.5", "num_hidden_layers: expected"},
        Mistake{"num_key_value_heads", "3",
                "num_key_value_heads: expected a divisor of the 4 heads, "
                "got 3"},
        Mistake{"num_attention_heads", "6",
                "num_attention_heads: expected a divisor of the hidden size "
                "8, got 6"},
        Mistake{"head_dim", "3",
                "expected an even number of at most head_dim = 3 lanes"},
        Mistake{"hidden_act", "\"mish\"",
                "hidden_act: unknown activation 'mish'; known are: silu"},
        Mistake{"rope_scaling", "{\"rope_type\": \"ntk\", \"factor\": 2}",
                "rope_scaling: unknown kind of rotary scaling 'ntk'; known "
                "are: default, linear, llama3, yarn, longrope, dynamic"},
        Mistake{"rope_scaling", "{\"rope_type\": \"linear\", \"fator\": 2}",
                "rope_scaling: unknown setting 'fator'; did you mean "
                "'factor'?"},
        Mistake{"rope_scaling", "{\"factor\": 2}",
                "rope_scaling: a factor means nothing with rope_type "
                "'default'"},
        Mistake{"rope_parameters", "8", "rope_parameters: expected an object"},
        Mistake{"rope_scaling",
                "{\"type\": \"longrope\", \"short_factor\": [1, 2], "
                "\"original_max_position_embeddings\": 16}",
                "rope_scaling.short_factor: expected one number for each of "
                "the 1 pairs, got 2"},
        Mistake{"rope_scaling",
                "{\"type\": \"longrope\", \"short_factor\": [0], "
                "\"original_max_position_embeddings\": 16}",
                "rope_scaling.short_factor: expected numbers above 0"},
        Mistake{"layer_types", "[\"full_attention\"]",
                "layer_types: expected one entry for each of the 2 layers, "
                "got 1"},
        Mistake{"layer_types", "[\"full_attention\", \"linear_attention\"]",
                "layer_types: layer 1: unknown type 'linear_attention'; known "
                "are: full_attention, sliding_attention"},
        Mistake{"layer_types", "[\"full_attention\", \"sliding_attention\"]",
                "layer_types: layers with a window, but the settings give "
                "none"},
        Mistake{"rope_scaling", "{\"type\": \"linear\"}",
                "rope_scaling: the key 'factor' is missing"},
        Mistake{"rope_scaling", "{\"type\": \"linear\", \"factor\": -1}",
                "rope_scaling.factor: expected a number above 0"},
        Mistake{"rope_parameters",
                "{\"rope_type\": \"llama3\", \"factor\": 8, "
                "\"low_freq_factor\": 4, \"high_freq_factor\": 4, "
                "\"original_max_position_embeddings\": 16}",
                "high_freq_factor must exceed low_freq_factor"},
        Mistake{"rope_theta", "0", "rope_theta: expected a number above 0"},
        Mistake{"quantization_config", "{\"quant_method\": \"awq\"}",
                "quantization_config: weights quantised for this format are "
                "not read"}),
    [](const auto &info) {
      return std::string(info.param.key) + std::to_string(info.index);
    });

TEST(ImportErrors, AMissingTensorIsNamedWithItsShape) {
  TinyModel model;
  model.tensors.erase("model.layers.1.mlp.up_proj.weight");
  model.tensors["model.layers.1.mlp.upp_proj.weight"] = {6, 8};
  expectRefusal(model.import(),
                "tensor 'model.layers.1.mlp.up_proj.weight' is missing; "
                "expected shape [6, 8] (ffn, model); did you mean "
                "'model.layers.1.mlp.upp_proj.weight'?");
}

TEST(ImportErrors, AShapeThatContradictsTheConfigIsNamed) {
  TinyModel model;
  model.tensors["model.layers.0.mlp.down_proj.weight"] = {6, 8};
  Result<ImportedModel> result = model.import();
  expectRefusal(result, "model.safetensors: tensor "
                        "'model.layers.0.mlp.down_proj.weight': got shape "
                        "[6, 8], expected [8, 6] (model, ffn) by ");
  expectRefusal(result, "config.json");
}

TEST(ImportErrors, IntegersAreNoWeights) {
  TinyModel model;
  model.dtype = "I32";
  expectRefusal(model.import(), "got i32, expected floats");
}

TEST(ImportErrors, ASurplusTensorIsAWarningOrAnError) {
  TinyModel model;
  model.tensors["model.layers.2.input_layernorm.weight"] = {8};
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  ASSERT_EQ(result->warnings.size(), 1u);
  const char *message = "tensor 'model.layers.2.input_layernorm.weight' of "
                        "shape [8] is not used by the model";
  EXPECT_NE(result->warnings[0].find(message), std::string::npos);
  model.options.strict = true;
  expectRefusal(model.import(), message);
}

TEST(ImportErrors, ATiedHeadThatIsStoredTooIsKnown) {
  TinyModel model;
  model.config["tie_word_embeddings"] = true;
  model.options.strict = true;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  EXPECT_TRUE(result->warnings.empty());
}

TEST(ImportErrors, AStoredTiedHeadThatDiffersIsToldOf) {
  TinyModel model;
  model.config["tie_word_embeddings"] = true;
  model.tensors["lm_head.weight"] = {12, 8};
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  ASSERT_EQ(result->warnings.size(), 1u);
  EXPECT_NE(result->warnings[0].find("differs from the embedding table"),
            std::string::npos);
}

TEST(ImportErrors, RotaryFrequenciesMustAgree) {
  TinyModel model;
  model.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {1};
  // The frequency of the only pair is 1; the file says 0.
  expectRefusal(model.import(), "rotary_emb.inv_freq': element 0: got "
                                "0.000000, expected 1.000000 by the rotary "
                                "settings of ");
  model.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = {2};
  expectRefusal(model.import(), "got shape [2], expected [1]");
}

TEST(ImportErrors, SettingsMustBeKnown) {
  TinyModel model;
  model.options.settings = {"num_hiden_layers=1"};
  expectRefusal(model.import(), "--set num_hiden_layers: ");
  expectRefusal(model.import(), "did you mean 'num_hidden_layers'?");
  model.options.settings = {"num_hidden_layers"};
  expectRefusal(model.import(), "expected KEY=VALUE");
}

TEST(ImportErrors, SettingsReplaceTheConfiguration) {
  TinyModel model;
  model.options.settings = {"num_hidden_layers=1"};
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  EXPECT_EQ(result->warnings.size(), 9u); // Layer 1 is a surplus now.
}

TEST(ImportErrors, SequencesAreChecked) {
  TinyModel model;
  model.options.entry.maxSeq = -1;
  expectRefusal(model.import(), "max-seq: expected 1 to");
  model.options.entry.maxSeq = 33;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  ASSERT_EQ(result->warnings.size(), 1u);
  EXPECT_NE(result->warnings[0].find("longer than the model's 32 positions"),
            std::string::npos);
  model.options.entry.batch = 0;
  expectRefusal(model.import(), "batch: expected 1 to");
}

TEST(ImportErrors, LearnedPositionsAreALimit) {
  TANDEM_ASSET_OR_SKIP(path, "models/gpt2");
  mlir::MLIRContext context;
  ImportOptions options;
  options.entry.maxSeq = 33;
  expectRefusal(importModel(path, options, context),
                "a sequence of 33 is longer than the model's 32 positions");
}

TEST(ImportErrors, EncodersHaveNoNextToken) {
  TANDEM_ASSET_OR_SKIP(path, "models/bert");
  mlir::MLIRContext context;
  ImportOptions options;
  options.entry.entry = Entry::Generate;
  expectRefusal(importModel(path, options, context),
                "'bert' models are encoders, whose tokens see what follows "
                "them: there is no next token to compute; expected --entry "
                "logits, loss, gradients or train, got generate");
}

TEST(ImportErrors, PromptsHideNoTokens) {
  TinyModel model;
  model.options.entry.entry = Entry::Generate;
  model.options.entry.attentionMask = true;
  expectRefusal(model.import(), "--attention-mask: expected --entry logits or "
                                "next; prompts of 'generate' have no hidden "
                                "tokens");
}

TEST(ImportErrors, SequencesBeyondTheOriginalContextAreRefused) {
  TinyModel model;
  model.config["rope_scaling"] = {{"type", "longrope"},
                                  {"short_factor", {1.0}},
                                  {"original_max_position_embeddings", 16}};
  expectRefusal(model.import(),
                "a sequence of 32 is longer than the 16 positions within "
                "which rotary positions are known beforehand; expected a "
                "--max-seq of at most that");
  model.options.entry.maxSeq = 16;
  ASSERT_OK(model.import());
}

TEST(ImportErrors, TwoObjectsOfRotarySettingsMustAgree) {
  TinyModel model;
  model.config["rope_parameters"] = {{"rope_type", "default"},
                                     {"rope_theta", 10000.0}};
  model.config["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  expectRefusal(model.import(), "rope_parameters and rope_scaling disagree; "
                                "expected one of them, or the same in both");
}

TEST(ImportErrors, TwoNamesOfASettingMustAgree) {
  TinyModel model;
  model.config["rope_parameters"] = {{"rope_theta", 10000.0}};
  model.config["rope_theta"] = 500.0;
  Result<ImportedModel> result = model.import();
  expectRefusal(result, "config.json: rope_theta: got number 500.0, but ");
  expectRefusal(result, "config.json: rope_parameters.rope_theta is number "
                        "10000.0; expected one of them, or the same in both");
  model.config["rope_theta"] = 10000;
  ASSERT_OK(model.import());
}

TEST(ImportErrors, HeadsOfAnotherSizeAreReadOrRefused) {
  TANDEM_ASSET_OR_SKIP(path, "models/gpt-neox");
  mlir::MLIRContext context;
  ImportOptions options;
  options.settings = {"head_dim=16"};
  expectRefusal(importModel(path, options, context), "no such setting");
  TinyModel model;
  model.config["architectures"] = {"GPTNeoXForCausalLM"};
  model.config["head_dim"] = 4;
  expectRefusal(model.import(), "head_dim: expected 2 = hidden / heads, as all "
                                "models of 'gpt_neox' have, got 4");
}

TEST(ImportErrors, WindowsFollowAListOnlyWhereTheFamilyDoes) {
  TinyModel model;
  model.config["architectures"] = {"MistralForCausalLM"};
  model.config["sliding_window"] = 4;
  model.config["layer_types"] = {"full_attention", "sliding_attention"};
  expectRefusal(model.import(),
                "layer_types: the windows of 'mistral' models follow no list; "
                "expected the same window for all layers, or null");
  model.config["layer_types"] = {"sliding_attention", "sliding_attention"};
  ASSERT_OK(model.import());
}

TEST(ImportErrors, ANarrowTableNeedsAProjection) {
  TinyModel model;
  model.config["architectures"] = {"OPTForCausalLM"};
  model.config["word_embed_proj_dim"] = 4;
  model.config["ffn_dim"] = 6;
  model.config["activation_function"] = "relu";
  expectRefusal(model.import(), "tensor 'model.decoder.embed_tokens.weight' "
                                "is missing; expected shape [11, 4] (vocab, "
                                "embedding)");
}

TEST(ImportErrors, EntriesAreKnown) {
  expectRefusal(parseEntry("trin"),
                "unknown entry 'trin'; known are: logits, next, generate, "
                "loss, gradients, train; did you mean 'train'?");
}

} // namespace

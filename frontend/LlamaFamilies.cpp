#include "frontend/Families.h"

namespace tandem {
namespace {

Architecture llama() {
  Architecture a;
  a.name = "llama";
  a.architectures = {"LlamaForCausalLM"};
  ConfigKeys &k = a.keys;
  k.vocab = {{"vocab_size"}};
  k.hidden = {{"hidden_size"}};
  k.layers = {{"num_hidden_layers"}};
  k.heads = {{"num_attention_heads"}};
  k.kvHeads = {{"num_key_value_heads"}};
  k.headDim = {{"head_dim"}};
  k.ffn = {{"intermediate_size"}};
  k.maxPosition = {{"max_position_embeddings"}, 2048};
  k.epsilon = {{"rms_norm_eps"}, 1e-6};
  k.tied = {{"tie_word_embeddings"}, 0};
  k.activation = {{"hidden_act"}};
  k.ropeTheta = {
      {"rope_parameters/rope_theta", "rope_scaling/rope_theta", "rope_theta"},
      10000};
  k.ropeFraction = {{"rope_parameters/partial_rotary_factor",
                     "rope_scaling/partial_rotary_factor",
                     "partial_rotary_factor"},
                    1};
  const When bias = ifSet("attention_bias"), mlp = ifSet("mlp_bias");
  a.tensors = {
      {Role::Tokens, "model.embed_tokens"},
      {Role::AttentionNorm, "model.layers.*.input_layernorm"},
      {Role::Query, "model.layers.*.self_attn.q_proj", bias},
      {Role::Key, "model.layers.*.self_attn.k_proj", bias},
      {Role::Value, "model.layers.*.self_attn.v_proj", bias},
      {Role::Output, "model.layers.*.self_attn.o_proj", bias},
      {Role::MlpNorm, "model.layers.*.post_attention_layernorm"},
      {Role::Gate, "model.layers.*.mlp.gate_proj", mlp},
      {Role::Up, "model.layers.*.mlp.up_proj", mlp},
      {Role::Down, "model.layers.*.mlp.down_proj", mlp},
      {Role::FinalNorm, "model.norm"},
      {Role::Head, "lm_head"},
  };
  a.buffers = {{Buffer::RotaryFrequencies, "model.rotary_emb.inv_freq"},
               {Buffer::RotaryFrequencies,
                "model.layers.*.self_attn.rotary_emb.inv_freq"}};
  return a;
}

Architecture mistral() {
  Architecture a = llama();
  a.name = "mistral";
  a.architectures = {"MistralForCausalLM"};
  a.keys.window = {{"sliding_window"}, 4096};
  for (TensorRow &row : a.tensors)
    row.bias = never();
  return a;
}

Architecture qwen2() {
  Architecture a = mistral();
  a.name = "qwen2";
  a.architectures = {"Qwen2ForCausalLM"};
  a.keys.windowOn = {{"use_sliding_window"}, 0};
  a.keys.windowFrom = {{"max_window_layers"}, 28};
  a.windowList = true;
  for (Role role : {Role::Query, Role::Key, Role::Value})
    a.at(role).bias = always();
  return a;
}

Architecture qwen3() {
  Architecture a = qwen2();
  a.name = "qwen3";
  a.architectures = {"Qwen3ForCausalLM"};
  a.keys.headDim = {{"head_dim"}, 128};
  for (Role role : {Role::Query, Role::Key, Role::Value, Role::Output})
    a.at(role).bias = ifSet("attention_bias");
  a.tensors.push_back({Role::QueryNorm, "model.layers.*.self_attn.q_norm"});
  a.tensors.push_back({Role::KeyNorm, "model.layers.*.self_attn.k_norm"});
  return a;
}

Architecture phi3() {
  Architecture a = mistral();
  a.name = "phi3";
  a.architectures = {"Phi3ForCausalLM"};
  a.keys.epsilon = {{"rms_norm_eps"}, 1e-5};
  a.keys.window = {{"sliding_window"}, 0};
  for (Role role : {Role::Query, Role::Key, Role::Value})
    a.at(role).stem = "model.layers.*.self_attn.qkv_proj";
  for (Role role : {Role::Gate, Role::Up})
    a.at(role).stem = "model.layers.*.mlp.gate_up_proj";
  return a;
}

Architecture gemma2() {
  Architecture a = llama();
  a.name = "gemma2";
  a.architectures = {"Gemma2ForCausalLM"};
  ConfigKeys &k = a.keys;
  k.headDim = {{"head_dim"}, 256};
  k.maxPosition = {{"max_position_embeddings"}, 8192};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.activation = {{"hidden_activation"}};
  k.window = {{"sliding_window"}, 4096};
  k.queryScale = {{"query_pre_attn_scalar"}, 256};
  k.attentionSoftcap = {{"attn_logit_softcapping"}, 50};
  k.logitSoftcap = {{"final_logit_softcapping"}, 30};
  a.refusals = {{"use_bidirectional_attention", "false",
                 "attention in both directions is not read"}};
  a.at(Role::MlpNorm).stem = "model.layers.*.pre_feedforward_layernorm";
  a.tensors.push_back(
      {Role::AttentionPostNorm, "model.layers.*.post_attention_layernorm"});
  a.tensors.push_back(
      {Role::MlpPostNorm, "model.layers.*.post_feedforward_layernorm"});
  for (Role role : {Role::Gate, Role::Up, Role::Down})
    a.at(role).bias = never();
  a.normOffset = 1;
  a.scaledEmbedding = true;
  a.activation = "gelu_pytorch_tanh";
  a.windowEvery = 2;
  a.windowList = true;
  return a;
}

/// Factors on embeddings, blocks, scores and logits.
Architecture granite() {
  Architecture a = llama();
  a.name = "granite";
  a.architectures = {"GraniteForCausalLM"};
  ConfigKeys &k = a.keys;
  k.embeddingScale = {{"embedding_multiplier"}, 1};
  k.residualScale = {{"residual_multiplier"}, 1};
  k.attentionScale = {{"attention_multiplier"}, 1};
  k.logitDivisor = {{"logits_scaling"}, 1};
  return a;
}

/// Norms behind the blocks alone, and of all queries and all keys together.
Architecture olmo2() {
  Architecture a = llama();
  a.name = "olmo2";
  a.architectures = {"Olmo2ForCausalLM"};
  a.keys.epsilon = {{"rms_norm_eps"}, 1e-5};
  a.remove(Role::AttentionNorm);
  a.remove(Role::MlpNorm);
  for (Role role : {Role::Gate, Role::Up, Role::Down})
    a.at(role).bias = never();
  const std::string layer = "model.layers.*.";
  a.tensors.push_back(
      {Role::AttentionPostNorm, layer + "post_attention_layernorm"});
  a.tensors.push_back(
      {Role::MlpPostNorm, layer + "post_feedforward_layernorm"});
  a.tensors.push_back({Role::QueryNorm, layer + "self_attn.q_norm"});
  a.tensors.push_back({Role::KeyNorm, layer + "self_attn.k_norm"});
  a.headNorm = HeadNorm::All;
  return a;
}

/// One layer norm for both blocks, which run beside each other.
Architecture cohere() {
  Architecture a = llama();
  a.name = "cohere";
  a.architectures = {"CohereForCausalLM"};
  ConfigKeys &k = a.keys;
  k.maxPosition = {{"max_position_embeddings"}, 8192};
  k.epsilon = {{"layer_norm_eps"}, 1e-5};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.logitScale = {{"logit_scale"}, 0.0625};
  k.parallelResidual = {{}, 1};
  a.refusals = {{"use_qk_norm", "false",
                 "norms with a weight for each head are not read"}};
  a.remove(Role::MlpNorm);
  for (Role role : {Role::Gate, Role::Up, Role::Down})
    a.at(role).bias = never();
  a.norm = NormKind::Layer;
  a.ropeInterleaved = true;
  return a;
}

/// Layer norms, positions on a part of a head's lanes.
Architecture stableLm() {
  Architecture a = llama();
  a.name = "stablelm";
  a.architectures = {"StableLmForCausalLM"};
  ConfigKeys &k = a.keys;
  k.maxPosition = {{"max_position_embeddings"}, 4096};
  k.epsilon = {{"layer_norm_eps"}, 1e-5};
  k.ropeFraction.otherwise = 0.25;
  k.parallelResidual = {{"use_parallel_residual"}, 0};
  a.refusals = {{"qk_layernorm", "false",
                 "norms with a weight for each head are not read"}};
  for (Role role : {Role::Query, Role::Key, Role::Value})
    a.at(role).bias = ifSet("use_qkv_bias");
  for (Role role : {Role::Output, Role::Gate, Role::Up, Role::Down})
    a.at(role).bias = never();
  a.at(Role::MlpNorm).there = ifNotSet("use_parallel_residual");
  a.norm = NormKind::Layer;
  a.normBias = true;
  return a;
}

/// Layer norms, biases, no gate.
Architecture starcoder2() {
  Architecture a = llama();
  a.name = "starcoder2";
  a.architectures = {"Starcoder2ForCausalLM"};
  ConfigKeys &k = a.keys;
  k.maxPosition = {{"max_position_embeddings"}, 4096};
  k.epsilon = {{"norm_epsilon"}, 1e-5};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.window = {{"sliding_window"}, 0};
  a.remove(Role::Gate);
  a.at(Role::Up).stem = "model.layers.*.mlp.c_fc";
  a.at(Role::Down).stem = "model.layers.*.mlp.c_proj";
  for (Role role : {Role::Query, Role::Key, Role::Value, Role::Output, Role::Up,
                    Role::Down})
    a.at(role).bias = ifSet("use_bias", true);
  a.norm = NormKind::Layer;
  a.normBias = true;
  a.activation = "gelu_pytorch_tanh";
  return a;
}

/// One layer norm for both blocks, biases everywhere, no gate.
Architecture phi() {
  Architecture a = starcoder2();
  a.name = "phi";
  a.architectures = {"PhiForCausalLM"};
  ConfigKeys &k = a.keys;
  k.maxPosition = {{"max_position_embeddings"}, 2048};
  k.epsilon = {{"layer_norm_eps"}, 1e-5};
  k.tied = {{"tie_word_embeddings"}, 0};
  k.window = {};
  k.ropeFraction.otherwise = 0.5;
  k.parallelResidual = {{}, 1};
  a.refusals = {{"qk_layernorm", "false",
                 "norms of queries and keys with biases are not read"}};
  a.remove(Role::MlpNorm);
  a.at(Role::Output).stem = "model.layers.*.self_attn.dense";
  a.at(Role::Up).stem = "model.layers.*.mlp.fc1";
  a.at(Role::Down).stem = "model.layers.*.mlp.fc2";
  a.at(Role::FinalNorm).stem = "model.final_layernorm";
  for (Role role : {Role::Query, Role::Key, Role::Value, Role::Output, Role::Up,
                    Role::Down, Role::Head})
    a.at(role).bias = always();
  a.activation = "gelu_new";
  return a;
}

} // namespace

std::vector<Architecture> llamaFamilies() {
  return {llama(),   mistral(), qwen2(),  qwen3(),    phi3(),       gemma2(),
          granite(), olmo2(),   cohere(), stableLm(), starcoder2(), phi()};
}

} // namespace tandem

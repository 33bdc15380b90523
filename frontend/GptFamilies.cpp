#include "frontend/Families.h"

namespace tandem {
namespace {

Architecture gptNeoX() {
  Architecture a;
  a.name = "gpt_neox";
  a.architectures = {"GPTNeoXForCausalLM"};
  ConfigKeys &k = a.keys;
  k.vocab = {{"vocab_size"}};
  k.hidden = {{"hidden_size"}};
  k.layers = {{"num_hidden_layers"}};
  k.heads = {{"num_attention_heads"}};
  k.ffn = {{"intermediate_size"}};
  k.maxPosition = {{"max_position_embeddings"}, 2048};
  k.tied = {{"tie_word_embeddings"}, 0};
  k.activation = {{"hidden_act"}};
  k.epsilon = {{"layer_norm_eps"}, 1e-5};
  k.ropeTheta = {
      {"rope_parameters/rope_theta", "rope_theta", "rotary_emb_base"}, 10000};
  k.ropeFraction = {{"rope_parameters/partial_rotary_factor",
                     "partial_rotary_factor", "rotary_pct"},
                    0.25};
  k.parallelResidual = {{"use_parallel_residual"}, 1};
  const When bias = ifSet("attention_bias", true);
  a.prefixes = {"gpt_neox."};
  a.tensors = {
      {Role::Tokens, "$embed_in"},
      {Role::AttentionNorm, "$layers.*.input_layernorm"},
      {Role::Query, "$layers.*.attention.query_key_value", bias},
      {Role::Key, "$layers.*.attention.query_key_value", bias},
      {Role::Value, "$layers.*.attention.query_key_value", bias},
      {Role::Output, "$layers.*.attention.dense", bias},
      {Role::MlpNorm, "$layers.*.post_attention_layernorm"},
      {Role::Up, "$layers.*.mlp.dense_h_to_4h", always()},
      {Role::Down, "$layers.*.mlp.dense_4h_to_h", always()},
      {Role::FinalNorm, "$final_layer_norm"},
      {Role::Head, "embed_out"},
  };
  a.buffers = {
      {Buffer::RotaryFrequencies, "$layers.*.attention.rotary_emb.inv_freq"},
      {Buffer::CausalMask, "$layers.*.attention.bias"},
      {Buffer::CausalMask, "$layers.*.attention.masked_bias"}};
  a.fusion = Fusion::PerGroup;
  a.norm = NormKind::Layer;
  a.normBias = true;
  a.activation = "gelu";
  return a;
}

Architecture gpt2() {
  Architecture a;
  a.name = "gpt2";
  a.architectures = {"GPT2LMHeadModel"};
  ConfigKeys &k = a.keys;
  k.vocab = {{"vocab_size"}};
  k.hidden = {{"n_embd", "hidden_size"}};
  k.layers = {{"n_layer", "num_hidden_layers"}};
  k.heads = {{"n_head", "num_attention_heads"}};
  k.ffn = {{"n_inner"}, 0};
  k.maxPosition = {{"n_positions", "max_position_embeddings", "n_ctx"}, 1024};
  k.epsilon = {{"layer_norm_epsilon"}, 1e-5};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.activation = {{"activation_function"}};
  k.scaleAttention = {{"scale_attn_weights"}, 1};
  k.scaleByLayer = {{"scale_attn_by_inverse_layer_idx"}, 0};
  a.refusals = {{"add_cross_attention", "false",
                 "cross attention needs an encoder, which is not read"}};
  a.prefixes = {"transformer.", ""};
  a.tensors = {
      {Role::Tokens, "$wte"},
      {Role::Positions, "$wpe"},
      {Role::AttentionNorm, "$h.*.ln_1"},
      {Role::Query, "$h.*.attn.c_attn", always()},
      {Role::Key, "$h.*.attn.c_attn", always()},
      {Role::Value, "$h.*.attn.c_attn", always()},
      {Role::Output, "$h.*.attn.c_proj", always()},
      {Role::MlpNorm, "$h.*.ln_2"},
      {Role::Up, "$h.*.mlp.c_fc", always()},
      {Role::Down, "$h.*.mlp.c_proj", always()},
      {Role::FinalNorm, "$ln_f"},
      {Role::Head, "lm_head"},
  };
  a.buffers = {{Buffer::CausalMask, "$h.*.attn.bias"},
               {Buffer::CausalMask, "$h.*.attn.masked_bias"}};
  a.layout = Layout::InOut;
  a.norm = NormKind::Layer;
  a.normBias = true;
  a.positions = PositionKind::Learned;
  a.activation = "gelu_new";
  return a;
}

/// GPT-2's names, but rotary positions and blocks beside each other.
Architecture gptJ() {
  Architecture a = gpt2();
  a.name = "gptj";
  a.architectures = {"GPTJForCausalLM"};
  ConfigKeys &k = a.keys;
  k.maxPosition = {{"n_positions", "max_position_embeddings"}, 2048};
  k.tied = {{"tie_word_embeddings"}, 0};
  k.ropeDim = {{"rotary_dim"}, 64};
  k.scaleAttention = k.scaleByLayer = {};
  k.parallelResidual = {{}, 1};
  a.refusals = {};
  a.remove(Role::Positions);
  a.remove(Role::MlpNorm);
  for (Role role : {Role::Query, Role::Key, Role::Value, Role::Output})
    a.at(role).bias = never();
  a.at(Role::Query).stem = "$h.*.attn.q_proj";
  a.at(Role::Key).stem = "$h.*.attn.k_proj";
  a.at(Role::Value).stem = "$h.*.attn.v_proj";
  a.at(Role::Output).stem = "$h.*.attn.out_proj";
  a.at(Role::Up).stem = "$h.*.mlp.fc_in";
  a.at(Role::Down).stem = "$h.*.mlp.fc_out";
  a.at(Role::Head).bias = always();
  a.layout = Layout::OutIn;
  a.positions = PositionKind::Rotary;
  a.ropeInterleaved = true;
  return a;
}

/// Learned positions, a table that may be narrower than the model, norms
/// before or behind the blocks.
Architecture opt() {
  Architecture a;
  a.name = "opt";
  a.architectures = {"OPTForCausalLM"};
  ConfigKeys &k = a.keys;
  k.vocab = {{"vocab_size"}};
  k.hidden = {{"hidden_size"}};
  k.layers = {{"num_hidden_layers"}};
  k.heads = {{"num_attention_heads"}};
  k.ffn = {{"ffn_dim"}};
  k.maxPosition = {{"max_position_embeddings"}, 2048};
  k.embedding = {{"word_embed_proj_dim"}};
  k.initializerRange = {{"init_std"}, 0.02};
  k.epsilon = {{}, 1e-5};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.activation = {{"activation_function"}};
  k.normFirst = {{"do_layer_norm_before"}, 1};
  a.refusals = {{"layer_norm_elementwise_affine", "true", "norms have weights"},
                {"_remove_final_layer_norm", "false",
                 "the last norm follows do_layer_norm_before"}};
  const When bias = ifSet("enable_bias", true);
  a.prefixes = {"model.decoder.", "decoder."};
  a.tensors = {
      {Role::Tokens, "$embed_tokens"},
      {Role::ProjectIn, "$project_in"},
      {Role::Positions, "$embed_positions"},
      {Role::AttentionNorm, "$layers.*.self_attn_layer_norm"},
      {Role::Query, "$layers.*.self_attn.q_proj", bias},
      {Role::Key, "$layers.*.self_attn.k_proj", bias},
      {Role::Value, "$layers.*.self_attn.v_proj", bias},
      {Role::Output, "$layers.*.self_attn.out_proj", bias},
      {Role::MlpNorm, "$layers.*.final_layer_norm"},
      {Role::Up, "$layers.*.fc1", bias},
      {Role::Down, "$layers.*.fc2", bias},
      {Role::FinalNorm, "$final_layer_norm", never(),
       ifSet("do_layer_norm_before", true)},
      {Role::ProjectOut, "$project_out"},
      {Role::Head, "lm_head"},
  };
  a.norm = NormKind::Layer;
  a.normBias = true;
  a.positions = PositionKind::Learned;
  a.positionOffset = 2;
  a.counted = Counted::Shown;
  a.activation = "relu";
  return a;
}

/// ALiBi, a norm of the embedding, queries, keys and values fused by heads.
Architecture bloom() {
  Architecture a;
  a.name = "bloom";
  a.architectures = {"BloomForCausalLM"};
  ConfigKeys &k = a.keys;
  k.vocab = {{"vocab_size"}};
  k.hidden = {{"hidden_size", "n_embed"}};
  k.layers = {{"n_layer", "num_hidden_layers"}};
  k.heads = {{"n_head", "num_attention_heads"}};
  k.ffn = {{}, 0};
  k.maxPosition = {{"seq_length"}, 2048};
  k.epsilon = {{"layer_norm_epsilon"}, 1e-5};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.keepNormed = {{"apply_residual_connection_post_layernorm"}, 0};
  a.prefixes = {"transformer.", ""};
  const std::string fused = "$h.*.self_attention.query_key_value";
  a.tensors = {
      {Role::Tokens, "$word_embeddings"},
      {Role::EmbeddingNorm, "$word_embeddings_layernorm"},
      {Role::AttentionNorm, "$h.*.input_layernorm"},
      {Role::Query, fused, always()},
      {Role::Key, fused, always()},
      {Role::Value, fused, always()},
      {Role::Output, "$h.*.self_attention.dense", always()},
      {Role::MlpNorm, "$h.*.post_attention_layernorm"},
      {Role::Up, "$h.*.mlp.dense_h_to_4h", always()},
      {Role::Down, "$h.*.mlp.dense_4h_to_h", always()},
      {Role::FinalNorm, "$ln_f"},
      {Role::Head, "lm_head"},
  };
  a.fusion = Fusion::PerGroup;
  a.norm = NormKind::Layer;
  a.normBias = true;
  a.positions = PositionKind::Alibi;
  a.activation = "gelu_new";
  return a;
}

} // namespace

std::vector<Architecture> gptFamilies() {
  return {gpt2(), gptNeoX(), gptJ(), opt(), bloom()};
}

} // namespace tandem

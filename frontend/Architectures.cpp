//===- Architectures.cpp - The table of families ------------------------===//

#include "frontend/Architecture.h"

#include <algorithm>

namespace tandem {
namespace {

const Bias kAlways = {Bias::Always, ""};
const Bias kIfStored = {Bias::IfStored, ""};

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
  k.ropeTheta = {{"rope_parameters/rope_theta", "rope_theta"}, 10000};
  k.ropeFraction = {{"rope_parameters/partial_rotary_factor",
                     "rope_scaling/partial_rotary_factor",
                     "partial_rotary_factor"},
                    1};
  const Bias bias = biasIf("attention_bias"), mlp = biasIf("mlp_bias");
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
    row.bias = {};
  return a;
}

Architecture qwen2() {
  Architecture a = mistral();
  a.name = "qwen2";
  a.architectures = {"Qwen2ForCausalLM"};
  a.keys.windowOn = {{"use_sliding_window"}, 0};
  a.keys.windowFrom = {{"max_window_layers"}, 28};
  for (Role role : {Role::Query, Role::Key, Role::Value})
    a.at(role).bias = kAlways;
  return a;
}

Architecture qwen3() {
  Architecture a = qwen2();
  a.name = "qwen3";
  a.architectures = {"Qwen3ForCausalLM"};
  a.keys.headDim = {{"head_dim"}, 128};
  for (Role role : {Role::Query, Role::Key, Role::Value, Role::Output})
    a.at(role).bias = biasIf("attention_bias");
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
    a.at(role).bias = {};
  a.normOffset = 1;
  a.scaledEmbedding = true;
  a.activation = "gelu_pytorch_tanh";
  a.windowEvery = 2;
  return a;
}

Architecture gptNeoX() {
  Architecture a;
  a.name = "gpt_neox";
  a.architectures = {"GPTNeoXForCausalLM"};
  ConfigKeys &k = a.keys;
  k = llama().keys;
  k.kvHeads = k.headDim = {};
  k.epsilon = {{"layer_norm_eps"}, 1e-5};
  k.ropeTheta = {
      {"rope_parameters/rope_theta", "rope_theta", "rotary_emb_base"}, 10000};
  k.ropeFraction = {{"rope_parameters/partial_rotary_factor",
                     "partial_rotary_factor", "rotary_pct"},
                    0.25};
  k.parallelResidual = {{"use_parallel_residual"}, 1};
  const Bias bias = biasIf("attention_bias", true);
  a.prefixes = {"gpt_neox."};
  a.tensors = {
      {Role::Tokens, "$embed_in"},
      {Role::AttentionNorm, "$layers.*.input_layernorm"},
      {Role::Query, "$layers.*.attention.query_key_value", bias},
      {Role::Key, "$layers.*.attention.query_key_value", bias},
      {Role::Value, "$layers.*.attention.query_key_value", bias},
      {Role::Output, "$layers.*.attention.dense", bias},
      {Role::MlpNorm, "$layers.*.post_attention_layernorm"},
      {Role::Up, "$layers.*.mlp.dense_h_to_4h", kAlways},
      {Role::Down, "$layers.*.mlp.dense_4h_to_h", kAlways},
      {Role::FinalNorm, "$final_layer_norm"},
      {Role::Head, "embed_out"},
  };
  a.buffers = {
      {Buffer::RotaryFrequencies, "$layers.*.attention.rotary_emb.inv_freq"},
      {Buffer::CausalMask, "$layers.*.attention.bias"},
      {Buffer::CausalMask, "$layers.*.attention.masked_bias"}};
  a.fusion = Fusion::PerHead;
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
      {Role::Query, "$h.*.attn.c_attn", kAlways},
      {Role::Key, "$h.*.attn.c_attn", kAlways},
      {Role::Value, "$h.*.attn.c_attn", kAlways},
      {Role::Output, "$h.*.attn.c_proj", kAlways},
      {Role::MlpNorm, "$h.*.ln_2"},
      {Role::Up, "$h.*.mlp.c_fc", kAlways},
      {Role::Down, "$h.*.mlp.c_proj", kAlways},
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

Architecture llamaGguf() {
  Architecture a;
  a.name = "llama";
  a.kind = ModelKind::Gguf;
  ConfigKeys &k = a.keys;
  // Where no key gives it, the token list's or the table's size.
  k.vocab = {{"$.vocab_size"}};
  k.hidden = {{"$.embedding_length"}};
  k.layers = {{"$.block_count"}};
  k.heads = {{"$.attention.head_count"}};
  k.kvHeads = {{"$.attention.head_count_kv"}};
  k.headDim = {{"$.attention.key_length"}};
  k.ffn = {{"$.feed_forward_length"}};
  k.maxPosition = {{"$.context_length"}};
  k.epsilon = {{"$.attention.layer_norm_rms_epsilon"}};
  k.ropeTheta = {{"$.rope.freq_base"}, 10000};
  k.ropeDim = {{"$.rope.dimension_count"}};
  a.refusals = {{"$.expert_count", "0", "mixtures of experts are not read"},
                {"$.use_parallel_residual", "false",
                 "parallel residuals are not read for this family"}};
  a.tensors = {
      {Role::Tokens, "token_embd"},
      {Role::AttentionNorm, "blk.*.attn_norm"},
      {Role::Query, "blk.*.attn_q", kIfStored},
      {Role::Key, "blk.*.attn_k", kIfStored},
      {Role::Value, "blk.*.attn_v", kIfStored},
      {Role::Output, "blk.*.attn_output", kIfStored},
      {Role::MlpNorm, "blk.*.ffn_norm"},
      {Role::Gate, "blk.*.ffn_gate", kIfStored},
      {Role::Up, "blk.*.ffn_up", kIfStored},
      {Role::Down, "blk.*.ffn_down", kIfStored},
      {Role::FinalNorm, "output_norm"},
      {Role::Head, "output"},
  };
  a.buffers = {{Buffer::RopeFactors, "rope_freqs.weight"},
               // Some writers store them once a layer.
               {Buffer::RotaryFrequencies, "blk.*.attn_rot_embd"}};
  // Writers permute queries and keys of half-split models to suit.
  a.ropeInterleaved = true;
  a.ropeKeys = RopeKeys::Gguf;
  a.tiedWhenMissing = true;
  return a;
}

std::string knownNames(ModelKind kind) {
  std::string names;
  for (const Architecture &a : architectures())
    if (a.kind == kind)
      names += (names.empty() ? "" : ", ") + a.name;
  return names;
}

const Architecture *byName(ModelKind kind, const std::string &name) {
  for (const Architecture &a : architectures())
    if (a.kind == kind && a.name == name)
      return &a;
  return nullptr;
}

const Architecture *byClass(const std::string &name) {
  for (const Architecture &a : architectures())
    if (std::find(a.architectures.begin(), a.architectures.end(), name) !=
        a.architectures.end())
      return &a;
  return nullptr;
}

Status unknown(const ConfigNode &node, ModelKind kind,
               const std::string &name) {
  return node.error("unknown architecture '" + name +
                    "'; known are: " + knownNames(kind));
}

Result<const Architecture *> findHuggingFace(const ConfigNode &config) {
  const Architecture *named = nullptr;
  if (std::optional<ConfigNode> list = config.find("architectures")) {
    TANDEM_ASSIGN(std::vector<std::string> names, list->asStrings());
    if (!names.empty() && !(named = byClass(names[0])))
      return unknown(*list, ModelKind::HuggingFace, names[0]);
  }
  if (named)
    return named;
  TANDEM_ASSIGN(ConfigNode type, config.at("model_type"));
  TANDEM_ASSIGN(std::string name, type.asString());
  if (!(named = byName(ModelKind::HuggingFace, name)))
    return unknown(type, ModelKind::HuggingFace, name);
  return named;
}

} // namespace

const std::vector<Architecture> &architectures() {
  static const std::vector<Architecture> table = {
      llama(), gpt2(),   mistral(), qwen2(),    qwen3(),
      phi3(),  gemma2(), gptNeoX(), llamaGguf()};
  return table;
}

Result<const Architecture *> findArchitecture(const ModelFiles &model) {
  if (model.kind == ModelKind::HuggingFace)
    return findHuggingFace(model.config);
  TANDEM_ASSIGN(ConfigNode type, model.config.at("general.architecture"));
  TANDEM_ASSIGN(std::string name, type.asString());
  if (const Architecture *found = byName(ModelKind::Gguf, name))
    return found;
  return unknown(type, ModelKind::Gguf, name);
}

std::string_view dimName(Dim dim) {
  switch (dim) {
  case Dim::Model:
    return "model";
  case Dim::Heads:
  case Dim::KvHeads:
    return "heads";
  case Dim::HeadDim:
    return "head_dim";
  case Dim::Ffn:
    return "ffn";
  case Dim::Vocab:
    return "vocab";
  case Dim::Positions:
    return "positions";
  }
  return "";
}

const TensorRow *Architecture::find(Role role) const {
  for (const TensorRow &row : tensors)
    if (row.role == role)
      return &row;
  return nullptr;
}

TensorRow &Architecture::at(Role role) {
  return const_cast<TensorRow &>(*find(role));
}

} // namespace tandem

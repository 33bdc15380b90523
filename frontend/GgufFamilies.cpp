#include "frontend/Families.h"

namespace tandem {
namespace {

Architecture llama() {
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
  k.window = {{"$.attention.sliding_window"}, 0};
  k.attentionScale = {{"$.attention.scale"}};
  a.refusals = {{"$.expert_count", "0", "mixtures of experts are not read"},
                {"$.use_parallel_residual", "false",
                 "parallel residuals are not read for this family"}};
  a.tensors = {
      {Role::Tokens, "token_embd"},
      {Role::AttentionNorm, "blk.*.attn_norm"},
      {Role::Query, "blk.*.attn_q", ifStored()},
      {Role::Key, "blk.*.attn_k", ifStored()},
      {Role::Value, "blk.*.attn_v", ifStored()},
      {Role::Output, "blk.*.attn_output", ifStored()},
      {Role::MlpNorm, "blk.*.ffn_norm"},
      {Role::Gate, "blk.*.ffn_gate", ifStored()},
      {Role::Up, "blk.*.ffn_up", ifStored()},
      {Role::Down, "blk.*.ffn_down", ifStored()},
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

/// Halves rotate against each other, as they are stored.
Architecture qwen2() {
  Architecture a = llama();
  a.name = "qwen2";
  a.ropeInterleaved = false;
  return a;
}

Architecture qwen3() {
  Architecture a = qwen2();
  a.name = "qwen3";
  a.tensors.push_back({Role::QueryNorm, "blk.*.attn_q_norm"});
  a.tensors.push_back({Role::KeyNorm, "blk.*.attn_k_norm"});
  return a;
}

Architecture phi3() {
  Architecture a = qwen2();
  a.name = "phi3";
  for (Role role : {Role::Query, Role::Key, Role::Value})
    a.at(role).stem = "blk.*.attn_qkv";
  // The gate's part comes first, although the tensor is called by the other.
  a.at(Role::Gate).stem = "blk.*.ffn_up";
  a.buffers.push_back({Buffer::RopeShortFactors, "rope_factors_short.weight"});
  a.buffers.push_back({Buffer::RopeLongFactors, "rope_factors_long.weight"});
  return a;
}

/// Writers have added the 1 to the norms.
Architecture gemma2() {
  Architecture a = qwen2();
  a.name = "gemma2";
  ConfigKeys &k = a.keys;
  k.attentionSoftcap = {{"$.attn_logit_softcapping"}, 0};
  k.logitSoftcap = {{"$.final_logit_softcapping"}, 0};
  a.tensors.push_back({Role::AttentionPostNorm, "blk.*.post_attention_norm"});
  a.tensors.push_back({Role::MlpPostNorm, "blk.*.post_ffw_norm"});
  a.scaledEmbedding = true;
  a.activation = "gelu_pytorch_tanh";
  a.windowEvery = 2;
  a.queryScales = {{46, 144}};
  return a;
}

} // namespace

std::vector<Architecture> ggufFamilies() {
  return {llama(), qwen2(), qwen3(), phi3(), gemma2()};
}

} // namespace tandem

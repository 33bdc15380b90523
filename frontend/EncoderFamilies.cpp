#include "frontend/Families.h"

namespace tandem {
namespace {

/// BERT with the head that it was trained with.
Architecture bert() {
  Architecture a;
  a.name = "bert";
  a.architectures = {"BertForMaskedLM"};
  ConfigKeys &k = a.keys;
  k.vocab = {{"vocab_size"}};
  k.hidden = {{"hidden_size"}};
  k.layers = {{"num_hidden_layers"}};
  k.heads = {{"num_attention_heads"}};
  k.ffn = {{"intermediate_size"}};
  k.maxPosition = {{"max_position_embeddings"}, 512};
  k.tokenTypes = {{"type_vocab_size"}, 2};
  k.epsilon = {{"layer_norm_eps"}, 1e-12};
  k.tied = {{"tie_word_embeddings"}, 1};
  k.activation = {{"hidden_act"}};
  a.refusals = {{"is_decoder", "false", "a decoder of this family is not read"},
                {"add_cross_attention", "false",
                 "cross attention needs an encoder beside it"},
                {"position_embedding_type", "\"absolute\"",
                 "relative positions are not read"}};
  a.prefixes = {"bert.", ""};
  a.tensors = {
      {Role::Tokens, "$embeddings.word_embeddings"},
      {Role::TokenTypes, "$embeddings.token_type_embeddings"},
      {Role::Positions, "$embeddings.position_embeddings"},
      {Role::EmbeddingNorm, "$embeddings.LayerNorm"},
      {Role::Query, "$encoder.layer.*.attention.self.query", always()},
      {Role::Key, "$encoder.layer.*.attention.self.key", always()},
      {Role::Value, "$encoder.layer.*.attention.self.value", always()},
      {Role::Output, "$encoder.layer.*.attention.output.dense", always()},
      {Role::AttentionNorm, "$encoder.layer.*.attention.output.LayerNorm"},
      {Role::Up, "$encoder.layer.*.intermediate.dense", always()},
      {Role::Down, "$encoder.layer.*.output.dense", always()},
      {Role::MlpNorm, "$encoder.layer.*.output.LayerNorm"},
      {Role::HeadTransform, "cls.predictions.transform.dense", always()},
      {Role::HeadNorm, "cls.predictions.transform.LayerNorm"},
      {Role::Head, "cls.predictions.decoder", always(), always(),
       "cls.predictions"},
  };
  a.buffers = {
      {Buffer::PositionIds, "$embeddings.position_ids"},
      {Buffer::Copy, "cls.predictions.decoder.bias", "cls.predictions.bias"}};
  a.causal = false;
  a.norm = NormKind::Layer;
  a.normPlace = NormPlace::AfterSum;
  a.normBias = true;
  a.positions = PositionKind::Learned;
  a.activation = "gelu";
  return a;
}

} // namespace

std::vector<Architecture> encoderFamilies() { return {bert()}; }

} // namespace tandem

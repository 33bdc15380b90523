//===- TinyModel.h - A model that tests write and spoil ---------*- C++ -*-===//
//
// A llama of two layers as a Hugging Face directory, all weights zero:
//
//   TinyModel model;
//   model.config["num_attention_heads"] = 0;
//   expectRefusal(model.import(), "num_attention_heads");
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_FRONTEND_TINYMODEL_H
#define TANDEM_TEST_FRONTEND_TINYMODEL_H

#include "frontend/ImportModel.h"
#include "runtime/files/Json.h"
#include "test/unit/files/TestFiles.h"

#include <map>

namespace tandem::test {

struct TinyModel {
  nlohmann::json config = {{"architectures", {"LlamaForCausalLM"}},
                           {"model_type", "llama"},
                           {"vocab_size", 11},
                           {"hidden_size", 8},
                           {"intermediate_size", 6},
                           {"num_hidden_layers", 2},
                           {"num_attention_heads", 4},
                           {"num_key_value_heads", 2},
                           {"max_position_embeddings", 32},
                           {"rms_norm_eps", 1e-5},
                           {"hidden_act", "silu"},
                           {"tie_word_embeddings", false}};
  std::map<std::string, std::vector<int64_t>> tensors;
  /// The type of all tensors, as safetensors names it.
  std::string dtype = "F32";
  int64_t elementBytes = 4;
  ImportOptions options;
  mlir::MLIRContext context;
  Folder folder;

  TinyModel() {
    tensors = {{"model.embed_tokens.weight", {11, 8}},
               {"model.norm.weight", {8}},
               {"lm_head.weight", {11, 8}}};
    for (std::string layer : {"model.layers.0.", "model.layers.1."}) {
      tensors[layer + "input_layernorm.weight"] = {8};
      tensors[layer + "post_attention_layernorm.weight"] = {8};
      tensors[layer + "self_attn.q_proj.weight"] = {8, 8};
      tensors[layer + "self_attn.k_proj.weight"] = {4, 8};
      tensors[layer + "self_attn.v_proj.weight"] = {4, 8};
      tensors[layer + "self_attn.o_proj.weight"] = {8, 8};
      tensors[layer + "mlp.gate_proj.weight"] = {6, 8};
      tensors[layer + "mlp.up_proj.weight"] = {6, 8};
      tensors[layer + "mlp.down_proj.weight"] = {8, 6};
    }
  }

  /// Writes the directory and imports it.
  Result<ImportedModel> import() {
    folder.write("config.json", config.dump());
    if (!tensors.empty())
      folder.write("model.safetensors", weights());
    return importModel(folder.path(), options, context);
  }

  std::string weights() const {
    nlohmann::json header = nlohmann::json::object();
    int64_t bytes = 0;
    for (const auto &[name, shape] : tensors) {
      int64_t size = elementBytes;
      for (int64_t dim : shape)
        size *= dim;
      header[name] = {{"dtype", dtype},
                      {"shape", shape},
                      {"data_offsets", {bytes, bytes + size}}};
      bytes += size;
    }
    return safetensors(header.dump(), static_cast<size_t>(bytes));
  }
};

} // namespace tandem::test

#endif // TANDEM_TEST_FRONTEND_TINYMODEL_H

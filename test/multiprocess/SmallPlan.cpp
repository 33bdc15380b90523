#include "SmallPlan.h"

#include "runtime/files/SafetensorsWriter.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/Structure.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

namespace tandem {
namespace {

const char config[] = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "vocab_size": 61, "hidden_size": 32, "intermediate_size": 48,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "max_position_embeddings": 100000000, "rms_norm_eps": 1e-5,
  "hidden_act": "silu", "tie_word_embeddings": false
})";

std::vector<TensorHeader> tensors() {
  std::vector<TensorHeader> all{
      {"model.embed_tokens.weight", DType::F32, {61, 32}},
      {"model.norm.weight", DType::F32, {32}},
      {"lm_head.weight", DType::F32, {61, 32}}};
  for (std::string layer : {"model.layers.0.", "model.layers.1."}) {
    all.push_back({layer + "input_layernorm.weight", DType::F32, {32}});
    all.push_back(
        {layer + "post_attention_layernorm.weight", DType::F32, {32}});
    all.push_back({layer + "self_attn.q_proj.weight", DType::F32, {32, 32}});
    all.push_back({layer + "self_attn.k_proj.weight", DType::F32, {16, 32}});
    all.push_back({layer + "self_attn.v_proj.weight", DType::F32, {16, 32}});
    all.push_back({layer + "self_attn.o_proj.weight", DType::F32, {32, 32}});
    all.push_back({layer + "mlp.gate_proj.weight", DType::F32, {48, 32}});
    all.push_back({layer + "mlp.up_proj.weight", DType::F32, {48, 32}});
    all.push_back({layer + "mlp.down_proj.weight", DType::F32, {32, 48}});
  }
  return all;
}

Status writeModel(const std::string &folder) {
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.json") << config;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> draw(-0.3f, 0.3f);
  std::vector<std::vector<float>> values;
  std::vector<TensorToWrite> all;
  for (const TensorHeader &header : tensors()) {
    int64_t count = 1;
    for (int64_t size : header.shape)
      count *= size;
    values.emplace_back(static_cast<size_t>(count));
    for (float &value : values.back())
      value = draw(random);
    all.push_back({header, values.back().data()});
  }
  return writeSafetensors(folder + "/model.safetensors", all);
}

/// The entries of a generation, those that run most often first.
std::vector<const fb::Entry *> entriesOf(const Plan &plan) {
  std::vector<const fb::Entry *> found;
  for (const char *prefix : {"decode", "decode_sample", "prefill"})
    for (const fb::Entry *entry : *plan.table().entries()) {
      std::string name = entry->name()->str();
      if (name == prefix || (prefix[0] == 'p' && name.rfind(prefix, 0) == 0))
        found.push_back(entry);
    }
  return found;
}

/// Adds what one stage of `entry` runs to `kinds`.
void addKinds(const Plan &plan, const fb::Entry &entry, uint32_t stage,
              std::map<std::string, InstructionKind> &kinds) {
  const std::string entryName = entry.name()->str();
  for (const fb::Instruction *it :
       *entry.programs()->Get(stage)->instructions()) {
    std::string name = it->op() == fb::Opcode::Launch
                           ? plan.kernel(it->target())
                           : tandem::name(it->op());
    InstructionKind &kind =
        kinds.emplace(name, InstructionKind{name, entryName, {}}).first->second;
    bool known = !kind.stages.empty() && kind.stages.back() == int(stage);
    if (kind.entry == entryName && !known)
      kind.stages.push_back(int(stage));
  }
}

std::vector<InstructionKind> kindsOf(const Plan &plan) {
  std::map<std::string, InstructionKind> found;
  for (const fb::Entry *entry : entriesOf(plan))
    for (uint32_t stage = 0; stage < entry->programs()->size(); ++stage)
      addKinds(plan, *entry, stage, found);
  std::vector<InstructionKind> kinds;
  for (auto &[name, kind] : found)
    kinds.push_back(std::move(kind));
  return kinds;
}

void must(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.toString().c_str());
  std::exit(1);
}

} // namespace

SmallPlan::SmallPlan() {
  char name[] = "/tmp/tandem-faults-XXXXXX";
  folder_ = mkdtemp(name);
  must(writeModel(model()));
  compile("small.plan", "--max-seq 512");
  Result<Plan> made = Plan::load(plan());
  must(made.status());
  kinds_ = kindsOf(*made);
}

SmallPlan::~SmallPlan() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

SmallPlan &SmallPlan::get() {
  static SmallPlan plan;
  return plan;
}

std::string SmallPlan::compile(const std::string &name,
                               const std::string &flags,
                               const std::string &mesh) {
  std::string path = folder_ + "/" + name;
  std::string command = std::string(TANDEM_PROGRAM) + " -q compile " + model() +
                        " -o " + path + " --mesh " + mesh + " " + flags +
                        " > /dev/null";
  if (std::system(command.c_str()) != 0)
    must(Status::refused("failed: " + command));
  return path;
}

} // namespace tandem

#include "CompiledPlans.h"

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "test/unit/files/TestFiles.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Pass/PassManager.h"

namespace tandem::test {
namespace {

// Sizes are odd: few axes divide them.
const char *const kLlama = R"({
  "architectures": ["LlamaForCausalLM"], "model_type": "llama",
  "vocab_size": 29, "hidden_size": 24, "intermediate_size": 18,
  "num_hidden_layers": 3, "num_attention_heads": 6, "num_key_value_heads": 3,
  "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "hidden_act": "silu",
  "tie_word_embeddings": false})";
const char *const kGpt2 = R"({
  "architectures": ["GPT2LMHeadModel"], "model_type": "gpt2",
  "vocab_size": 31, "n_embd": 16, "n_inner": 26, "n_layer": 2, "n_head": 4,
  "n_positions": 24, "layer_norm_epsilon": 1e-5,
  "activation_function": "gelu_new", "tie_word_embeddings": true})";
const char *const kGemma2 = R"({
  "architectures": ["Gemma2ForCausalLM"], "model_type": "gemma2",
  "vocab_size": 23, "hidden_size": 16, "intermediate_size": 14,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
  "head_dim": 6, "max_position_embeddings": 32, "rms_norm_eps": 1e-6,
  "hidden_activation": "gelu_pytorch_tanh", "sliding_window": 4,
  "attn_logit_softcapping": 4.0, "final_logit_softcapping": 1.5,
  "query_pre_attn_scalar": 7, "tie_word_embeddings": true,
  "layer_types": ["sliding_attention", "full_attention"]})";
const char *const kGptNeox = R"({
  "architectures": ["GPTNeoXForCausalLM"], "model_type": "gpt_neox",
  "vocab_size": 27, "hidden_size": 16, "intermediate_size": 22,
  "num_hidden_layers": 2, "num_attention_heads": 4,
  "max_position_embeddings": 32, "layer_norm_eps": 1e-5, "hidden_act": "gelu",
  "rotary_pct": 0.5, "rotary_emb_base": 10000, "use_parallel_residual": true,
  "tie_word_embeddings": false})";

struct Case {
  const char *name;
  const char *config;
  const char *mesh;
  Entry entry;
  int64_t batch = 1;
  bool sequenceParallel = false;
  int64_t microbatches = 1, zero = 0, virtualStages = 1;
  const char *schedule = "1f1b";
};

const Case kCases[] = {
    {"llama, tp=2", kLlama, "tp=2", Entry::Generate},
    {"llama, pp=2,tp=2", kLlama, "pp=2,tp=2", Entry::Generate},
    {"llama, tp=5", kLlama, "tp=5", Entry::Logits},
    {"llama, sequence parallel tp=2", kLlama, "tp=2", Entry::Logits, 1, true},
    {"llama, fsdp=2,tp=2", kLlama, "fsdp=2,tp=2", Entry::Logits, 2},
    {"llama, cp=2", kLlama, "cp=2", Entry::Logits},
    {"gpt2, pp=2,tp=3", kGpt2, "pp=2,tp=3", Entry::Generate},
    {"gpt2, fsdp=3", kGpt2, "fsdp=3", Entry::Next, 3},
    {"gemma2, pp=2,dp=2,tp=2", kGemma2, "pp=2,dp=2,tp=2", Entry::Generate, 3},
    {"gpt-neox, dp=2,tp=2", kGptNeox, "dp=2,tp=2", Entry::Logits, 3},
    {"llama trained, pp=2,tp=2", kLlama, "pp=2,tp=2", Entry::Train, 3, false,
     3},
    {"llama trained, dp=2 zero=3", kLlama, "dp=2", Entry::Train, 4, false, 2,
     3},
    {"gpt2 trained, pp=2 interleaved", kGpt2, "pp=2", Entry::Train, 4, false, 4,
     0, 2, "interleaved"},
};

void setSchedule(mlir::ModuleOp module, const Case &c) {
  mlir::Builder builder(module.getContext());
  module->setAttr("tandem.schedule_name", builder.getStringAttr(c.schedule));
  if (c.virtualStages > 1)
    module->setAttr("tandem.virtual_stages",
                    builder.getI64IntegerAttr(c.virtualStages));
}

Status annotate(mlir::ModuleOp module, const Case &c) {
  TANDEM_ASSIGN(Mesh mesh, Mesh::parse(c.mesh));
  PresetOptions options;
  options.sequenceParallel = c.sequenceParallel;
  options.zero = c.zero;
  TANDEM_ASSIGN(std::vector<Annotation> lines,
                presetAnnotations(module, mesh, options));
  return applyAnnotations(module, lines);
}

Result<fb::PlanT> compile(const Case &c) {
  Folder folder;
  folder.write("config.json", c.config);
  mlir::MLIRContext context;
  context.disableMultithreading();
  std::string errors;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Error)
      errors += d.str() + "\n";
    return mlir::success();
  });
  ImportOptions options;
  options.entry.entry = c.entry;
  options.entry.batch = c.batch;
  options.entry.maxSeq = 8;
  options.entry.microbatches = c.microbatches;
  options.weights = false;
  TANDEM_ASSIGN(ImportedModel model,
                importModel(folder.path(), options, context));
  setMesh(*model.module, *Mesh::parse(c.mesh));
  setSchedule(*model.module, c);
  // What training adds is annotated too.
  auto run = [&](const char *from, const char *to) {
    mlir::PassManager passes(&context);
    addCompileSteps(passes, from, to);
    return mlir::failed(passes.run(*model.module)) ? Status::refused(errors)
                                                   : Status();
  };
  TANDEM_TRY(run("", "add-optimizer"));
  TANDEM_TRY(annotate(*model.module, c));
  TANDEM_TRY(run("add-optimizer", ""));
  return emitPlan(*model.module, c.name);
}

} // namespace

Result<std::vector<CompiledPlan>> compiledPlans() {
  std::vector<CompiledPlan> plans;
  for (const Case &c : kCases) {
    Result<fb::PlanT> plan = compile(c);
    if (!plan.ok())
      return plan.status().withContext(c.name);
    plans.push_back({c.name, std::move(*plan)});
  }
  return plans;
}

} // namespace tandem::test

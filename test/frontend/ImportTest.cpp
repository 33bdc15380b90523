//===- ImportTest.cpp - What an imported module holds -------------------===//

#include "test/frontend/TinyModel.h"

#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"

#include <cstdlib>
#include <set>

using namespace tandem;
using namespace tandem::test;

namespace {

class Imported {
public:
  explicit Imported(const std::string &path, ImportOptions options = {}) {
    options.strict = true;
    Result<ImportedModel> model = importModel(path, options, context_);
    if (!model.ok())
      ADD_FAILURE() << model.status().message();
    else
      module_ = std::move(model->module);
  }
  mlir::ModuleOp module() { return module_.get(); }

private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

/// Keys of the stored tensors that a function's parameters view.
std::set<std::string> storedKeys(mlir::func::FuncOp function,
                                 size_t *views = nullptr) {
  std::set<std::string> keys;
  size_t count = 0;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto view =
            function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter)) {
      keys.insert(view.getKey().str());
      ++count;
    }
  if (views)
    *views = count;
  return keys;
}

struct Expected {
  const char *path;
  size_t stored; ///< Tensors that the file holds, a tied head once.
  size_t views;  ///< More where q, k and v share one.
};

class EveryModel : public testing::TestWithParam<Expected> {};

TEST_P(EveryModel, HasAParameterForEachStoredTensor) {
  TANDEM_ASSET_OR_SKIP(path, GetParam().path);
  Imported imported(path);
  ASSERT_TRUE(imported.module());
  auto function = imported.module().lookupSymbol<mlir::func::FuncOp>("logits");
  size_t views = 0;
  EXPECT_EQ(storedKeys(function, &views).size(), GetParam().stored);
  EXPECT_EQ(views, GetParam().views);
}

INSTANTIATE_TEST_SUITE_P(
    Models, EveryModel,
    testing::Values(
        Expected{"models/llama", 21, 21},
        Expected{"models/llama-tied-odd", 29, 29},
        // 4 and 12 a layer; c_attn's weight and bias thrice.
        Expected{"models/gpt2", 28, 36}, Expected{"models/stories260k", 47, 47},
        Expected{"stories260k/stories260k-f32.gguf", 47, 47},
        Expected{"stories260k/stories260k-q8_0.gguf", 47, 47},
        Expected{"cases/05-tied-head-stored-too/model", 20, 20},
        Expected{"cases/17-gguf-rope-freqs/model.gguf", 21, 21},
        Expected{"models/mistral", 21, 21}, Expected{"models/qwen2", 27, 27},
        Expected{"models/qwen3", 24, 24}, Expected{"models/phi3", 15, 21},
        Expected{"models/gemma2", 24, 24}, Expected{"models/gpt-neox", 28, 36},
        Expected{"models/bert", 42, 42}));

/// SmolLM2's GGUF: where TANDEM_SMOLLM2 says, else in the checkout's cache.
std::string smollm2Path() {
  const char *given = std::getenv("TANDEM_SMOLLM2");
  std::string path =
      given ? given : TANDEM_MODELS "/SmolLM2-135M-Instruct.Q4_1.gguf";
  return std::filesystem::exists(path) ? path : "";
}

TEST(Import, ReadsARealQuantisedModel) {
  std::string path = smollm2Path();
  if (path.empty())
    GTEST_SKIP() << "SmolLM2's GGUF is missing: neither TANDEM_SMOLLM2 nor "
                    ".cache/models has it";
  ImportOptions options;
  options.entry.entry = Entry::Generate;
  Imported imported(path, options);
  ASSERT_TRUE(imported.module());
  auto decode = imported.module().lookupSymbol<mlir::func::FuncOp>("decode");
  // 30 layers of 9, the table and the last norm.
  EXPECT_EQ(storedKeys(decode).size(), 272u);
  EXPECT_EQ(decode.getNumResults(), 61u);
}

TEST(Import, BuildsFromAConfigurationAlone) {
  TANDEM_ASSET_OR_SKIP(path, "configs/llama-3-405b");
  ImportOptions options;
  options.entry.batch = 4;
  Imported imported(path, options);
  ASSERT_TRUE(imported.module());
  auto facts = imported.module()->getAttrOfType<mlir::DictionaryAttr>(kFacts);
  EXPECT_EQ(facts.getAs<mlir::StringAttr>("dtype").getValue(), "bf16");
  EXPECT_EQ(facts.getAs<mlir::IntegerAttr>("max_seq").getInt(), 2048);
  EXPECT_EQ(facts.getAs<mlir::IntegerAttr>("vocab_size").getInt(), 128256);
  EXPECT_TRUE(
      imported.module()->getAttrOfType<mlir::ArrayAttr>(kSources).empty());
}

TEST(Import, EveryOperationHasALayerAndALocation) {
  TinyModel model;
  model.options.entry.entry = Entry::Generate;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  result->module->walk([](mlir::Operation *op) {
    if (op->getName().getDialectNamespace() != "tandem")
      return;
    EXPECT_TRUE(mlir::isa<mlir::NameLoc>(op->getLoc()));
    auto layer = op->getAttrOfType<mlir::IntegerAttr>(TandemDialect::kLayer);
    if (mlir::isa<ConstantOp>(op)) {
      EXPECT_FALSE(layer);
      return;
    }
    ASSERT_TRUE(layer);
    EXPECT_GE(layer.getInt(), -1);
    EXPECT_LE(layer.getInt(), 2);
  });
}

TEST(Import, GenerateHasChunksAndDecoding) {
  TinyModel model;
  model.options.entry.entry = Entry::Generate;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  std::vector<std::string> names;
  for (auto function : result->module->getOps<mlir::func::FuncOp>())
    names.push_back(function.getName().str());
  // 64 and 256 tokens are more than the model's 32.
  EXPECT_EQ(names, (std::vector<std::string>{"prefill_16", "prefill_4",
                                             "decode", "decode_sample"}));
}

/// The text of a training entry of three microbatches for five rows.
std::string trainingText(TinyModel &model, Entry entry) {
  model.options.entry.entry = entry;
  model.options.entry.batch = 5;
  model.options.entry.maxSeq = 7;
  model.options.entry.microbatches = 3;
  auto imported = model.import();
  EXPECT_TRUE(imported.ok()) << imported.status().message();
  std::string text;
  llvm::raw_string_ostream(text) << **imported->module;
  return text;
}

TEST(Import, TrainingCutsTheBatchAndShiftsLabels) {
  TinyModel model;
  std::string text = trainingText(model, Entry::Loss);
  for (const char *part : {
           // Two rows a microbatch, the last of them filled.
           "tensor<3x2x7xi32> {tandem.input = \"input_ids\"}",
           // And the id behind each row.
           "tensor<3x2x8xi32> {tandem.input = \"labels\"}",
           "-> (tensor<f32> {tandem.output = \"loss\"})",
           "tandem.slice %arg1 [0, 0, 1]",
           "microbatches = 3 : i64",
       })
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("tandem.differentiate"), std::string::npos);
}

TEST(Import, TrainingAsksForGradientsAndUpdates) {
  TinyModel model;
  std::string gradients = trainingText(model, Entry::Gradients);
  EXPECT_NE(gradients.find("tandem.differentiate"), std::string::npos);
  EXPECT_EQ(gradients.find("tandem.optimizer"), std::string::npos);
  model.options.entry.optimizer = "sgd";
  std::string train = trainingText(model, Entry::Train);
  EXPECT_NE(train.find("tandem.differentiate"), std::string::npos);
  EXPECT_NE(train.find("tandem.optimizer = \"sgd\""), std::string::npos);
}

TEST(Import, TrainedWeightsAreFloat32AndCastWhereUsed) {
  TinyModel model;
  model.dtype = "BF16";
  model.elementBytes = 2;
  std::string text = trainingText(model, Entry::Train);
  EXPECT_NE(text.find("tensor<11x8xf32> {tandem.initial = array<f64: "
                      "0.000000e+00, 2.000000e-02>, tandem.parameter = "
                      "#tandem.view<\"lm_head.weight\" bf16>}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("(tensor<11x8xf32>) -> tensor<11x8xbf16>"),
            std::string::npos);
}

TEST(Import, MicrobatchesAreChecked) {
  TinyModel model;
  model.options.entry.entry = Entry::Loss;
  model.options.entry.batch = 2;
  model.options.entry.microbatches = 3;
  expectRefusal(model.import(),
                "microbatches: expected 1 to 2, the batch's rows, got 3");
  model.options.entry.entry = Entry::Logits;
  model.options.entry.microbatches = 2;
  expectRefusal(model.import(), "microbatches: expected --entry loss, "
                                "gradients or train, got logits");
}

TEST(Import, StatesAreTiedToTheirResults) {
  TinyModel model;
  model.options.entry.entry = Entry::Generate;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  auto decode = result->module->lookupSymbol<mlir::func::FuncOp>("decode");
  size_t states = 0;
  for (unsigned i = 0; i < decode.getNumArguments(); ++i) {
    auto name =
        decode.getArgAttrOfType<mlir::StringAttr>(i, TandemDialect::kState);
    if (!name)
      continue;
    ++states;
    auto alias =
        decode.getArgAttrOfType<mlir::IntegerAttr>(i, TandemDialect::kAliases);
    ASSERT_TRUE(alias);
    EXPECT_EQ(decode.getResultAttr(static_cast<unsigned>(alias.getInt()),
                                   TandemDialect::kState),
              name);
  }
  EXPECT_EQ(states, 4u);
}

TEST(Import, OneParameterHasOneViewInEveryEntry) {
  TinyModel model;
  model.options.entry.entry = Entry::Generate;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  std::map<std::string, mlir::Attribute> views;
  for (auto function : result->module->getOps<mlir::func::FuncOp>())
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto view = function.getArgAttrOfType<ViewAttr>(
              i, TandemDialect::kParameter)) {
        EXPECT_EQ(views.emplace(view.getKey().str(), view).first->second, view);
      }
  EXPECT_EQ(views.size(), 21u);
}

TEST(Import, HalfPrecisionStaysAsStored) {
  TinyModel model;
  model.dtype = "BF16";
  model.elementBytes = 2;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  auto function = result->module->lookupSymbol<mlir::func::FuncOp>("logits");
  auto table =
      mlir::cast<mlir::RankedTensorType>(function.getArgument(1).getType());
  EXPECT_TRUE(table.getElementType().isBF16());
  auto logits = mlir::cast<mlir::RankedTensorType>(
      function.getFunctionType().getResult(0));
  EXPECT_TRUE(logits.getElementType().isF32());
}

TEST(Import, SourcesCarryFingerprints) {
  TinyModel model;
  Result<ImportedModel> result = model.import();
  ASSERT_OK(result);
  mlir::ModuleOp module = *result->module;
  auto sources = module->getAttrOfType<mlir::ArrayAttr>(kSources);
  ASSERT_EQ(sources.size(), 1u);
  auto source = mlir::cast<mlir::DictionaryAttr>(sources[0]);
  EXPECT_EQ(source.getAs<mlir::StringAttr>("path").getValue(),
            model.folder.path() + "/model.safetensors");
  EXPECT_EQ(source.getAs<mlir::IntegerAttr>("size").getInt(),
            static_cast<int64_t>(std::filesystem::file_size(
                model.folder / "model.safetensors")));
}

/// Mean and deviation that a new model's parameter `key` is drawn with.
std::vector<double> initialOf(mlir::func::FuncOp function,
                              llvm::StringRef key) {
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto view =
        function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter);
    auto initial = function.getArgAttrOfType<mlir::DenseF64ArrayAttr>(
        i, TandemDialect::kInitial);
    if (view && initial && view.getKey() == key)
      return {initial.asArrayRef().begin(), initial.asArrayRef().end()};
  }
  return {};
}

TEST(Import, NewModelsAreDrawnAsTheConfigurationSays) {
  const std::pair<const char *, double> norms[] = {{"models/llama", 1},
                                                   {"models/gemma2", 0}};
  for (auto [model, mean] : norms) {
    TANDEM_ASSET_OR_SKIP(path, model);
    ImportOptions options;
    options.settings = {"initializer_range=0.5"};
    Imported imported(path, options);
    auto function =
        imported.module().lookupSymbol<mlir::func::FuncOp>("logits");
    EXPECT_EQ(initialOf(function, "model.norm.weight"),
              (std::vector<double>{mean, 0}));
    EXPECT_EQ(initialOf(function, "model.embed_tokens.weight"),
              (std::vector<double>{0, 0.5}));
    EXPECT_EQ(initialOf(function, "model.layers.1.mlp.up_proj.weight"),
              (std::vector<double>{0, 0.5}));
  }
  TANDEM_ASSET_OR_SKIP(path, "models/gpt2");
  Imported imported(path);
  auto function = imported.module().lookupSymbol<mlir::func::FuncOp>("logits");
  EXPECT_EQ(initialOf(function, "transformer.h.0.attn.c_attn.bias"),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(initialOf(function, "transformer.h.0.ln_1.weight"),
            (std::vector<double>{1, 0}));
  EXPECT_EQ(initialOf(function, "transformer.h.0.ln_1.bias"),
            (std::vector<double>{0, 0}));
  EXPECT_EQ(initialOf(function, "transformer.wpe.weight"),
            (std::vector<double>{0, 0.02}));
}

TEST(Import, BiasesFollowTheConfiguration) {
  TinyModel model;
  model.config["attention_bias"] = true;
  expectRefusal(model.import(),
                "tensor 'model.layers.0.self_attn.q_proj.bias' is missing");
}

} // namespace

//===- ImportNumericsTest.cpp - Imported models against known logits ----===//
//
// The reference evaluator runs what the frontend built, with the stored
// weights, in float64; logits must be those that were computed elsewhere.
//
//===----------------------------------------------------------------------===//

#include "frontend/ImportModel.h"
#include "runtime/files/Safetensors.h"
#include "test/numerics/ModelInputs.h"
#include "test/unit/files/TestFiles.h"

using namespace tandem;
using namespace tandem::test;

namespace {

/// Greedy continuations are known of five tokens.
constexpr int64_t kPrompt = 5;

class Model {
public:
  Model(const std::string &path, Entry entry, int64_t batch, int64_t maxSeq)
      : path_(path) {
    ImportOptions options;
    options.entry.entry = entry;
    options.entry.batch = batch;
    options.entry.maxSeq = maxSeq;
    Result<ImportedModel> model = importModel(path, options, context_);
    if (!model.ok()) {
      ADD_FAILURE() << model.status().message();
      return;
    }
    module_ = std::move(model->module);
  }

  /// The outputs of `entry`; empty, with a failure noted, where it has none.
  NamedTensors run(const std::string &entry, NamedTensors inputs) {
    if (!module_)
      return {};
    auto function = module_->lookupSymbol<mlir::func::FuncOp>(entry);
    Result<ModelFiles> files = openModel(path_);
    Result<NamedTensors> parameters = parametersOf(function, files->tensors);
    if (!parameters.ok()) {
      ADD_FAILURE() << parameters.status().message();
      return {};
    }
    inputs.insert(parameters->begin(), parameters->end());
    auto outputs = evaluateEntry(*module_, entry, inputs);
    if (mlir::failed(outputs)) {
      ADD_FAILURE() << "the evaluator refuses " << entry;
      return {};
    }
    return *outputs;
  }

private:
  std::string path_;
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

Tensor row(const std::vector<double> &values) {
  return Tensor::whole({static_cast<int64_t>(values.size())}, values);
}

/// Logits of `expected`'s input_ids by `path`, and how far they are off.
double logitsDistance(const std::string &path, const TensorStore &expected) {
  const StoredTensor *ids = expected.find("input_ids");
  Model model(path, Entry::Logits, ids->shape[0], ids->shape[1]);
  NamedTensors outputs = model.run(
      "logits", {{"input:input_ids", *wholeTensor(expected, "input_ids")}});
  return distance(outputs["output:logits"].data(),
                  *valuesOf(*expected.find("logits")));
}

class Logits : public testing::TestWithParam<const char *> {};

TEST_P(Logits, AreTheKnownOnes) {
  TANDEM_ASSET_OR_SKIP(path, std::string("models/") + GetParam());
  Result<TensorStore> expected =
      readSafetensors(path + "/expected.safetensors");
  ASSERT_OK(expected);
  EXPECT_LE(logitsDistance(path, *expected), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Models, Logits,
                         testing::Values("llama", "llama-tied-odd", "gpt2",
                                         "mistral", "qwen2", "qwen3", "phi3",
                                         "gemma2", "gpt-neox"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

struct Case {
  const char *folder, *model;
};

class CaseLogits : public testing::TestWithParam<Case> {};

TEST_P(CaseLogits, AreTheKnownOnes) {
  TANDEM_ASSET_OR_SKIP(path, std::string("cases/") + GetParam().folder);
  Result<TensorStore> expected =
      readSafetensors(path + "/expected.safetensors");
  ASSERT_OK(expected);
  EXPECT_LE(logitsDistance(path + "/" + GetParam().model, *expected), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, CaseLogits,
    testing::Values(Case{"05-tied-head-stored-too", "model"},
                    Case{"06-rope-scaling-old-key-int-factor", "model"},
                    Case{"17-gguf-rope-freqs", "model.gguf"}),
    [](const auto &info) {
      return "Case" + std::string(info.param.folder).substr(0, 2);
    });

/// `logits` of the last token of a shorter row.
TEST(Next, TakesEachRowsLastToken) {
  TANDEM_ASSET_OR_SKIP(path, "models/llama");
  TensorStore expected = *readSafetensors(path + "/expected.safetensors");
  std::vector<double> logits = *valuesOf(*expected.find("logits"));
  const std::vector<int64_t> &shape = expected.find("logits")->shape;
  Model model(path, Entry::Next, shape[0], shape[1]);
  NamedTensors outputs = model.run(
      "next", {{"input:input_ids", *wholeTensor(expected, "input_ids")},
               {"input:lengths", row({7, 3})}});
  std::vector<double> wanted;
  for (int64_t token : {6, 2}) {
    auto begin =
        logits.begin() + (wanted.empty() ? token : shape[1] + token) * shape[2];
    wanted.insert(wanted.end(), begin, begin + shape[2]);
  }
  EXPECT_LE(distance(outputs["output:logits"].data(), wanted), 1e-6);
}

class Greedy : public testing::TestWithParam<const char *> {
protected:
  /// Feeds `inputs` and the caches to `entry`; keeps the new caches.
  NamedTensors step(Model &model, const std::string &entry,
                    NamedTensors inputs) {
    inputs.insert(caches_.begin(), caches_.end());
    NamedTensors outputs = model.run(entry, std::move(inputs));
    for (const auto &[name, tensor] : outputs)
      if (name.compare(0, 6, "state:") == 0)
        caches_[name] = tensor;
    return outputs;
  }

  NamedTensors caches_;
};

NamedTensors tokens(const std::vector<double> &ids, double position,
                    double length) {
  return {{"input:input_ids", rowsOf(1, ids)},
          {"input:positions", row({position})},
          {"input:lengths", row({length})}};
}

/// An empty cache for each state of `entry`.
NamedTensors emptyCaches(int64_t layers, std::vector<int64_t> shape) {
  NamedTensors caches;
  int64_t size = shape[0] * shape[1] * shape[2] * shape[3];
  for (int64_t i = 0; i < layers; ++i)
    for (const char *what : {".key", ".value"})
      caches["state:cache." + std::to_string(i) + what] = Tensor::whole(
          shape, std::vector<double>(static_cast<size_t>(size), 0));
  return caches;
}

/// Prefill and decode through the cache give the ids that were computed
/// without one.
TEST_P(Greedy, IdsAreTheKnownOnes) {
  TANDEM_ASSET_OR_SKIP(path, std::string("models/") + GetParam());
  TensorStore expected = *readSafetensors(path + "/expected.safetensors");
  std::vector<double> ids = *valuesOf(*expected.find("input_ids"));
  std::vector<double> greedy = *valuesOf(*expected.find("greedy"));
  greedy.resize(4); // The evaluator is slow.
  Model model(path, Entry::Generate, 1, 16);
  bool llama = std::string(GetParam()) == "llama";
  caches_ = emptyCaches(2, llama ? std::vector<int64_t>{1, 16, 2, 12}
                                 : std::vector<int64_t>{1, 16, 4, 12});
  // All but the last token of the prompt, in one chunk that is just full.
  std::vector<double> prompt(ids.begin(), ids.begin() + kPrompt - 1);
  step(model, "prefill_4", tokens(prompt, 0, kPrompt - 1));
  double last = ids[kPrompt - 1];
  for (size_t i = 0; i < greedy.size(); ++i) {
    double position = static_cast<double>(kPrompt - 1 + i);
    NamedTensors outputs = step(model, "decode", tokens({last}, position, 1));
    ASSERT_EQ(outputs["output:next_ids"].data(), std::vector{greedy[i]});
    last = greedy[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Greedy, testing::Values("llama", "gpt2"),
                         [](const auto &info) { return info.param; });

} // namespace

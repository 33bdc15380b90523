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

  mlir::ModuleOp module() { return module_.get(); }

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
  NamedTensors inputs;
  for (const char *name : {"input_ids", "attention_mask", "token_type_ids"})
    if (expected.find(name))
      inputs[std::string("input:") + name] = *wholeTensor(expected, name);
  NamedTensors outputs = model.run("logits", std::move(inputs));
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
                                         "gemma2", "gpt-neox", "bert"),
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

/// Generates through the entries of `generate`, one row.
class Generation {
public:
  Generation(const std::string &path, int64_t maxSeq)
      : model_(path, Entry::Generate, 1, maxSeq) {
    if (model_.module())
      caches_ = emptyStates(
          model_.module().lookupSymbol<mlir::func::FuncOp>("decode"));
  }

  /// Writes `ids` to the cache; at most four, by the chunk of four.
  void prefill(std::vector<double> ids) {
    double length = static_cast<double>(ids.size());
    ids.resize(4, 0);
    step("prefill_4", ids, length);
  }

  /// The next id behind `id`.
  double decode(double id) {
    NamedTensors outputs = step("decode", {id}, 1);
    const Tensor &next = outputs["output:next_ids"];
    return next.data().empty() ? -1 : next.data()[0];
  }

private:
  NamedTensors step(const std::string &entry, const std::vector<double> &ids,
                    double length) {
    NamedTensors inputs = caches_;
    inputs["input:input_ids"] = rowsOf(1, ids);
    inputs["input:positions"] = row({position_});
    inputs["input:lengths"] = row({length});
    position_ += length;
    NamedTensors outputs = model_.run(entry, std::move(inputs));
    for (const auto &[name, tensor] : outputs)
      if (name.compare(0, 6, "state:") == 0)
        caches_[name] = tensor;
    return outputs;
  }

  Model model_;
  NamedTensors caches_;
  double position_ = 0;
};

class Greedy : public testing::TestWithParam<const char *> {};

/// Prefill and decode through the cache give the ids that were computed
/// without one.
TEST_P(Greedy, IdsAreTheKnownOnes) {
  TANDEM_ASSET_OR_SKIP(path, std::string("models/") + GetParam());
  TensorStore expected = *readSafetensors(path + "/expected.safetensors");
  std::vector<double> ids = *valuesOf(*expected.find("input_ids"));
  std::vector<double> greedy = *valuesOf(*expected.find("greedy"));
  Generation generation(path, 32);
  // The prompt but for its last token, in two chunks that are not full.
  generation.prefill({ids[0], ids[1], ids[2]});
  generation.prefill({ids[3]});
  double last = ids[kPrompt - 1];
  for (double wanted : greedy) {
    last = generation.decode(last);
    ASSERT_EQ(last, wanted);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Greedy,
                         testing::Values("llama", "llama-tied-odd", "gpt2",
                                         "mistral", "gemma2", "gpt-neox"),
                         [](const auto &info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

/// The same from a text that a trained model wrote, and from GGUF.
TEST(Stories, BeginAsTheyShould) {
  for (const char *name :
       {"models/stories260k", "stories260k/stories260k-f32.gguf"}) {
    TANDEM_ASSET_OR_SKIP(path, name);
    TANDEM_ASSET_OR_SKIP(answers, "models/stories260k/expected.json");
    Result<ConfigNode> expected = ConfigNode::read(answers);
    ASSERT_OK(expected);
    std::vector<int64_t> greedy =
        *expected->at("greedy")->at("ids")->asIntegers();
    Generation generation(path, 32);
    double last = 1; // The id that begins a text.
    for (size_t i = 0; i < 12; ++i) {
      last = generation.decode(last);
      ASSERT_EQ(last, static_cast<double>(greedy[i])) << name;
    }
  }
}

} // namespace

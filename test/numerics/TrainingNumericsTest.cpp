//===- TrainingNumericsTest.cpp - Training models against known steps -----===//
//
// The frontend's `gradients` and `train` entries in the reference evaluator,
// in float64: the loss, the gradient of every stored tensor and three steps of
// AdamW must be those that were computed elsewhere. On one rank, and on the
// ranks of meshes, in lockstep, after partitioning.
//
//===----------------------------------------------------------------------===//

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "passes/Pipelines.h"
#include "runtime/files/ConfigNode.h"
#include "runtime/files/Safetensors.h"
#include "test/numerics/ModelInputs.h"
#include "test/unit/files/TestFiles.h"

#include "mlir/Pass/PassManager.h"

#include <cmath>

using namespace tandem;
using namespace tandem::test;

namespace {

/// Elements [first, second) of a tensor.
using Ranges = std::vector<std::pair<size_t, size_t>>;

/// A model's folder, opened, with what is known of it.
struct KnownModel {
  std::string path;
  TensorStore expected;
  std::map<std::string, Ranges> zeros; ///< Where the true gradient is 0.
  bool causal = true;

  Status open(const std::string &folder) {
    path = folder;
    std::string file = path + "/expected.safetensors";
    std::map<std::string, std::string> metadata;
    TANDEM_ASSIGN(expected, readSafetensors(file, &metadata));
    TANDEM_ASSIGN(ConfigNode about, ConfigNode::parse(metadata["about"], file));
    TANDEM_ASSIGN(ConfigNode listed, about.at("zero_grad"));
    causal = !expected.find("token_type_ids");
    for (const std::string &name : listed.keys()) {
      TANDEM_ASSIGN(ConfigNode entry, listed.at(name));
      TANDEM_ASSIGN(std::vector<ConfigNode> ranges, entry.asArray());
      for (const ConfigNode &range : ranges) {
        TANDEM_ASSIGN(std::vector<int64_t> ends, range.asIntegers());
        zeros[name].emplace_back(ends[0], ends[1]);
      }
    }
    return Status();
  }
};

double squares(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += value * value;
  return sum;
}

/// Moves the lanes of `ranges` from `values` to the result; zeros stay.
std::vector<double> takeOut(std::vector<double> &values, const Ranges &ranges) {
  std::vector<double> taken;
  for (auto [first, last] : ranges)
    for (size_t i = first; i < last; ++i) {
      taken.push_back(values[i]);
      values[i] = 0;
    }
  return taken;
}

/// |a - b| / |b|, and |a| where b is zero.
double distanceOf(const std::vector<double> &a, const std::vector<double> &b) {
  std::vector<double> difference = a;
  for (size_t i = 0; i < a.size(); ++i)
    difference[i] -= b[i];
  double size = squares(b);
  double distance = std::sqrt(squares(difference) / (size > 0 ? size : 1));
  return std::isnan(distance) ? INFINITY : distance;
}

/// Rows as microbatches; with a label behind the last that is not counted.
Tensor batchOf(const StoredTensor &rows, int64_t microbatches, bool labelMore) {
  std::vector<double> values = *valuesOf(rows), batch;
  int64_t size = rows.shape[1];
  for (int64_t row = 0; row < rows.shape[0]; ++row) {
    auto begin = values.begin() + row * size;
    batch.insert(batch.end(), begin, begin + size);
    if (labelMore)
      batch.push_back(kIgnoredLabel);
  }
  return Tensor::whole(
      {microbatches, rows.shape[0] / microbatches, size + labelMore},
      std::move(batch));
}

/// What is stored of a model, as far as it is known.
using StoredValues =
    std::map<std::string, std::pair<std::vector<int64_t>, std::vector<double>>>;

/// A training entry with its inputs, on one rank or partitioned.
class TrainingEntry {
public:
  TrainingEntry(const KnownModel &model, Entry kind, int64_t microbatches)
      : name(entryName(kind)) {
    const StoredTensor *ids = model.expected.find("input_ids");
    ImportOptions options;
    options.entry.entry = kind;
    options.entry.batch = ids->shape[0];
    options.entry.maxSeq = ids->shape[1];
    options.entry.microbatches = microbatches;
    Result<ImportedModel> imported = importModel(model.path, options, context);
    EXPECT_TRUE(imported.ok()) << imported.status().message();
    if (imported.ok())
      module = std::move(imported->module);
    runSteps("", "add-optimizer");
    makeInputs(model, microbatches);
  }

  /// Partitions by the preset of `mesh`.
  void partition(const char *mesh, PresetOptions preset) {
    Result<Mesh> parsed = Mesh::parse(mesh);
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    setMesh(*module, *parsed);
    auto lines = presetAnnotations(*module, *parsed, preset);
    ASSERT_TRUE(lines.ok()) << lines.status().message();
    Status status = applyAnnotations(*module, *lines);
    ASSERT_TRUE(status.ok()) << status.message();
    runSteps("add-optimizer", "partition-module");
  }

  void set(const std::string &input, double value) {
    inputs["input:" + input] = Tensor::whole({}, {value});
  }

  /// Runs once; what is trained and its states are the next run's.
  NamedTensors run() {
    auto outputs = evaluateEntry(*module, name, inputs);
    EXPECT_TRUE(mlir::succeeded(outputs)) << "the evaluator refuses the entry";
    if (mlir::failed(outputs))
      return {};
    for (const auto &[port, tensor] : *outputs)
      if (inputs.count(port))
        inputs[port] = tensor;
    return std::move(*outputs);
  }

  /// Each view's gradient added to the tensor that it is a view of.
  StoredValues gradients(NamedTensors &outputs) {
    StoredValues sums = stored;
    eachResult([&](mlir::func::FuncOp function, unsigned i) {
      if (auto view = function.getResultAttrOfType<ViewAttr>(
              i, TandemDialect::kGradient))
        forEachPlace(view, outputs[resultName(function, i)], sums,
                     [](double &to, double value) { to += value; });
    });
    return sums;
  }

  /// The parameters that the next run has, as stored.
  StoredValues parameters() {
    StoredValues values = stored;
    for (auto function : module->getOps<mlir::func::FuncOp>())
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        if (auto view = function.getArgAttrOfType<ViewAttr>(
                i, TandemDialect::kParameter))
          forEachPlace(view, inputs[argumentName(function, i)], values,
                       [](double &to, double value) { to = value; });
    return values;
  }

private:
  void runSteps(const char *from, const char *to) {
    mlir::PassManager passes(&context);
    mlir::ScopedDiagnosticHandler handler(
        &context, [&](mlir::Diagnostic &diagnostic) {
          return mlir::success(diagnostic.getSeverity() !=
                               mlir::DiagnosticSeverity::Error);
        });
    ASSERT_EQ(addCompileSteps(passes, from, to), "");
    ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  }

  void makeInputs(const KnownModel &model, int64_t microbatches) {
    auto function = module->lookupSymbol<mlir::func::FuncOp>(name);
    ModelFiles files = *openModel(model.path);
    inputs = *parametersOf(function, files.tensors);
    for (const char *input :
         {"input_ids", "labels", "attention_mask", "token_type_ids"})
      if (const StoredTensor *tensor = model.expected.find(input))
        inputs[std::string("input:") + input] =
            batchOf(*tensor, microbatches,
                    model.causal && std::string(input) == "labels");
    for (const StoredTensor &tensor : files.tensors.tensors())
      stored[tensor.name] = {tensor.shape,
                             std::vector<double>(tensor.elements())};
    NamedTensors states = emptyStates(function);
    inputs.insert(states.begin(), states.end());
  }

  void
  eachResult(llvm::function_ref<void(mlir::func::FuncOp, unsigned)> visit) {
    for (auto function : module->getOps<mlir::func::FuncOp>())
      for (unsigned i = 0; i < function.getNumResults(); ++i)
        visit(function, i);
  }

  static void forEachPlace(ViewAttr view, const Tensor &tensor,
                           StoredValues &values,
                           llvm::function_ref<void(double &, double)> put) {
    auto &[shape, lanes] = values[view.getKey().str()];
    int64_t offset = 0;
    llvm::SmallVector<int64_t> strides;
    view.getStrides(shape, offset, strides);
    tensor.forEachValid([&](const std::vector<int64_t> &index) {
      int64_t at = offset;
      for (size_t i = 0; i < index.size(); ++i)
        at += index[i] * strides[i];
      put(lanes[static_cast<size_t>(at)], tensor.at(index));
    });
  }

  std::string name;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  NamedTensors inputs;
  StoredValues stored; ///< Zeros.
};

/// Compares what is known as `prefix` and a tensor's name; `zeros` says what
/// to do where the gradient is zero.
void expectStored(const KnownModel &model, const std::string &prefix,
                  StoredValues values, double tolerance, bool zerosMatter) {
  size_t compared = 0;
  for (const StoredTensor &tensor : model.expected.tensors()) {
    if (tensor.name.rfind(prefix, 0) != 0)
      continue;
    std::string name = tensor.name.substr(prefix.size());
    std::vector<double> known = *valuesOf(tensor);
    std::vector<double> got = values[name].second;
    ASSERT_EQ(got.size(), known.size()) << name;
    if (auto zeros = model.zeros.find(name); zeros != model.zeros.end()) {
      takeOut(known, zeros->second);
      double left = squares(takeOut(got, zeros->second));
      if (zerosMatter) {
        EXPECT_LE(std::sqrt(left), 1e-10) << name;
      }
    }
    EXPECT_LE(distanceOf(got, known), tolerance) << name;
    ++compared;
  }
  EXPECT_EQ(compared, values.size());
}

void expectGradients(const KnownModel &model, TrainingEntry &entry) {
  NamedTensors outputs = entry.run();
  EXPECT_NEAR(outputs["output:loss"].data().at(0),
              valuesOf(*model.expected.find("loss"))->front(), 1e-7);
  expectStored(model, "grad.", entry.gradients(outputs), 1e-6, true);
}

/// Three steps on one batch, as the assets' README sets them.
void expectSteps(const KnownModel &model, TrainingEntry &entry) {
  std::pair<const char *, double> settings[] = {
      {"learning_rate", 1e-2}, {"beta1", 0.9},        {"beta2", 0.95},
      {"epsilon", 1e-8},       {"weight_decay", 0.1}, {"clip_norm", 1}};
  for (auto [name, value] : settings)
    entry.set(name, value);
  std::vector<double> losses = *valuesOf(*model.expected.find("losses"));
  std::vector<double> norms = *valuesOf(*model.expected.find("grad_norm"));
  for (size_t step = 0; step < losses.size(); ++step) {
    if (step == norms.size())
      expectStored(model, "param3.", entry.parameters(), 1e-5, false);
    entry.set("step", static_cast<double>(step + 1));
    NamedTensors outputs = entry.run();
    EXPECT_NEAR(outputs["output:loss"].data().at(0), losses[step], 1e-6);
    if (step < norms.size()) {
      double norm = outputs["output:grad_norm"].data().at(0);
      EXPECT_NEAR(norm / norms[step], 1, 1e-6);
    }
  }
}

class Training : public testing::TestWithParam<const char *> {
public:
  void SetUp() override {
    TANDEM_ASSET_OR_SKIP(path, std::string("models/") + GetParam());
    ASSERT_OK(model.open(path));
  }
  KnownModel model;
};

TEST_P(Training, GradientsAreTheKnownOnes) {
  for (int64_t microbatches : {1, 2}) {
    SCOPED_TRACE(microbatches);
    TrainingEntry entry(model, Entry::Gradients, microbatches);
    expectGradients(model, entry);
  }
}

TEST_P(Training, StepsAreTheKnownOnes) {
  TrainingEntry entry(model, Entry::Train, 2);
  expectSteps(model, entry);
}

const char *const names[] = {"llama", "llama-tied-odd", "gpt2", "mistral",
                             "qwen2", "qwen3",          "phi3", "gemma2",
                             "bert",  "gpt-neox"};

std::string nameOf(std::string text) {
  for (char &c : text)
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(Models, Training, testing::ValuesIn(names),
                         [](const auto &info) { return nameOf(info.param); });

struct Layout {
  const char *mesh;
  PresetOptions preset;
  int64_t microbatches;
};

const Layout layouts[] = {{"dp=2", {}, 1},         {"tp=2", {}, 1},
                          {"tp=4", {}, 1},         {"dp=2,tp=2", {}, 1},
                          {"tp=2", {true, 0}, 2},  {"dp=2", {false, 1}, 1},
                          {"dp=2", {false, 2}, 1}, {"dp=2,tp=2", {true, 3}, 1}};

std::string nameOf(const Layout &layout) {
  return nameOf(layout.mesh) + (layout.preset.sequenceParallel ? "_sp" : "") +
         "_zero" + std::to_string(layout.preset.zero);
}

class ShardedTraining
    : public testing::TestWithParam<std::tuple<const char *, Layout>> {
public:
  void SetUp() override {
    TANDEM_ASSET_OR_SKIP(path,
                         std::string("models/") + std::get<0>(GetParam()));
    ASSERT_OK(model.open(path));
  }
  Layout layout() const { return std::get<1>(GetParam()); }
  KnownModel model;
};

TEST_P(ShardedTraining, GradientsAreTheKnownOnes) {
  TrainingEntry entry(model, Entry::Gradients, layout().microbatches);
  ASSERT_NO_FATAL_FAILURE(entry.partition(layout().mesh, layout().preset));
  expectGradients(model, entry);
}

TEST_P(ShardedTraining, StepsAreTheKnownOnes) {
  TrainingEntry entry(model, Entry::Train, layout().microbatches);
  ASSERT_NO_FATAL_FAILURE(entry.partition(layout().mesh, layout().preset));
  expectSteps(model, entry);
}

INSTANTIATE_TEST_SUITE_P(Models, ShardedTraining,
                         testing::Combine(testing::ValuesIn(names),
                                          testing::ValuesIn(layouts)),
                         [](const auto &info) {
                           return nameOf(std::get<0>(info.param)) + "_" +
                                  nameOf(std::get<1>(info.param));
                         });

} // namespace

//===- NumericsTest.cpp - A model's numbers behind every pass -------------===//
//
// An imported model is evaluated in float64 behind each pass, on all ranks of
// the mesh in lockstep; its logits must be the known ones. Random graphs are in
// `test/fuzz/equivalence`.
//
//===----------------------------------------------------------------------===//

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "ir/reference/Compare.h"
#include "passes/Pipelines.h"
#include "runtime/files/Safetensors.h"
#include "test/numerics/ModelInputs.h"
#include "test/unit/files/TestFiles.h"

#include "mlir/Parser/Parser.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

/// The last step whose modules the evaluator understands.
constexpr const char *kLast = "verify-staged";

std::string textOf(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// Runs the steps one by one; behind each the module must give what `before`
/// gives. `compare` is called with the module as it is.
template <typename Compare>
void runSteps(ModuleOp module, const std::string &what,
              const Compare &compare) {
  std::string errors;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors += diagnostic.str() + "\n";
        return success();
      });
  std::string start = textOf(module);
  for (const CompileStep &step : compileSteps()) {
    PassManager passes(module.getContext());
    step.add(passes);
    ASSERT_TRUE(succeeded(passes.run(module)))
        << what << ", " << step.name << ": " << errors << start;
    Status status = compare(module);
    ASSERT_TRUE(status.ok())
        << what << ", behind " << step.name << ": " << status.message() << "\n"
        << start << textOf(module);
    if (step.name == kLast)
      return;
  }
  FAIL() << "there is no step " << kLast;
}

/// An imported model with its own weights and the mesh's preset.
class Imported : public testing::TestWithParam<const char *> {};

TEST_P(Imported, LogitsAreTheKnownOnesBehindEveryPass) {
  TANDEM_ASSET_OR_SKIP(path, "models/llama-tied-odd");
  TensorStore expected = *readSafetensors(path + "/expected.safetensors");
  Tensor ids = *wholeTensor(expected, "input_ids");
  std::vector<double> logits = *valuesOf(*expected.find("logits"));
  MLIRContext context;
  context.disableMultithreading();
  ImportOptions options;
  options.entry.entry = Entry::Logits;
  options.entry.batch = ids.dim(0).global;
  options.entry.maxSeq = ids.dim(1).global;
  Result<ImportedModel> model = importModel(path, options, context);
  ASSERT_TRUE(model.ok()) << model.status().message();
  ModuleOp module = *model->module;
  Result<NamedTensors> inputs = parametersOf(
      *module.getOps<func::FuncOp>().begin(), openModel(path)->tensors);
  ASSERT_TRUE(inputs.ok()) << inputs.status().message();
  inputs->emplace("input:input_ids", ids);
  Mesh mesh = *Mesh::parse(GetParam());
  setMesh(module, mesh);
  Status annotated = applyAnnotations(module, *presetAnnotations(module, mesh));
  ASSERT_TRUE(annotated.ok()) << annotated.message();
  runSteps(module, GetParam(), [&](ModuleOp after) {
    auto outputs = evaluateEntry(after, "logits", *inputs);
    if (failed(outputs))
      return Status::refused("cannot be evaluated");
    double off = distance((*outputs)["output:logits"].data(), logits);
    return off <= 1e-6
               ? Status()
               : Status::refused("logits are off by " + std::to_string(off));
  });
}

INSTANTIATE_TEST_SUITE_P(Meshes, Imported,
                         testing::Values("tp=4", "tp=5", "pp=3"),
                         [](const auto &info) {
                           std::string name = info.param;
                           name.erase(name.find('='), 1);
                           return name;
                         });

} // namespace

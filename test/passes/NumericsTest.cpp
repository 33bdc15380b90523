//===- NumericsTest.cpp - Same numbers behind every pass ------------------===//
//
// Modules are evaluated in float64 on one rank, then, behind each pass, on all
// ranks of the mesh in lockstep; results must be equal. Shardings of arguments
// and results are drawn at random, so that every way to split an operation is
// met: uneven pieces, parts of axes, empty pieces, unreduced arguments.
//
//===----------------------------------------------------------------------===//

#include "frontend/Annotations.h"
#include "frontend/ImportModel.h"
#include "ir/reference/Compare.h"
#include "passes/Pipelines.h"
#include "runtime/files/Safetensors.h"
#include "test/numerics/ModelInputs.h"
#include "test/unit/files/TestFiles.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Parser/Parser.h"

#include <random>
#include <set>

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

constexpr double kTolerance = 1e-10;
/// The last step whose modules the evaluator understands.
constexpr const char *kLast = "verify-staged";

struct Sample {
  const char *name;
  const char *text;
};

// Sizes do not divide by those of the meshes.
const Sample samples[] = {
    {"mlp", R"(
func.func @f(%x: tensor<3x7xf32>, %up: tensor<7x10xf32>, %gate: tensor<7x10xf32>, %down: tensor<10x7xf32>) -> tensor<3x7xf32> {
  %0 = tandem.einsum "bd,df->bf" %x, %up : (tensor<3x7xf32>, tensor<7x10xf32>) -> tensor<3x10xf32>
  %1 = tandem.einsum "bd,df->bf" %x, %gate : (tensor<3x7xf32>, tensor<7x10xf32>) -> tensor<3x10xf32>
  %2 = tandem.silu %1 : tensor<3x10xf32>
  %3 = tandem.binary mul, %0, %2 : tensor<3x10xf32>
  %4 = tandem.einsum "bf,fd->bd" %3, %down : (tensor<3x10xf32>, tensor<10x7xf32>) -> tensor<3x7xf32>
  %5 = tandem.sum %x, %4 : tensor<3x7xf32>
  return %5 : tensor<3x7xf32>
})"},
    {"attention", R"(
func.func @f(%x: tensor<2x3x6xf32>, %wq: tensor<3x2x4x6xf32>, %wk: tensor<3x4x6xf32>, %wv: tensor<3x4x6xf32>, %wo: tensor<6x3x2x4xf32>, %positions: tensor<2xi32>, %lengths: tensor<2xi32>,
             %kc: tensor<2x5x3x4xf32> {tandem.state = "k", tandem.aliases = 1 : i64}, %vc: tensor<2x5x3x4xf32> {tandem.state = "v", tandem.aliases = 2 : i64}) -> (tensor<2x3x6xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>) {
  %q = tandem.einsum "bsd,kghd->bskgh" %x, %wq : (tensor<2x3x6xf32>, tensor<3x2x4x6xf32>) -> tensor<2x3x3x2x4xf32>
  %k0 = tandem.einsum "bsd,khd->bskh" %x, %wk : (tensor<2x3x6xf32>, tensor<3x4x6xf32>) -> tensor<2x3x3x4xf32>
  %v0 = tandem.einsum "bsd,khd->bskh" %x, %wv : (tensor<2x3x6xf32>, tensor<3x4x6xf32>) -> tensor<2x3x3x4xf32>
  %k1 = tandem.rope %k0, %positions {style = #tandem.rope<half_split>, frequencies = array<f64: 1.0, 0.01>} : (tensor<2x3x3x4xf32>, tensor<2xi32>) -> tensor<2x3x3x4xf32>
  %k = tandem.update_slice %kc, %k1, %positions, %lengths : (tensor<2x5x3x4xf32>, tensor<2x3x3x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x5x3x4xf32>
  %v = tandem.update_slice %vc, %v0, %positions, %lengths : (tensor<2x5x3x4xf32>, tensor<2x3x3x4xf32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x5x3x4xf32>
  %y, %lse = tandem.attention %q, %k, %v, %positions {causal, scale = 0.5 : f64} : (tensor<2x3x3x2x4xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>, tensor<2xi32>) -> (tensor<2x3x3x2x4xf32>, tensor<2x3x3x2xf32>)
  %o = tandem.einsum "bskgh,dkgh->bsd" %y, %wo : (tensor<2x3x3x2x4xf32>, tensor<6x3x2x4xf32>) -> tensor<2x3x6xf32>
  %r = tandem.sum %x, %o : tensor<2x3x6xf32>
  return %r, %k, %v : tensor<2x3x6xf32>, tensor<2x5x3x4xf32>, tensor<2x5x3x4xf32>
})"},
    {"tiedHead", R"(
func.func @f(%table: tensor<11x6xf32>, %ids: tensor<2x3xi32>, %last: tensor<2xi32>) -> (tensor<2x11xf32>, tensor<2x2xi32>) {
  %0 = tandem.embedding %table, %ids : (tensor<11x6xf32>, tensor<2x3xi32>) -> tensor<2x3x6xf32>
  %1 = tandem.gather %0, %last {dim = 1 : i64, batch_dims = 1 : i64} : (tensor<2x3x6xf32>, tensor<2xi32>) -> tensor<2x6xf32>
  %2 = tandem.einsum "bd,vd->bv" %1, %table : (tensor<2x6xf32>, tensor<11x6xf32>) -> tensor<2x11xf32>
  %v, %i = tandem.top_k %2 : (tensor<2x11xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return %2, %i : tensor<2x11xf32>, tensor<2x2xi32>
})"},
    {"norms", R"(
func.func @f(%x: tensor<2x3x5xf32>, %w: tensor<5xf32>, %b: tensor<5xf32>) -> (tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3x5xf32>) {
  %0 = tandem.rms_norm %x, %w {epsilon = 1.0e-5 : f64} : (tensor<2x3x5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %1 = tandem.layer_norm %x, %w, %b {epsilon = 1.0e-5 : f64} : (tensor<2x3x5xf32>, tensor<5xf32>, tensor<5xf32>) -> tensor<2x3x5xf32>
  %2 = tandem.softmax %x : tensor<2x3x5xf32>
  return %0, %1, %2 : tensor<2x3x5xf32>, tensor<2x3x5xf32>, tensor<2x3x5xf32>
})"},
    {"waiting", R"(
func.func @f(%a: tensor<3x7xf32>, %b: tensor<7x5xf32>, %c: tensor<7x5xf32>, %s: tensor<f32>, %r: tensor<3x5xf32>) -> (tensor<3x5xf32>, tensor<5x3xf32>) {
  %0 = tandem.einsum "bd,df->bf" %a, %b : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  %1 = tandem.einsum "bd,df->bf" %a, %c : (tensor<3x7xf32>, tensor<7x5xf32>) -> tensor<3x5xf32>
  %2 = tandem.broadcast_in_dim %s [] : (tensor<f32>) -> tensor<3x5xf32>
  %3 = tandem.binary mul, %1, %2 : tensor<3x5xf32>
  %4 = tandem.sum %r, %0, %3 : tensor<3x5xf32>
  %5 = tandem.unary neg, %0 : tensor<3x5xf32>
  %6 = tandem.transpose %5 [1, 0] : (tensor<3x5xf32>) -> tensor<5x3xf32>
  return %4, %6 : tensor<3x5xf32>, tensor<5x3xf32>
})"},
    {"reductions", R"(
func.func @f(%x: tensor<5x7x3xf32>) -> (tensor<5x3xf32>, tensor<7xf32>, tensor<5x7x3xf32>, tensor<f32>) {
  %0 = tandem.reduce max, %x [1] : (tensor<5x7x3xf32>) -> tensor<5x3xf32>
  %1 = tandem.reduce sum, %x [0, 2] : (tensor<5x7x3xf32>) -> tensor<7xf32>
  %2 = tandem.cumulative_sum %x {dim = 1 : i64} : tensor<5x7x3xf32>
  %3 = tandem.reduce min, %x [0, 1, 2] : (tensor<5x7x3xf32>) -> tensor<f32>
  return %0, %1, %2, %3 : tensor<5x3xf32>, tensor<7xf32>, tensor<5x7x3xf32>, tensor<f32>
})"},
    {"shapes", R"(
func.func @f(%x: tensor<4x6x5xf32>, %y: tensor<3x8xf32>) -> (tensor<4x30xf32>, tensor<24x5xf32>, tensor<2x2x6xf32>, tensor<4x3x2x5xf32>) {
  %0 = tandem.reshape %x : (tensor<4x6x5xf32>) -> tensor<4x30xf32>
  %1 = tandem.reshape %x : (tensor<4x6x5xf32>) -> tensor<24x5xf32>
  %2 = tandem.reshape %y : (tensor<3x8xf32>) -> tensor<2x2x6xf32>
  %3 = tandem.reshape %x : (tensor<4x6x5xf32>) -> tensor<4x3x2x5xf32>
  return %0, %1, %2, %3 : tensor<4x30xf32>, tensor<24x5xf32>, tensor<2x2x6xf32>, tensor<4x3x2x5xf32>
})"},
    {"selections", R"(
func.func @f(%x: tensor<5x7xf32>, %y: tensor<2x7xf32>, %ids: tensor<4xi32>, %rows: tensor<4x7xf32>) -> (tensor<2x4xf32>, tensor<7x7xf32>, tensor<7x9xf32>, tensor<4x7xf32>, tensor<5x7xf32>) {
  %0 = tandem.slice %x [1, 2] step [2, 1] : (tensor<5x7xf32>) -> tensor<2x4xf32>
  %1 = tandem.concat %x, %y {dim = 0 : i64} : (tensor<5x7xf32>, tensor<2x7xf32>) -> tensor<7x7xf32>
  %2 = tandem.pad %x low [1, 2] high [1, 0] value 0.5 : (tensor<5x7xf32>) -> tensor<7x9xf32>
  %3 = tandem.gather %x, %ids {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<5x7xf32>, tensor<4xi32>) -> tensor<4x7xf32>
  %4 = tandem.scatter_add %x, %ids, %rows {dim = 0 : i64, batch_dims = 0 : i64} : (tensor<5x7xf32>, tensor<4xi32>, tensor<4x7xf32>) -> tensor<5x7xf32>
  return %0, %1, %2, %3, %4 : tensor<2x4xf32>, tensor<7x7xf32>, tensor<7x9xf32>, tensor<4x7xf32>, tensor<5x7xf32>
})"},
    {"constants", R"(
func.func @f(%x: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) {
  %0 = tandem.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = tandem.broadcast_in_dim %0 [1] : (tensor<4xf32>) -> tensor<5x4xf32>
  %2 = tandem.binary mul, %x, %1 : tensor<5x4xf32>
  %3 = tandem.iota {dim = 0 : i64, start = 2.0 : f64, step = 0.5 : f64} : tensor<5x4xf32>
  %4 = tandem.compare lt, %x, %3 : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xi1>
  %5 = tandem.select %4, %2, %3 : (tensor<5x4xi1>, tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %6 = tandem.constant dense<0.25> : tensor<5x4xf32>
  %7 = tandem.sum %5, %6 : tensor<5x4xf32>
  return %5, %7 : tensor<5x4xf32>, tensor<5x4xf32>
})"},
    {"products", R"(
func.func @f(%a: tensor<5x4xf32>, %b: tensor<4x5xf32>, %c: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5xf32>, tensor<5x4x4xf32>) {
  %0 = tandem.einsum "ij,jk->ik" %a, %b : (tensor<5x4xf32>, tensor<4x5xf32>) -> tensor<5x5xf32>
  %1 = tandem.einsum "ij,jk->ik" %0, %c : (tensor<5x5xf32>, tensor<5x4xf32>) -> tensor<5x4xf32>
  %2 = tandem.einsum "ij,ij->i" %1, %a : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5xf32>
  %3 = tandem.einsum "ij,ik->ijk" %a, %c : (tensor<5x4xf32>, tensor<5x4xf32>) -> tensor<5x4x4xf32>
  return %1, %2, %3 : tensor<5x4xf32>, tensor<5xf32>, tensor<5x4x4xf32>
})"},
};

const char *meshes[] = {"x=2,y=3", "tp=4", "x=2,y=2,z=2", "pp=2,tp=3", "tp=5"};

using Random = std::mt19937;

/// The mesh's axes, of some the two halves, in any order.
AxisList randomParts(const Mesh &mesh, Random &random) {
  AxisList parts;
  for (const Axis &axis : mesh.axes()) {
    if (axis.name == "pp")
      continue;
    if (axis.size == 4 && random() % 2) {
      parts.push_back({axis.name, 1, 2});
      parts.push_back({axis.name, 2, 2});
    } else {
      parts.push_back(mesh.whole(axis.name));
    }
  }
  std::shuffle(parts.begin(), parts.end(), random);
  return parts;
}

/// Each part of an axis on some dimension, unreduced, or unused.
Sharding randomSharding(size_t rank, bool mayBeUnreduced, const Mesh &mesh,
                        Random &random) {
  Sharding sharding = Sharding::replicatedOver(rank);
  for (DimSharding &dim : sharding.dims)
    dim.open = random() % 2;
  for (const AxisRef &part : randomParts(mesh, random)) {
    size_t choice = random() % (rank + 2);
    if (choice < rank)
      sharding.dims[choice].axes.push_back(part);
    else if (mayBeUnreduced && random() % 4 == 0)
      sharding.unreduced.push_back(part);
  }
  return sharding;
}

/// Shardings on half of the arguments and results.
void annotate(ModuleOp module, const Mesh &mesh, Random &random) {
  auto draw = [&](Type type, bool argument) {
    bool floats = isa<FloatType>(cast<RankedTensorType>(type).getElementType());
    return ShardingAttr::get(meshNameOf(module),
                             randomSharding(globalShape(type).size(),
                                            argument && floats, mesh, random),
                             mesh);
  };
  for (auto function : module.getOps<func::FuncOp>()) {
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      bool state = bool(function.getArgAttr(i, TandemDialect::kState));
      if (random() % 2)
        function.setArgAttr(
            i, TandemDialect::kSharding,
            draw(function.getArgument(i).getType(), /*argument=*/!state));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (random() % 2 && function.getResultAttr(i, TandemDialect::kOutput))
        function.setResultAttr(i, TandemDialect::kSharding,
                               draw(function.getResultTypes()[i], false));
  }
}

/// Four layers, so that there is something to cut.
void setLayers(ModuleOp module) {
  Builder builder(module.getContext());
  for (auto function : module.getOps<func::FuncOp>()) {
    Block &body = function.getBody().front();
    int64_t count = std::distance(body.begin(), body.end()), at = 0;
    for (Operation &op : body.without_terminator())
      if (!isa<ConstantOp>(op))
        op.setAttr(TandemDialect::kLayer,
                   builder.getI64IntegerAttr(4 * at++ / count));
  }
}

/// Names, which stages know arguments and results by: floats are parameters
/// but the first, which is an input as integers are.
void setNames(ModuleOp module) {
  MLIRContext *context = module.getContext();
  for (auto function : module.getOps<func::FuncOp>()) {
    std::set<int64_t> states;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      std::string name = "\"a" + std::to_string(i) + "\"";
      auto type = cast<RankedTensorType>(function.getArgument(i).getType());
      if (auto aliases = function.getArgAttrOfType<IntegerAttr>(
              i, TandemDialect::kAliases))
        states.insert(aliases.getInt());
      else if (i > 0 && isa<FloatType>(type.getElementType()))
        function.setArgAttr(
            i, TandemDialect::kParameter,
            parseAttribute("#tandem.view<" + name + ">", context));
      else
        function.setArgAttr(i, TandemDialect::kInput,
                            parseAttribute(name, context));
    }
    for (unsigned i = 0; i < function.getNumResults(); ++i)
      if (!states.count(i))
        function.setResultAttr(
            i, TandemDialect::kOutput,
            parseAttribute("\"y" + std::to_string(i) + "\"", context));
  }
}

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

class Numbers : public testing::TestWithParam<Sample> {
protected:
  Numbers() {
    context.disableMultithreading();
    context.loadDialect<TandemDialect, func::FuncDialect>();
  }
  MLIRContext context;
};

TEST_P(Numbers, AreTheSameBehindEveryPass) {
  // `--gtest_shuffle --gtest_random_seed=N` draws others.
  unsigned seed = 1000 * testing::UnitTest::GetInstance()->random_seed();
  for (const char *meshText : meshes)
    for (int trial = 0; trial < 6; ++trial) {
      Random random(++seed);
      auto before = parseSourceString<ModuleOp>(GetParam().text, &context);
      ASSERT_TRUE(before);
      setNames(*before);
      Mesh mesh = *Mesh::parse(meshText);
      OwningOpRef<ModuleOp> module = before->clone();
      setMesh(*module, mesh);
      setLayers(*module);
      annotate(*module, mesh, random);
      runSteps(*module,
               std::string(meshText) + ", seed " + std::to_string(seed),
               [&](ModuleOp after) {
                 return compareModules(*before, after, seed, kTolerance);
               });
      if (HasFatalFailure())
        return;
    }
}

INSTANTIATE_TEST_SUITE_P(Samples, Numbers, testing::ValuesIn(samples),
                         [](const auto &info) { return info.param.name; });

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

#include "test/passes/RandomModules.h"

#include "frontend/Annotations.h"

#include "mlir/AsmParser/AsmParser.h"

#include <algorithm>
#include <set>

using namespace mlir;

namespace tandem::test {
namespace {

// Sizes do not divide by those of the meshes.
const std::vector<Sample> allSamples = {
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
    {"table", R"(
func.func @f(%x: tensor<5x4xf32>) -> tensor<5x4xf32> {
  %0 = tandem.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %1 = tandem.broadcast_in_dim %0 [1] : (tensor<4xf32>) -> tensor<5x4xf32>
  %2 = tandem.binary mul, %x, %1 : tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
})"},
    {"constants", R"(
func.func @f(%x: tensor<5x4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>) {
  %0 = tandem.constant dense<3.0> : tensor<4xf32>
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

void annotate(ModuleOp module, const Mesh &mesh, Random &random,
              bool mayBeUnreduced) {
  auto draw = [&](Type type, bool argument) {
    bool floats = isa<FloatType>(cast<RankedTensorType>(type).getElementType());
    return ShardingAttr::get(
        meshNameOf(module),
        randomSharding(globalShape(type).size(),
                       mayBeUnreduced && argument && floats, mesh, random),
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

} // namespace

const std::vector<Sample> &samples() { return allSamples; }

const std::vector<const char *> &sampleMeshes() {
  static const std::vector<const char *> meshes = {
      "x=2,y=3", "tp=4", "x=2,y=2,z=2", "pp=2,tp=3", "tp=5"};
  return meshes;
}

void setNames(ModuleOp module, bool allInputs) {
  MLIRContext *context = module.getContext();
  for (auto function : module.getOps<func::FuncOp>()) {
    std::set<int64_t> states;
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      std::string name = "\"a" + std::to_string(i) + "\"";
      auto type = cast<RankedTensorType>(function.getArgument(i).getType());
      if (auto aliases = function.getArgAttrOfType<IntegerAttr>(
              i, TandemDialect::kAliases))
        states.insert(aliases.getInt());
      else if (!allInputs && i > 0 && isa<FloatType>(type.getElementType()))
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

void split(ModuleOp module, const Mesh &mesh, Random &random,
           bool mayBeUnreduced) {
  setMesh(module, mesh);
  setLayers(module);
  annotate(module, mesh, random, mayBeUnreduced);
}

} // namespace tandem::test

#include "passes/import/Passes.h"
#include "passes/import/SdyText.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

#include <map>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_IMPORTSDY
#include "passes/import/Passes.h.inc"

namespace {

constexpr StringLiteral kSdySharding = "sdy.sharding";

bool is(Operation *op, StringRef name) {
  return op->getName().getStringRef() == name;
}

/// An operation that says how its operand lies and is the identity else.
bool isConstraint(Operation *op) {
  return is(op, "sdy.sharding_constraint") || is(op, "sdy.reshard");
}

StringAttr nameOf(Operation *meshOp) {
  return meshOp->getAttrOfType<StringAttr>(SymbolTable::getSymbolAttrName());
}

class SdyImport {
public:
  explicit SdyImport(ModuleOp module) : module(module) {}

  LogicalResult run();

private:
  LogicalResult collect(Operation *op);
  LogicalResult collectMesh(Operation *op);
  void noteShardings(Operation *op);
  void declareMesh();
  LogicalResult checkMesh(Operation *op, const SdyMesh &mesh);
  FailureOr<ShardingAttr> onModuleMesh(Operation *op,
                                       const Result<SdySharding> &sharding);
  FailureOr<DictionaryAttr> convertPort(Operation *op, DictionaryAttr port);
  LogicalResult convertFunction(FunctionOpInterface function);
  LogicalResult convertConstraint(Operation *op);
  LogicalResult convertResults(Operation *op);
  Value constrain(OpBuilder &builder, Operation *op, Value value,
                  ShardingAttr sharding);

  ModuleOp module;
  std::map<std::string, SdyMesh> meshes;
  std::vector<Operation *> meshOps, constraints, annotated;
  bool found = false;   ///< Whether anything of Shardy's is there.
  MeshAttr writtenMesh; ///< The first that a sharding writes out.
  MeshAttr axes;        ///< The module's mesh.
  FlatSymbolRefAttr name;
};

LogicalResult SdyImport::collectMesh(Operation *op) {
  if (!nameOf(op))
    return op->emitError("has no 'sym_name', expected the mesh's name");
  Result<SdyMesh> mesh = readSdyMesh(op->getAttr("mesh"));
  if (!mesh.ok())
    return op->emitError("attribute 'mesh': ") << mesh.status().message();
  meshes[nameOf(op).getValue().str()] = *mesh;
  meshOps.push_back(op);
  return success();
}

/// Notes whether `op` has shardings of Shardy's, and the mesh of the first
/// that writes out one.
void SdyImport::noteShardings(Operation *op) {
  op->getAttrDictionary().walk(
      [&](DictionaryAttr attrs) { found |= attrs.contains(kSdySharding); });
  auto note = [&](const SdySharding &sharding) {
    if (!writtenMesh && sharding.mesh && !sharding.mesh->axes.getAxes().empty())
      writtenMesh = sharding.mesh->axes;
  };
  op->getAttrDictionary().walk([&](OpaqueAttr attr) {
    if (Result<SdySharding> one = readSdySharding(attr); one.ok())
      note(*one);
    else if (auto all = readSdyShardings(attr); all.ok())
      llvm::for_each(*all, note);
  });
}

LogicalResult SdyImport::collect(Operation *op) {
  noteShardings(op);
  if (op->hasAttr(kSdySharding))
    annotated.push_back(op);
  if (op->getName().getDialectNamespace() != "sdy")
    return success();
  found = true;
  if (is(op, "sdy.mesh"))
    return collectMesh(op);
  if (!isConstraint(op))
    return op->emitError("has no counterpart, expected of Shardy's operations "
                         "only sdy.mesh, sdy.sharding_constraint and "
                         "sdy.reshard");
  constraints.push_back(op);
  return success();
}

/// The module's mesh: one that is ours, else the first of Shardy's that has
/// axes, else one without.
void SdyImport::declareMesh() {
  name = meshNameOf(module);
  if (name) {
    axes = MeshAttr::get(module.getContext(), meshOf(module));
    meshes[name.getValue().str()] = {axes, {}};
    return;
  }
  OpBuilder builder = OpBuilder::atBlockBegin(module.getBody());
  StringAttr symbol = builder.getStringAttr("mesh");
  axes = writtenMesh;
  for (Operation *op : meshOps) {
    StringAttr own = nameOf(op);
    const SdyMesh &mesh = meshes[own.getValue().str()];
    if (!mesh.devices.empty() || mesh.axes.getAxes().empty())
      continue;
    axes = mesh.axes;
    symbol = own;
    break;
  }
  if (!axes)
    axes = MeshAttr::get(module.getContext(), ArrayRef<AxisAttr>());
  name = FlatSymbolRefAttr::get(symbol);
  MeshOp::create(builder, module.getLoc(), symbol, axes);
}

/// Whether a sharding on `mesh` is one on the module's.
LogicalResult SdyImport::checkMesh(Operation *op, const SdyMesh &mesh) {
  if (mesh.axes.getAxes().empty() && !mesh.devices.empty())
    return op->emitError("lies on one device alone, ")
           << mesh.devices[0] << ", expected a sharding over a mesh's axes";
  if (!mesh.devices.empty())
    return op->emitError("the mesh's device_ids are [")
           << mesh.devices << "], expected devices in row-major order; order "
           << "the axes so that the last is the nearest";
  if (mesh.axes.getAxes().empty() || mesh.axes == axes)
    return success();
  return op->emitError("the mesh is ")
         << mesh.axes << ", the module's " << name << " is " << axes
         << "; expected one mesh in a module";
}

FailureOr<ShardingAttr>
SdyImport::onModuleMesh(Operation *op, const Result<SdySharding> &sharding) {
  if (!sharding.ok()) {
    op->emitError("Shardy's sharding: ") << sharding.status().message();
    return failure();
  }
  SdyMesh mesh = sharding->mesh.value_or(SdyMesh());
  if (!sharding->mesh) {
    auto it = meshes.find(sharding->meshName);
    if (it == meshes.end()) {
      op->emitError("unknown mesh @")
          << sharding->meshName
          << ", expected an sdy.mesh or tandem.mesh of that name";
      return failure();
    }
    mesh = it->second;
  }
  if (failed(checkMesh(op, mesh)))
    return failure();
  Result<ShardingAttr> ours = sharding->on(name);
  if (ours.ok())
    return *ours;
  op->emitError("Shardy's sharding: ") << ours.status().message();
  return failure();
}

/// What a function says of one argument or result, in our words.
FailureOr<DictionaryAttr> SdyImport::convertPort(Operation *op,
                                                 DictionaryAttr port) {
  NamedAttrList attrs(port);
  Attribute theirs = attrs.erase(kSdySharding);
  if (!theirs)
    return port;
  FailureOr<ShardingAttr> ours = onModuleMesh(op, readSdySharding(theirs));
  if (failed(ours))
    return failure();
  if (attrs.set(TandemDialect::kSharding, *ours)) {
    op->emitError("has 'sdy.sharding' beside 'tandem.sharding', expected one "
                  "of them");
    return failure();
  }
  return attrs.getDictionary(module.getContext());
}

LogicalResult SdyImport::convertFunction(FunctionOpInterface function) {
  SmallVector<DictionaryAttr> ports;
  auto convert = [&]() -> LogicalResult {
    for (DictionaryAttr &port : ports) {
      FailureOr<DictionaryAttr> ours = convertPort(function, port);
      if (failed(ours))
        return failure();
      port = *ours;
    }
    return success();
  };
  function.getAllArgAttrs(ports);
  if (failed(convert()))
    return failure();
  function.setAllArgAttrs(ports);
  ports.clear();
  function.getAllResultAttrs(ports);
  if (failed(convert()))
    return failure();
  function.setAllResultAttrs(ports);
  return success();
}

LogicalResult SdyImport::convertConstraint(Operation *op) {
  if (op->getNumOperands() != 1 || op->getNumResults() != 1)
    return op->emitError("has ")
           << op->getNumOperands() << " operands and " << op->getNumResults()
           << " results, expected a constraint of one value";
  FailureOr<ShardingAttr> sharding =
      onModuleMesh(op, readSdySharding(op->getAttr("sharding")));
  if (failed(sharding))
    return failure();
  OpBuilder builder(op);
  Value constrained = constrain(builder, op, op->getOperand(0), *sharding);
  op->getResult(0).replaceAllUsesWith(constrained);
  op->erase();
  return success();
}

/// Whether a sharding leaves everything to propagation.
bool saysNothing(ShardingAttr sharding) {
  return sharding.getReplicated().empty() && sharding.getUnreduced().empty() &&
         llvm::all_of(sharding.getDims(), [](DimShardingAttr dim) {
           return dim.getOpen() && dim.getAxes().empty();
         });
}

/// `sdy.sharding` of an operation: a constraint of each of its results.
LogicalResult SdyImport::convertResults(Operation *op) {
  auto shardings = readSdyShardings(op->removeAttr(kSdySharding));
  if (!shardings.ok())
    return op->emitError("attribute 'sdy.sharding': ")
           << shardings.status().message();
  if (op->getNumResults() == 0)
    return success();
  if (shardings->size() != op->getNumResults())
    return op->emitError("attribute 'sdy.sharding' has ")
           << shardings->size() << " shardings, expected one for each of "
           << op->getNumResults() << " results";
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(op);
  for (auto [theirs, result] : llvm::zip_equal(*shardings, op->getResults())) {
    FailureOr<ShardingAttr> ours = onModuleMesh(op, theirs);
    if (failed(ours))
      return failure();
    if (saysNothing(*ours))
      continue;
    Value constrained = constrain(builder, op, result, *ours);
    result.replaceAllUsesExcept(constrained, constrained.getDefiningOp());
  }
  return success();
}

/// A constraint of `value` that stands in the layer of `op`.
Value SdyImport::constrain(OpBuilder &builder, Operation *op, Value value,
                           ShardingAttr sharding) {
  auto constraint = ShardingConstraintOp::create(
      builder, op->getLoc(), value.getType(), value, sharding, ViewAttr());
  if (Attribute layer = op->getAttr(TandemDialect::kLayer))
    constraint->setAttr(TandemDialect::kLayer, layer);
  return constraint;
}

LogicalResult SdyImport::run() {
  WalkResult walked = module.walk<WalkOrder::PreOrder>(
      [&](Operation *op) { return WalkResult(collect(op)); });
  if (walked.wasInterrupted())
    return failure();
  if (!found)
    return success();
  declareMesh();
  walked = module.walk([&](FunctionOpInterface function) {
    return WalkResult(convertFunction(function));
  });
  if (walked.wasInterrupted())
    return failure();
  for (Operation *op : annotated)
    if (failed(convertResults(op)))
      return failure();
  for (Operation *op : constraints)
    if (failed(convertConstraint(op)))
      return failure();
  for (Operation *op : meshOps)
    op->erase();
  return success();
}

struct ImportSdyPass : impl::ImportSdyBase<ImportSdyPass> {
  void runOnOperation() override {
    if (failed(SdyImport(getOperation()).run()))
      signalPassFailure();
  }
};

} // namespace
} // namespace tandem

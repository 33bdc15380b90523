#include "ir/Actions.h"
#include "passes/verify/Passes.h"

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_VERIFYPHASE
#include "passes/verify/Passes.h.inc"

namespace {

struct VerifyPhasePass : impl::VerifyPhaseBase<VerifyPhasePass> {
  using VerifyPhaseBase::VerifyPhaseBase;

  void runOnOperation() override {
    if (phase < 1 || phase > 4) {
      getOperation().emitError("option 'phase' is ")
          << phase.getValue() << ", expected 1 to 4";
      return signalPassFailure();
    }
    WalkResult result = getOperation().walk([&](Operation *op) {
      if (failed(verifyPhases(op)) || failed(verifyTypes(op)))
        return WalkResult::interrupt();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      return signalPassFailure();
    if (failed(verifyOneMesh()))
      return signalPassFailure();
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (failed(verifyNames(function)) ||
          (!function.isExternal() && failed(verifyLayers(function))) ||
          failed(Actions::verify(function)))
        return signalPassFailure();
  }

  LogicalResult verifyOneMesh() {
    auto meshes = getOperation().getOps<MeshOp>();
    if (meshes.empty() || llvm::hasSingleElement(meshes))
      return success();
    MeshOp second = *std::next(meshes.begin());
    InFlightDiagnostic error = second.emitOpError(
        "is a second mesh, expected one for all shardings of a module");
    error.attachNote((*meshes.begin()).getLoc()) << "the first is here";
    return error;
  }

  /// Callers, weights and later steps find arguments and results by name.
  LogicalResult verifyNames(func::FuncOp function) {
    for (StringRef kind : {TandemDialect::kInput, TandemDialect::kState})
      if (failed(verifyDistinct(
              function, "argument", kind, function.getNumArguments(),
              [&](unsigned i) { return function.getArgAttr(i, kind); })))
        return failure();
    for (StringRef kind : {TandemDialect::kOutput, TandemDialect::kState})
      if (failed(verifyDistinct(
              function, "result", kind, function.getNumResults(),
              [&](unsigned i) { return function.getResultAttr(i, kind); })))
        return failure();
    return success();
  }

  LogicalResult verifyDistinct(func::FuncOp function, StringRef what,
                               StringRef kind, unsigned count,
                               function_ref<Attribute(unsigned)> get) {
    DenseMap<Attribute, unsigned> seen;
    for (unsigned i = 0; i < count; ++i) {
      Attribute name = get(i);
      if (!name)
        continue;
      auto [it, added] = seen.try_emplace(name, i);
      if (!added)
        return function.emitOpError()
               << what << " " << i << " '" << kind << "' is " << name
               << " as that of " << what << " " << it->second
               << ", expected a name of its own";
    }
    return success();
  }

  LogicalResult verifyPhases(Operation *op) {
    auto phased = dyn_cast<PhaseOpInterface>(op);
    if (!phased || (phased.getPhases() >> (phase - 1)) & 1)
      return success();
    return op->emitOpError() << "may not stand in phase " << phase.getValue();
  }

  LogicalResult verifyTypes(Operation *op) {
    if (!op->getName().getStringRef().starts_with("tandem.") || isa<MeshOp>(op))
      return success();
    for (Value result : op->getResults())
      if (!fits(result.getType()))
        return op->emitOpError()
               << "gives " << result.getType() << ", which phase "
               << phase.getValue() << " does not have";
    return success();
  }

  bool fits(Type type) {
    if (phase == 4)
      return isa<BufferType>(type);
    bool local = static_cast<bool>(localOf(type));
    return isa<RankedTensorType>(type) && local == (phase != 1);
  }

  /// All operations carry a layer or none does; what depends on constants
  /// alone needs none.
  LogicalResult verifyLayers(func::FuncOp function) {
    Operation *without = nullptr;
    bool some = false;
    DenseSet<Value> constants;
    for (Operation &op : function.getBody().front().without_terminator()) {
      if (layerOf(&op)) {
        some = true;
        continue;
      }
      bool constant = llvm::all_of(op.getOperands(),
                                   [&](Value v) { return constants.count(v); });
      if (constant)
        constants.insert(op.result_begin(), op.result_end());
      else if (!without)
        without = &op;
    }
    if (!some || !without)
      return success();
    return without->emitOpError(
        "has no 'tandem.layer', other operations of its function have");
  }
};

} // namespace
} // namespace tandem

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
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (!function.isExternal() && failed(verifyLayers(function)))
        return signalPassFailure();
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

//===- LayoutInvariance.h - Bits that no layout changes --------*- C++ -*-===//
//-*-===//
//
// The module attribute `tandem.layout_invariant = C`: sums over dimensions that
// layouts split are cut into C pieces at fixed global boundaries, on one rank
// too (runtime/kernels/PieceCut.h).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_LAYOUTINVARIANCE_H
#define TANDEM_IR_LAYOUTINVARIANCE_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"

namespace tandem {

constexpr llvm::StringLiteral kLayoutInvariant = "tandem.layout_invariant";

/// The pieces that the module around `op`, or `op` itself, states; 0 where bits
/// may depend on the layout.
inline int64_t layoutInvariantPieces(mlir::Operation *op) {
  auto module = llvm::dyn_cast<mlir::ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<mlir::ModuleOp>();
  auto pieces = module
                    ? module->getAttrOfType<mlir::IntegerAttr>(kLayoutInvariant)
                    : mlir::IntegerAttr();
  return pieces ? pieces.getInt() : 0;
}

} // namespace tandem

#endif // TANDEM_IR_LAYOUTINVARIANCE_H

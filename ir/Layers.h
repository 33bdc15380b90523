//===- Layers.h - Handing an operation's place on to another ----*- C++ -*-===//

#ifndef TANDEM_IR_LAYERS_H
#define TANDEM_IR_LAYERS_H

#include "ir/Dialect.h"

namespace tandem {

/// Gives `to` the place of `from` in a step: layer, whether it is of the
/// backward pass or computed again for it, action; what of them `from` has.
inline void copyLayer(mlir::Operation *from, mlir::Operation *to) {
  for (llvm::StringLiteral name :
       {TandemDialect::kLayer, TandemDialect::kBackward,
        TandemDialect::kRecomputed, TandemDialect::kAction})
    if (mlir::Attribute value = from->getAttr(name))
      to->setAttr(name, value);
}

/// The same, and its stage.
inline void copyLayerAndStage(mlir::Operation *from, mlir::Operation *to) {
  copyLayer(from, to);
  if (mlir::Attribute stage = from->getAttr(TandemDialect::kStage))
    to->setAttr(TandemDialect::kStage, stage);
}

} // namespace tandem

#endif // TANDEM_IR_LAYERS_H

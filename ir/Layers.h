//===- Layers.h - Handing an operation's place on to another ----*- C++ -*-===//

#ifndef TANDEM_IR_LAYERS_H
#define TANDEM_IR_LAYERS_H

#include "ir/Dialect.h"

namespace tandem {

/// Gives `to` the layer of `from`, where it has one.
inline void copyLayer(mlir::Operation *from, mlir::Operation *to) {
  if (mlir::Attribute layer = from->getAttr(TandemDialect::kLayer))
    to->setAttr(TandemDialect::kLayer, layer);
}

/// Gives `to` the layer and the stage of `from`, where it has them.
inline void copyLayerAndStage(mlir::Operation *from, mlir::Operation *to) {
  copyLayer(from, to);
  if (mlir::Attribute stage = from->getAttr(TandemDialect::kStage))
    to->setAttr(TandemDialect::kStage, stage);
}

} // namespace tandem

#endif // TANDEM_IR_LAYERS_H

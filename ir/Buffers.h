//===- Buffers.h - Whose memory a buffer is ---------------------*- C++ -*-===//

#ifndef TANDEM_IR_BUFFERS_H
#define TANDEM_IR_BUFFERS_H

#include "ir/Dialect.h"

namespace tandem {

/// The argument or allocation whose memory `buffer` is, behind all renames.
inline mlir::Value rootOf(mlir::Value buffer) {
  while (auto rename = buffer.getDefiningOp<RenameOp>())
    buffer = rename.getInput();
  return buffer;
}

} // namespace tandem

#endif // TANDEM_IR_BUFFERS_H

//===- RandomInputs.h - Inputs that an entry accepts ------------*- C++ -*-===//

#ifndef TANDEM_IR_REFERENCE_RANDOMINPUTS_H
#define TANDEM_IR_REFERENCE_RANDOMINPUTS_H

#include "ir/reference/Interpreter.h"

namespace tandem {

/// A tensor for each argument of a phase-1 function. Floats lie in [-1, 1);
/// integers in what their use allows: ids below the table's rows, positions
/// within the keys, lengths up to the rows, masks and truth values 0 or 1. The
/// same for one seed and name, whatever else the function has.
NamedTensors randomInputs(mlir::func::FuncOp function, uint64_t seed);

} // namespace tandem

#endif // TANDEM_IR_REFERENCE_RANDOMINPUTS_H

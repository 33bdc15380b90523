//===- Interpreter.h - What a module computes, in float64 -------*- C++ -*-===//
//
// The meaning of a module in phases 1 to 3, plainly and slowly, so that every
// pass can be tested by "same numbers before and after" with no runtime:
//
//   phase 1   one rank runs the entry's function on global tensors
//   phase 2   every rank runs it on its part of them, all in lockstep
//   phase 3   every rank runs the function of its `pp` coordinate, its actions
//             as its schedule says; sends and receives match in order for
//             each pair of ranks
//
// In all phases inputs go in and results come out as global tensors, by name:
//
//   auto outputs = evaluateEntry(module, "decode",
//                                {{"input:input_ids", ids}, ...});
//
// Which ranks run what follows from the module: a function that has local
// types or a `tandem.pp` runs on the module's mesh, any other on one rank.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_REFERENCE_INTERPRETER_H
#define TANDEM_IR_REFERENCE_INTERPRETER_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace tandem {

using NamedTensors = std::map<std::string, Tensor>;

/// `parameter:#tandem.view<...>`, `input:input_ids`, `state:cache.0.key`, or
/// `argument:0` for one without such an attribute.
std::string argumentName(mlir::func::FuncOp function, unsigned index);
/// `output:logits`, `state:cache.0.key`, or `result:0`.
std::string resultName(mlir::func::FuncOp function, unsigned index);

/// The functions that together are `entry`: those with `tandem.entry`, or the
/// one of that name.
std::vector<mlir::func::FuncOp> functionsOf(mlir::ModuleOp module,
                                            llvm::StringRef entry);
/// All entries of a module, in text order.
std::vector<std::string> entriesOf(mlir::ModuleOp module);

/// Runs an entry. Emits an error where an operation has no meaning, an input
/// is missing or has the wrong shape, stages wait for each other, or replicas
/// of a result disagree.
mlir::FailureOr<NamedTensors> evaluateEntry(mlir::ModuleOp module,
                                            llvm::StringRef entry,
                                            const NamedTensors &inputs);

/// Runs one function, its arguments and results by number and global.
mlir::FailureOr<std::vector<Tensor>> evaluate(mlir::func::FuncOp function,
                                              llvm::ArrayRef<Tensor> inputs);

} // namespace tandem

#endif // TANDEM_IR_REFERENCE_INTERPRETER_H

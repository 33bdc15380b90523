//===- Dialect.h - The tandem dialect, its attributes and operations ------===//

#ifndef TANDEM_IR_DIALECT_H
#define TANDEM_IR_DIALECT_H

#include "ir/Tensor.h"
#include "runtime/mesh/TensorType.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tandem {

/// How `lower-to-exec` launches an operation.
struct KernelSpec {
  std::string kernel;
  std::vector<int64_t> numbers;
  /// The operand whose buffer the first result may take over when that operand
  /// dies here, -1 for none.
  int inPlaceOperand = -1;
  /// So many first results take the places of as many first operands, which
  /// the kernel updates (a cache, an optimizer's state).
  int sharedResults = 0;
  /// How many of the last results the kernel can leave out when nothing uses
  /// them.
  int optionalResults = 0;
};

/// A double as `KernelSpec::numbers` hold it.
int64_t numberBits(double value);

llvm::hash_code hash_value(const ShardingRule &rule);

/// Whether operations may have operands of that type: a ranked tensor of
/// static sizes, whose element type plans know.
bool isTensor(mlir::Type type);

/// Whether every local operand and result of `op` has the shape and the axes
/// that its encoding and the module's mesh imply.
mlir::LogicalResult verifyLocalTypes(mlir::Operation *op);

/// The types of a binary operation: `T`, or `(L, R) -> T` where they differ.
mlir::ParseResult parseBinaryTypes(mlir::OpAsmParser &parser, mlir::Type &lhs,
                                   mlir::Type &rhs, mlir::Type &result);
void printBinaryTypes(mlir::OpAsmPrinter &printer, mlir::Operation *op,
                      mlir::Type lhs, mlir::Type rhs, mlir::Type result);

} // namespace tandem

#include "ir/Dialect.h.inc"
#include "ir/Enums.h.inc"
#include "ir/Interfaces.h.inc"
#define GET_ATTRDEF_CLASSES
#include "ir/Attributes.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ir/Types.h.inc"
#define GET_OP_CLASSES
#include "ir/Ops.h.inc"

namespace tandem {

/// The mesh that `op`'s module declares; the mesh of one rank when it has none.
Mesh meshOf(mlir::Operation *op);
/// The name of the declared mesh, null when there is none.
mlir::FlatSymbolRefAttr meshNameOf(mlir::Operation *op);

/// The global shape of a tensor, or of a buffer's: its encoding's, else its
/// own.
llvm::SmallVector<int64_t> globalShape(mlir::Type type);
std::vector<int64_t> toVector(llvm::ArrayRef<int64_t> values);
/// The encoding of a local tensor, null for a global one.
LocalAttr localOf(mlir::Type type);
/// The local type of a tensor of `type`'s element type and global shape.
mlir::RankedTensorType localType(mlir::RankedTensorType type,
                                 ShardingAttr sharding, const Mesh &mesh,
                                 ReductionKind reduction = ReductionKind::Sum);

/// The element type's number. Verifiers admit floats and integers that have
/// one, so that it asserts.
DType dtypeOf(mlir::Type elementType);
/// A tensor of `type`'s element type and global shape, laid out so.
TensorType tensorTypeOf(mlir::Type type, const Sharding &sharding,
                        ReductionKind reduction = ReductionKind::Sum);
/// A local tensor as its encoding states; a global one as replicated.
TensorType tensorTypeOf(mlir::Type localType, const Mesh &mesh);

/// The layer of an operation, nothing where it has none (constants).
std::optional<int64_t> layerOf(mlir::Operation *op);

/// The leading part of `axes` that splits KV heads where `axes` split heads
/// that are grouped `kv` x `group`; the rest splits groups. It is the cut that
/// gives the fullest rank the fewest query plus KV heads; ties prefer KV heads.
AxisList kvAxes(const AxisList &axes, int64_t kv, int64_t group);

} // namespace tandem

#endif // TANDEM_IR_DIALECT_H

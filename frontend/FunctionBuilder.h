//===- FunctionBuilder.h - Writes one entry's function ----------*- C++ -*-===//
//
// Arguments are named, not counted: asking twice for a parameter of one view,
// or for a state of one name, gives the same argument. Every operation gets
// the layer and the location that `at` set last.
//
//   FunctionBuilder f(module, "logits");
//   Value ids = f.input("input_ids", f.type({2, 13}, f.i32()));
//   f.at(-1, "wte");
//   Value x = f.embedding(f.parameter(view, {97, 48}, f.f32()), ids);
//   f.output("logits", x);
//   f.finish();
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_FRONTEND_FUNCTIONBUILDER_H
#define TANDEM_FRONTEND_FUNCTIONBUILDER_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tandem {

class FunctionBuilder {
public:
  FunctionBuilder(mlir::ModuleOp module, llvm::StringRef name);

  mlir::OpBuilder &builder() { return builder_; }
  mlir::RankedTensorType type(llvm::ArrayRef<int64_t> shape,
                              mlir::Type element) const {
    return mlir::RankedTensorType::get(shape, element);
  }
  mlir::Type i32() { return builder_.getI32Type(); }
  mlir::Type f32() { return builder_.getF32Type(); }

  /// What is created next belongs to `layer` and stands at `where`.
  void at(int64_t layer, const llvm::Twine &where);

  mlir::Value input(llvm::StringRef name, mlir::RankedTensorType type);
  /// The parameter that `view` makes of a stored tensor of shape `stored`; in
  /// a new model it begins as `initial` says.
  mlir::Value parameter(ViewAttr view, llvm::ArrayRef<int64_t> stored,
                        mlir::Type element, mlir::DenseF64ArrayAttr initial);
  mlir::Value state(llvm::StringRef name, mlir::RankedTensorType type);
  void output(llvm::StringRef name, mlir::Value value);
  /// The value that replaces the state `name`.
  void replaceState(llvm::StringRef name, mlir::Value value);
  /// Writes the return and the signature. Call once, at the end.
  mlir::func::FuncOp finish();

  /// Any operation of the dialect, at the place that `at` set.
  template <typename OpTy, typename... Args> OpTy create(Args &&...args) {
    OpTy op = OpTy::create(builder_, location_, std::forward<Args>(args)...);
    if (!mlir::isa<ConstantOp>(op.getOperation()))
      op->setAttr(TandemDialect::kLayer, builder_.getI64IntegerAttr(layer_));
    return op;
  }

  // Short names for what builders write often. Shapes follow from operands.
  mlir::Value einsum(llvm::StringRef equation,
                     llvm::ArrayRef<mlir::Value> inputs);
  mlir::Value sum(llvm::ArrayRef<mlir::Value> inputs);
  mlir::Value mul(mlir::Value lhs, mlir::Value rhs);
  mlir::Value unary(UnaryKind kind, mlir::Value input);
  mlir::Value cast(mlir::Value input, mlir::Type element);
  mlir::Value reshape(mlir::Value input, llvm::ArrayRef<int64_t> shape);
  /// Operand dimension i becomes dimension dims[i] of `like`.
  mlir::Value broadcast(mlir::Value input, mlir::Value like,
                        llvm::ArrayRef<int64_t> dims);
  mlir::Value embedding(mlir::Value table, mlir::Value ids);
  mlir::Value reduceSum(mlir::Value input, llvm::ArrayRef<int64_t> dims);
  /// The current slice of dimension 0; the float32 sum over all of them.
  mlir::Value microbatch(mlir::Value batch);
  mlir::Value accumulate(mlir::Value term);
  mlir::Value constrain(mlir::Value input, ViewAttr view);
  /// A constant of `like`'s shape and type, all lanes `value`.
  mlir::Value splat(mlir::RankedTensorType type, double value);

private:
  struct Argument {
    mlir::Value value;
    llvm::SmallVector<mlir::NamedAttribute> attributes;
  };
  struct Returned {
    llvm::StringRef attribute;
    std::string name;
    mlir::Value value;
  };
  mlir::Value argument(llvm::StringRef key, mlir::Attribute name,
                       mlir::RankedTensorType type);
  void tieStates();

  mlir::OpBuilder builder_;
  mlir::func::FuncOp function_;
  mlir::Location location_;
  int64_t layer_ = -1;
  std::vector<Argument> arguments_;
  /// Arguments by the attribute that names them and the name.
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Attribute>, mlir::Value>
      known_;
  std::vector<Returned> results_;
};

/// `type`'s or a value's shape.
llvm::ArrayRef<int64_t> sizesOf(mlir::Value value);
mlir::RankedTensorType typeOf(mlir::Value value);

} // namespace tandem

#endif // TANDEM_FRONTEND_FUNCTIONBUILDER_H

//===- ModuleGraph.h - A module's functions as one graph --------*- C++ -*-===//
//
// What it is: the functions of a module in one OperationGraph, and what was
// decided written back. Arguments of different functions with one parameter
// view or state name are one tensor; a result lies as it is annotated, one
// that replaces a state as the state does.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_MODULEGRAPH_H
#define TANDEM_PASSES_PROPAGATE_MODULEGRAPH_H

#include "passes/propagate/OperationGraph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tandem {

/// The name by which annotations know an argument: of an input, a parameter
/// or a state; empty where it has none.
llvm::StringRef argumentName(mlir::func::FuncOp function, unsigned index);

class ModuleGraph {
public:
  /// `added` are annotations, by name, of arguments that have none.
  explicit ModuleGraph(mlir::ModuleOp module,
                       llvm::StringMap<Sharding> added = {});

  /// Fails, with a message, where the module cannot be a graph.
  mlir::LogicalResult build();
  Status decide(const PropagationOptions &options, ReshardPaths &paths) {
    return graph.decide(options, paths);
  }
  const OperationGraph &operations() const { return graph; }
  OperationGraph &operations() { return graph; }
  void write();

private:
  mlir::LogicalResult addArgument(mlir::func::FuncOp function,
                                  mlir::BlockArgument argument);
  mlir::LogicalResult addFunction(mlir::func::FuncOp function);
  mlir::LogicalResult addResults(mlir::func::FuncOp function);
  mlir::LogicalResult annotateState(mlir::func::FuncOp function,
                                    unsigned argument, ShardingAttr sharding);
  void writeFunction(mlir::func::FuncOp function);

  mlir::ModuleOp module;
  Mesh mesh;
  llvm::StringMap<Sharding> added;
  OperationGraph graph;
  llvm::DenseMap<std::pair<mlir::Attribute, mlir::Type>, int> shared;
  llvm::DenseMap<int, ShardingAttr> said; ///< Of arguments, by tensor.
  llvm::DenseMap<std::pair<mlir::Operation *, unsigned>, int> results;
};

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_MODULEGRAPH_H

//===- OperationGraph.h - Operations in a PropagationGraph ------*- C++ -*-===//
//
// What it is: how an operation of the dialect enters a PropagationGraph, and
// how what was decided is written back: `tandem.shardings` says how results
// lie where they are made, `tandem.choice` which factor has which axes, which
// operands come unreduced and which terms of a sum are added first.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PROPAGATE_OPERATIONGRAPH_H
#define TANDEM_PASSES_PROPAGATE_OPERATIONGRAPH_H

#include "passes/propagate/OpenOps.h"

#include "ir/Dialect.h"

namespace tandem {

/// Operations and values of MLIR as a graph.
class OperationGraph {
public:
  OperationGraph(const Mesh &mesh, mlir::FlatSymbolRefAttr meshName)
      : graph(mesh), meshName(meshName) {}

  /// The value's tensor, a new one for a new value.
  int tensorOf(mlir::Value value);
  int addTensor(mlir::Type type, mlir::Location loc);
  /// Makes `value` another name of `tensor`.
  void setTensor(mlir::Value value, int tensor) { tensors[value] = tensor; }

  /// Says that `tensor` lies as it is annotated, or open where it is not.
  void addSource(int tensor);
  /// Says that `to` takes its value from `from`, brought to its annotation, at
  /// operation `op`, which runs `times` in a step.
  void addTarget(mlir::Operation *op, int from, int to, int64_t times = 1);
  /// Says that `result` lies as `state`, which it replaces.
  void tie(int state, int result) { graph.tie(state, result); }
  /// `op` runs `times` in a step. Fails, with a message, where it has no rule.
  mlir::LogicalResult addOperation(mlir::Operation *op, int64_t times = 1);

  void setParameter(int tensor) { graph.setParameter(tensor); }
  void annotate(int tensor, const Sharding &sharding) {
    graph.annotate(tensor, sharding);
  }

  /// Spreads annotations and decides all operations.
  Status decide(const PropagationOptions &options, ReshardPaths &paths);

  /// Products' flops of all ranks over those of one rank alone.
  double compute() const;
  /// The axes whose ranks repeat some of them, `"dp", "tp"`; empty for none.
  std::string repeating() const;
  /// Wire bytes of one device, all values and functions together.
  int64_t bytes() const;
  /// One remark for each operation that was open.
  void report();
  /// How a tensor lies where it is made.
  ShardingAttr shardingOf(int tensor) const;
  /// Writes what was decided onto the operations.
  void write() const;

private:
  mlir::ArrayAttr axesAttr(const std::vector<AxisList> &lists) const;
  int64_t ranksOfStage() const;
  void write(int number) const;
  void reportGap();
  void report(int number);

  PropagationGraph graph;
  mlir::FlatSymbolRefAttr meshName;
  llvm::DenseMap<mlir::Value, int> tensors;
  std::vector<mlir::Operation *> operations; ///< By the graph's number.
  std::vector<mlir::Location> locations;     ///< By tensor.
  std::unique_ptr<OpenOps> openOps;
};

/// What `write` put onto `op`; nothing where it did not.
std::optional<OpChoice> choiceOf(mlir::Operation *op, const Mesh &mesh);

} // namespace tandem

#endif // TANDEM_PASSES_PROPAGATE_OPERATIONGRAPH_H

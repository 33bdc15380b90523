//===- CoordinateBuilder.h - The function of one pp coordinate --*- C++ -*-===//
//
// Writes down what StagePlacement found for one coordinate: operations of its
// stages in lists, one for each action, with what they read cloned or received,
// and what others read sent. All coordinates go through the whole in its order
// and append, so that transfers of one action follow each other alike on both
// sides; a recv then sinks to its first use, but past no other transfer.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PIPELINE_COORDINATEBUILDER_H
#define TANDEM_PASSES_PIPELINE_COORDINATEBUILDER_H

#include "passes/pipeline/ActionOrder.h"

namespace tandem {

class CoordinateBuilder {
public:
  CoordinateBuilder(mlir::func::FuncOp whole, const StagePlacement &placement,
                    const PipelineSchedule &pipeline, int64_t coordinate);

  /// Puts the function in front of the whole.
  mlir::LogicalResult build();

private:
  /// Where operations are appended: of the body an action.
  struct List {
    StepPart part = StepPart::Prologue;
    ActionKey action;

    bool operator<(const List &other) const {
      return std::tie(part, action) < std::tie(other.part, other.action);
    }
  };
  static List listAt(Site site, ActionKind kind);

  void create();
  void visit(mlir::Operation *op);
  void cloneTo(const List &list, mlir::Operation *op, Site site, bool ofStage);
  void exchange(mlir::Operation *op);
  void addStageSum(mlir::Operation *op);
  mlir::Value stageTerm(mlir::Operation *op, mlir::RankedTensorType type);
  /// `value` as the site sees it; what may be anywhere is cloned.
  mlir::Value lookup(mlir::Value value, Site site);
  Site returnSite(mlir::Value value) const;
  void append(const List &list, mlir::Operation *op);

  std::vector<ActionKey> keysInOrder() const;
  void sinkReceives(std::vector<mlir::Operation *> &list) const;
  bool isTransfer(mlir::Operation *op) const;
  void assemble();
  void writeActions(const std::vector<ActionKey> &keys);
  mlir::LogicalResult finish();
  mlir::Value broadcast(mlir::Value value, unsigned index);
  mlir::LogicalResult
  setArguments(const std::map<unsigned, unsigned> &numberOf);

  mlir::func::FuncOp whole;
  const StagePlacement &placement;
  const ScheduleProblem &stages;
  const ActionList order;
  int64_t coordinate;
  mlir::Block &source;
  mlir::OpBuilder builder;
  mlir::func::FuncOp function;
  mlir::Block *block = nullptr;
  std::map<List, std::vector<mlir::Operation *>> lists;
  llvm::DenseMap<mlir::Value, mlir::Value> values;
  /// Cloned or received on a stage.
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, mlir::Value> valuesOfStage;
};

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINE_COORDINATEBUILDER_H

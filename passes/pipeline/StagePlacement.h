//===- StagePlacement.h - Where each operation of an entry runs -*- C++ -*-===//
//
// What it is: the answer that split-stages writes down. Operations run at
// *sites*: those of the body (`ir/Microbatches.h`) on their stage, those that
// run once a step on `pp` coordinates.
//
//   %0 = tandem.unary exp, %x       anywhere: cloned where it is read
//   %1 = ... %0, %w                 body, stage 0: coordinate 0
//   %2 = ... %1, %v                 body, stage 1: %1 crosses
//   %g = tandem.accumulate ...      with its operand
//   %n = tandem.sum %a, %b          scalars of several coordinates, or vectors
//                                   that only scalars are made of: each adds
//                                   its own, all_reduce over "pp"
//   %p = tandem.adamw %w, ..., %g   where %w is held
//
// Rules, in this order:
//   - pure operations of constants and inputs alone, or of constants and
//     parameters alone, are cloned to every site that reads them;
//   - of the others, those in front of the epilogue run on their mark
//     (`tandem.stage`); a backward sum moves to the one stage that has all its
//     terms, so that one value crosses instead of several, and a change of
//     layout to the stages that want it, where less crosses then;
//   - the epilogue goes where its results are wanted: a parameter's new value
//     on every coordinate that holds the parameter, an output on one. So parts
//     of a tied parameter's gradient are exchanged and added on each holder by
//     the same `sum`, to the same bits. What gives scalars runs on one
//     coordinate, and the scalar is sent.
//
// A value that a site reads and its coordinate does not have is *transferred*:
// from the body to a stage, otherwise to a coordinate.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_PASSES_PIPELINE_STAGEPLACEMENT_H
#define TANDEM_PASSES_PIPELINE_STAGEPLACEMENT_H

#include "ir/Microbatches.h"
#include "passes/strategy/PipelineSchedule.h"

#include <map>
#include <set>

namespace tandem {

/// Where operations run: of the body a stage, otherwise a coordinate.
struct Site {
  StepPart part = StepPart::Prologue;
  int64_t index = 0;

  bool operator<(const Site &other) const {
    return std::tie(part, index) < std::tie(other.part, other.index);
  }
  bool operator==(const Site &other) const {
    return part == other.part && index == other.index;
  }
};

/// A value on its way: `lane` tells it from others between the same
/// coordinates that go from or to other actions.
struct Transfer {
  Site to;
  int64_t lane = 0;
};

class StagePlacement {
public:
  /// `stages`: how many there are, where, and whether backward is split.
  StagePlacement(mlir::func::FuncOp function, const ScheduleProblem &stages);

  /// Emits errors: an operation without a mark, or one that reads what only a
  /// later stage has.
  mlir::LogicalResult run();

  const StepParts &stepParts() const { return parts; }
  /// Whether the entry has microbatches; one that has none is straight-line.
  bool hasBody() const { return hasBody_; }
  int64_t coordinateOf(Site site) const {
    return site.part == StepPart::Body ? stages.coordinateOf[site.index]
                                       : site.index;
  }

  /// Whether `op` is cloned where it is read.
  bool isCloned(mlir::Operation *op) const { return cloned.contains(op); }
  /// The sites of any other operation, ascending; none where nobody wants it.
  llvm::ArrayRef<Site> sitesOf(mlir::Operation *op) const;
  /// Whether each coordinate adds its own terms of this sum.
  bool isStageSum(mlir::Operation *op) const { return stageSums.contains(op); }
  /// Whether a value that the epilogue reads is known on every coordinate.
  bool isEverywhere(mlir::Value value) const;
  /// Of any other: the coordinate that counts it.
  int64_t homeOf(mlir::Value value) const;
  /// Where `value` is sent to, by site.
  llvm::ArrayRef<Transfer> transfersOf(mlir::Value value) const;
  /// What of the body `op` belongs to.
  ActionKind kindOf(mlir::Operation *op) const;
  /// The earliest kind of action on `stage` that reads a cloned value of the
  /// body.
  ActionKind firstUse(mlir::Value value, int64_t stage) const;
  /// The coordinates that return result `index`, ascending.
  std::set<int64_t> returnedOn(unsigned index) const;
  /// Of stages on one coordinate that read each other's values, the first.
  int64_t poolStage(int64_t stage) const { return pools[stage]; }

private:
  void findCloned();
  mlir::LogicalResult placeMarked();
  mlir::LogicalResult placeByMark(mlir::Operation *op);
  void moveToReaders(mlir::Operation *op);
  int64_t stageOfTerms(mlir::Operation *op) const;
  void hold(mlir::Value value, int64_t coordinate);
  void findHolders();

  void wantUpdates();
  void findHomes();
  std::set<int64_t> homesOf(mlir::Operation *op) const;
  void placeEpilogue();

  mlir::LogicalResult findTransfers();
  mlir::LogicalResult require(mlir::Operation *user, mlir::Value value,
                              Site site);
  Site siteFor(mlir::Operation *source, Site reader) const;
  mlir::LogicalResult checkDirection(mlir::Operation *user,
                                     mlir::Operation *source, Site site) const;
  void findWeights();
  bool isWanted(mlir::Operation *op,
                const llvm::DenseSet<mlir::Operation *> &wanted) const;
  void findFirstUses();
  void numberLanes();
  void noteUse(mlir::Value value, Site site, ActionKind kind);
  template <typename Visit> void forEachRead(Visit visit);

  bool isBackward(mlir::Operation *op) const {
    return op->hasAttr(TandemDialect::kBackward);
  }
  bool isOfBody(mlir::Operation *op) const {
    return parts.of(op) == StepPart::Body;
  }

  mlir::func::FuncOp function;
  const ScheduleProblem &stages;
  mlir::Block &body;
  StepParts parts;
  bool hasBody_ = false;
  std::map<unsigned, unsigned> argumentOf; ///< By result: what it replaces.
  llvm::DenseSet<mlir::Operation *> cloned;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Site, 1>> sites;
  /// Of arguments and cloned values: who needs them, epilogue apart.
  llvm::DenseMap<mlir::Value, std::set<int64_t>> holders;
  // Of the epilogue.
  llvm::DenseMap<mlir::Operation *, std::set<int64_t>> wantedOn;
  llvm::DenseMap<mlir::Operation *, int64_t> homes;
  llvm::DenseSet<mlir::Operation *> everywhere, stageSums;
  // Between sites.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Transfer, 1>> transfers;
  std::vector<int64_t> pools; ///< By stage.
  llvm::DenseSet<mlir::Operation *> weights;
  llvm::DenseMap<std::pair<mlir::Value, int64_t>, ActionKind> firstUses;
};

} // namespace tandem

#endif // TANDEM_PASSES_PIPELINE_STAGEPLACEMENT_H

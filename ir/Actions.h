//===- Actions.h - What a stage's function runs, and in which order -------===//
//
// What it is: behind split-stages the operations of a training step lie in
// *actions*, each a run of operations that a rank does in one go. A schedule
// says in which order a rank takes them, for which microbatch, and in which
// *slot* that microbatch keeps what one action leaves for another:
//
//   tandem.actions = ["prologue", "forward.0", "backward.0", "epilogue"]
//   tandem.pools = array<i64: -1, 0, 0, -1>        // whose slots, -1: none
//   tandem.schedule = array<i64: 0, 0, 0,          // action, microbatch, slot
//                                1, 0, 0,  1, 1, 1,
//                                2, 0, 0,  2, 1, 1,
//                                3, 0, 0>
//
// Operations carry the number of their action (`tandem.action`) and stand in
// the order of actions, in which the first microbatch passes through them and
// every one through those of one stage. The number behind a name is the stage.
// Prologue and epilogue run once, the others once for each microbatch: the
// *body*.
//
// A function without these attributes is straight-line and runs once, as
// entries for inference do.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_IR_ACTIONS_H
#define TANDEM_IR_ACTIONS_H

#include "ir/Dialect.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tandem {

struct ScheduleItem {
  int64_t action = 0;
  int64_t microbatch = 0;
  int64_t slot = 0;
};

class Actions {
public:
  /// Of a straight-line function.
  Actions() = default;
  /// What the attributes of `function` say.
  explicit Actions(mlir::func::FuncOp function);

  bool empty() const { return names.empty(); }
  int64_t size() const { return static_cast<int64_t>(names.size()); }
  llvm::StringRef nameOf(int64_t action) const { return names[action]; }
  /// The number behind the name, empty for none.
  llvm::StringRef stageOf(int64_t action) const {
    return names[action].split('.').second;
  }
  /// Whether it runs once for each microbatch.
  bool isBody(int64_t action) const;
  bool isBody(mlir::Operation *op) const { return !empty() && isBody(of(op)); }
  /// The pool of slots that it uses, -1 for none.
  int64_t poolOf(int64_t action) const { return pools[action]; }
  const std::vector<ScheduleItem> &schedule() const { return items; }
  int64_t microbatches() const;
  /// How many slots a pool has.
  int64_t slotsOf(int64_t pool) const;
  /// The action of an operation, 0 where it says none.
  static int64_t of(mlir::Operation *op);
  /// Whether an operation runs only when the schedule takes its action for the
  /// last time: it has the unit attribute `tandem.last`.
  static bool isLast(mlir::Operation *op);
  static void setLast(mlir::Operation *op);

  /// Whether the attributes fit each other and the operations: see the file's
  /// comment. Emits an error at the function or the operation.
  static mlir::LogicalResult verify(mlir::func::FuncOp function);

  /// Gives `function` its attributes.
  static void write(mlir::func::FuncOp function,
                    llvm::ArrayRef<std::string> names,
                    llvm::ArrayRef<int64_t> pools,
                    llvm::ArrayRef<ScheduleItem> items);

private:
  std::vector<llvm::StringRef> names; ///< Of the attribute's strings.
  std::vector<int64_t> pools;
  std::vector<ScheduleItem> items;
};

} // namespace tandem

#endif // TANDEM_IR_ACTIONS_H

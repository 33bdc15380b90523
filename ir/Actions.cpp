#include "ir/Actions.h"

#include <map>
#include <set>

using namespace mlir;

namespace tandem {

namespace {

constexpr StringLiteral kPrologue = "prologue";
constexpr StringLiteral kEpilogue = "epilogue";

bool isBodyName(StringRef name) {
  return name != kPrologue && name != kEpilogue;
}

} // namespace

Actions::Actions(func::FuncOp function) {
  auto list = function->getAttrOfType<ArrayAttr>(TandemDialect::kActions);
  auto numbers =
      function->getAttrOfType<DenseI64ArrayAttr>(TandemDialect::kSchedule);
  auto poolList =
      function->getAttrOfType<DenseI64ArrayAttr>(TandemDialect::kPools);
  if (!list || !numbers || !poolList)
    return;
  for (Attribute name : list) {
    auto text = dyn_cast<StringAttr>(name);
    names.push_back(text ? text.getValue() : StringRef());
  }
  pools.assign(poolList.asArrayRef().begin(), poolList.asArrayRef().end());
  ArrayRef<int64_t> flat = numbers.asArrayRef();
  for (size_t i = 0; i + 2 < flat.size(); i += 3)
    items.push_back({flat[i], flat[i + 1], flat[i + 2]});
}

bool Actions::isBody(int64_t action) const { return isBodyName(names[action]); }

int64_t Actions::microbatches() const {
  int64_t count = 1;
  for (const ScheduleItem &item : items)
    count = std::max(count, item.microbatch + 1);
  return count;
}

int64_t Actions::slotsOf(int64_t pool) const {
  int64_t count = 0;
  for (const ScheduleItem &item : items)
    if (poolOf(item.action) == pool)
      count = std::max(count, item.slot + 1);
  return count;
}

int64_t Actions::of(Operation *op) {
  auto action = op->getAttrOfType<IntegerAttr>(TandemDialect::kAction);
  return action ? action.getInt() : 0;
}

constexpr StringLiteral kLast = "tandem.last";

bool Actions::isLast(Operation *op) { return op->hasAttr(kLast); }

void Actions::setLast(Operation *op) {
  op->setAttr(kLast, UnitAttr::get(op->getContext()));
}

void Actions::write(func::FuncOp function, ArrayRef<std::string> names,
                    ArrayRef<int64_t> pools, ArrayRef<ScheduleItem> items) {
  Builder builder(function.getContext());
  SmallVector<Attribute> list;
  for (const std::string &name : names)
    list.push_back(builder.getStringAttr(name));
  SmallVector<int64_t> flat;
  for (const ScheduleItem &item : items)
    flat.append({item.action, item.microbatch, item.slot});
  function->setAttr(TandemDialect::kActions, builder.getArrayAttr(list));
  function->setAttr(TandemDialect::kPools, builder.getDenseI64ArrayAttr(pools));
  function->setAttr(TandemDialect::kSchedule,
                    builder.getDenseI64ArrayAttr(flat));
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

namespace {

/// The attributes of one function against each other.
class ActionsCheck {
public:
  explicit ActionsCheck(func::FuncOp function)
      : function(function), actions(function) {}

  LogicalResult run() {
    if (failed(checkAttributes()) || failed(checkSchedule()))
      return failure();
    int64_t last = 0;
    for (Operation &op : function.getBody().front().without_terminator())
      if (failed(checkOperation(&op, last)))
        return failure();
    return success();
  }

private:
  LogicalResult checkAttributes() {
    auto list = function->getAttrOfType<ArrayAttr>(TandemDialect::kActions);
    auto pools =
        function->getAttrOfType<DenseI64ArrayAttr>(TandemDialect::kPools);
    auto schedule =
        function->getAttrOfType<DenseI64ArrayAttr>(TandemDialect::kSchedule);
    bool strings = list && llvm::all_of(list, [](Attribute name) {
                     return isa<StringAttr>(name);
                   });
    if (!strings || !pools || !schedule)
      return function.emitOpError()
             << "'" << TandemDialect::kActions
             << "': expected an array of names, with integer arrays '"
             << TandemDialect::kPools << "' and '" << TandemDialect::kSchedule
             << "'";
    if (pools.size() != static_cast<int64_t>(list.size()))
      return function.emitOpError()
             << "'" << TandemDialect::kPools << "' has " << pools.size()
             << " entries, expected one for each of " << list.size()
             << " actions";
    if (schedule.size() % 3)
      return function.emitOpError()
             << "'" << TandemDialect::kSchedule << "' has " << schedule.size()
             << " numbers, expected triples of action, microbatch and slot";
    return success();
  }

  /// Every action of the body runs once for each microbatch, the others once;
  /// a microbatch takes those of one stage in their order.
  LogicalResult checkSchedule() {
    std::set<std::pair<int64_t, int64_t>> done;
    // Of a stage and a microbatch: its last action.
    std::map<std::pair<StringRef, int64_t>, int64_t> last;
    for (const ScheduleItem &item : actions.schedule()) {
      if (item.action < 0 || item.action >= actions.size() ||
          item.microbatch < 0 || item.slot < 0)
        return bad(item) << ", expected an action below " << actions.size()
                         << " and no negative number";
      if (!done.insert({item.action, item.microbatch}).second)
        return bad(item) << " twice";
      auto [it, first] = last.try_emplace(
          {actions.stageOf(item.action), item.microbatch}, item.action);
      if (it->second > item.action)
        return bad(item) << " behind action " << it->second
                         << " of that microbatch";
      it->second = item.action;
    }
    for (int64_t action = 0; action < actions.size(); ++action) {
      int64_t times = actions.isBody(action) ? actions.microbatches() : 1;
      for (int64_t i = 0; i < times; ++i)
        if (!done.count({action, i}))
          return function.emitOpError()
                 << "'" << TandemDialect::kSchedule << "' lacks action "
                 << action << " ('" << actions.nameOf(action)
                 << "') of microbatch " << i;
    }
    return checkSlots();
  }

  /// Two microbatches that are under way do not share a slot.
  LogicalResult checkSlots() {
    std::map<std::pair<int64_t, int64_t>, int64_t> left; // pool, microbatch
    for (const ScheduleItem &item : actions.schedule())
      ++left[{actions.poolOf(item.action), item.microbatch}];
    std::map<std::pair<int64_t, int64_t>, int64_t> holder; // of pool, slot
    for (const ScheduleItem &item : actions.schedule()) {
      int64_t pool = actions.poolOf(item.action);
      if (pool < 0)
        continue;
      auto [it, added] = holder.try_emplace({pool, item.slot}, item.microbatch);
      if (it->second != item.microbatch)
        return bad(item) << ", whose slot microbatch " << it->second
                         << " still needs";
      if (--left[{pool, item.microbatch}] == 0)
        holder.erase(it);
    }
    return success();
  }

  InFlightDiagnostic bad(const ScheduleItem &item) {
    return function.emitOpError()
           << "'" << TandemDialect::kSchedule << "' has action " << item.action
           << " of microbatch " << item.microbatch << " in slot " << item.slot;
  }

  LogicalResult checkOperation(Operation *op, int64_t &last) {
    if (isa<AllocOp, RenameOp, MicrobatchViewOp>(op))
      return success();
    auto action = op->getAttrOfType<IntegerAttr>(TandemDialect::kAction);
    if (!action)
      return op->emitOpError() << "has no '" << TandemDialect::kAction
                               << "', its function has actions";
    if (action.getInt() < last || action.getInt() >= actions.size())
      return op->emitOpError()
             << "attribute '" << TandemDialect::kAction << "' is "
             << action.getInt() << ", expected " << last << " to "
             << actions.size() - 1 << ", in order";
    last = action.getInt();
    return success();
  }

  func::FuncOp function;
  Actions actions;
};

} // namespace

LogicalResult Actions::verify(func::FuncOp function) {
  if (function.isExternal() || !function->hasAttr(TandemDialect::kActions))
    return success();
  return ActionsCheck(function).run();
}

} // namespace tandem

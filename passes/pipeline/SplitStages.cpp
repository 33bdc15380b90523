#include "ir/Layers.h"
#include "passes/pipeline/Passes.h"

#include "mlir/IR/IRMapping.h"

#include <map>
#include <set>

using namespace mlir;

namespace tandem {
#define GEN_PASS_DEF_SPLITSTAGES
#include "passes/pipeline/Passes.h.inc"

namespace {

constexpr StringLiteral kEntry = "tandem.entry";
constexpr StringLiteral kPp = "tandem.pp";
constexpr StringLiteral kEverywhere = "tandem.everywhere";

class Splitter {
public:
  Splitter(func::FuncOp function, int64_t stages)
      : function(function), stages(stages), body(function.getBody().front()),
        opsOf(stages), sentFrom(stages) {}

  LogicalResult run() {
    if (failed(findStages()))
      return failure();
    if (failed(findCrossings()))
      return failure();
    for (int64_t stage = 0; stage < stages; ++stage)
      if (failed(build(stage)))
        return failure();
    function.erase();
    return success();
  }

private:
  /// Pure operations fed by constants and entry inputs alone have no stage of
  /// their own: every stage that needs them clones them.
  LogicalResult findStages() {
    for (BlockArgument argument : body.getArguments())
      if (function.getArgAttr(argument.getArgNumber(), TandemDialect::kInput))
        anywhere.insert(argument);
    for (Operation &op : body.without_terminator()) {
      bool free = isPure(&op) && llvm::all_of(op.getOperands(), [&](Value v) {
                    return anywhere.count(v);
                  });
      auto stage = op.getAttrOfType<IntegerAttr>(TandemDialect::kStage);
      if (free && op.getNumResults() > 0) {
        anywhere.insert(op.result_begin(), op.result_end());
        continue;
      }
      if (!stage && stages > 1)
        return op.emitOpError("has no 'tandem.stage'; run assign-stages first");
      int64_t number = stage ? stage.getInt() : 0;
      if (number < 0 || number >= stages)
        return op.emitOpError() << "attribute 'tandem.stage' is " << number
                                << ", expected below " << stages;
      stageOf[&op] = number;
      opsOf[number].push_back(&op);
    }
    return success();
  }

  int64_t definedOn(Value value) const {
    auto it = stageOf.find(value.getDefiningOp());
    return it == stageOf.end() ? -1 : it->second;
  }

  /// Which stages need which value of another, in order of definition.
  LogicalResult findCrossings() {
    for (Operation &op : body.without_terminator()) {
      auto it = stageOf.find(&op);
      if (it != stageOf.end() &&
          failed(need(&op, op.getOperands(), it->second)))
        return failure();
    }
    Operation *terminator = body.getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands()))
      if (failed(need(terminator, value, resultStage(i))))
        return failure();
    for (int64_t stage = 0; stage < stages; ++stage)
      for (Operation *op : opsOf[stage])
        for (Value result : op->getResults())
          if (crossings.count(result))
            sentFrom[stage].push_back(result);
    return success();
  }

  LogicalResult need(Operation *op, ValueRange values, int64_t stage) {
    for (Value value : values) {
      int64_t source = definedOn(value);
      if (source > stage)
        return op->emitOpError()
               << "on stage " << stage << " needs a value of stage " << source
               << ", expected one of an earlier stage";
      if (source >= 0 && source != stage)
        crossings[value].insert(stage);
    }
    return success();
  }

  /// Results live where they are computed; a state that nothing changes and a
  /// value without a stage, on the first stage that has the argument.
  int64_t resultStage(unsigned index) const {
    Value value = body.getTerminator()->getOperand(index);
    if (definedOn(value) >= 0)
      return definedOn(value);
    int64_t first = stages;
    for (Operation *user : value.getUsers())
      if (auto it = stageOf.find(user); it != stageOf.end())
        first = std::min(first, it->second);
    return first == stages ? 0 : first;
  }

  LogicalResult build(int64_t stage) {
    OpBuilder builder(function);
    std::string name = function.getName().str();
    if (stages > 1)
      name += ".pp" + std::to_string(stage);
    auto part = func::FuncOp::create(
        builder, function.getLoc(), name + (stages > 1 ? "" : ".all"),
        FunctionType::get(builder.getContext(), {}, {}));
    part->setAttrs(function->getAttrs());
    part.setName(stages > 1 ? name : name + ".all");
    part->removeAttr(part.getArgAttrsAttrName());
    part->removeAttr(part.getResAttrsAttrName());
    part->setAttr(kEntry, function.getNameAttr());
    part->setAttr(kPp, builder.getI64IntegerAttr(stage));
    Block *block = new Block;
    part.getBody().push_back(block);
    builder.setInsertionPointToStart(block);
    mapping.clear();
    arguments.clear();
    current = part;
    addArguments(builder, stage);
    receive(builder, stage);
    for (Operation *op : opsOf[stage]) {
      fetch(builder, op->getOperands());
      Operation *copy = builder.clone(*op, mapping);
      copy->removeAttr(TandemDialect::kStage);
      send(builder, op);
    }
    return finish(builder, stage);
  }

  /// Whoever calls an entry gives all its inputs, read or not.
  bool isUnreadInput(BlockArgument argument) {
    return argument.use_empty() &&
           function.getArgAttr(argument.getArgNumber(), TandemDialect::kInput);
  }

  /// The arguments that the stage reads, in the order of the whole; inputs
  /// that none reads are the first stage's.
  void addArguments(OpBuilder &builder, int64_t stage) {
    DenseSet<Value> seen;
    SmallVector<Value> open;
    for (Operation *op : opsOf[stage])
      llvm::append_range(open, op->getOperands());
    for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
      if (resultStage(i) == stage)
        open.push_back(value);
    while (!open.empty()) {
      Value value = open.pop_back_val();
      if (!seen.insert(value).second || !anywhere.count(value))
        continue;
      if (Operation *op = value.getDefiningOp())
        llvm::append_range(open, op->getOperands());
    }
    for (BlockArgument argument : body.getArguments())
      if (seen.count(argument) || (stage == 0 && isUnreadInput(argument)))
        fetch(builder, argument);
  }

  void receive(OpBuilder &builder, int64_t stage) {
    for (int64_t from = 0; from < stage; ++from)
      for (Value value : sentFrom[from]) {
        if (!crossings[value].count(stage))
          continue;
        auto recv = RecvOp::create(builder, value.getLoc(), value.getType(),
                                   builder.getI64IntegerAttr(from));
        copyLayer(value.getDefiningOp(), recv);
        mapping.map(value, recv.getResult());
      }
  }

  void send(OpBuilder &builder, Operation *op) {
    for (Value result : op->getResults())
      if (auto it = crossings.find(result); it != crossings.end())
        for (int64_t to : it->second) {
          auto send =
              SendOp::create(builder, op->getLoc(), mapping.lookup(result),
                             builder.getI64IntegerAttr(to));
          copyLayer(op, send);
        }
  }

  /// Makes operands exist in the stage's function: arguments are added, what
  /// may be anywhere is cloned.
  void fetch(OpBuilder &builder, ValueRange values) {
    for (Value value : values) {
      if (mapping.contains(value))
        continue;
      if (auto argument = dyn_cast<BlockArgument>(value)) {
        mapping.map(value, current.getBody().front().addArgument(
                               value.getType(), value.getLoc()));
        arguments.push_back(argument);
        continue;
      }
      Operation *op = value.getDefiningOp();
      fetch(builder, op->getOperands());
      Operation *copy = builder.clone(*op, mapping);
      copy->removeAttr(TandemDialect::kStage);
    }
  }

  LogicalResult finish(OpBuilder &builder, int64_t stage) {
    SmallVector<Value> results;
    SmallVector<Attribute> resultAttrs;
    std::map<unsigned, unsigned> numberOf; // result of the whole -> of this
    Operation *terminator = body.getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      bool everywhere = stages > 1 && function.getResultAttr(i, kEverywhere);
      if (resultStage(i) != stage && !everywhere)
        continue;
      Value result = everywhere
                         ? broadcast(builder, value, i, stage)
                         : (fetch(builder, value), mapping.lookup(value));
      numberOf[i] = results.size();
      results.push_back(result);
      resultAttrs.push_back(function.getResultAttrDict(i));
      if (!resultAttrs.back())
        resultAttrs.back() = builder.getDictionaryAttr({});
    }
    func::ReturnOp::create(builder, terminator->getLoc(), results);
    SmallVector<Attribute> argumentAttrs;
    for (BlockArgument argument : arguments) {
      NamedAttrList attrs(function.getArgAttrDict(argument.getArgNumber()));
      if (auto aliases = dyn_cast_or_null<IntegerAttr>(
              attrs.get(TandemDialect::kAliases))) {
        auto number = numberOf.find(aliases.getInt());
        if (number != numberOf.end())
          attrs.set(TandemDialect::kAliases,
                    builder.getI64IntegerAttr(number->second));
        else if (terminator->getOperand(aliases.getInt()) == argument)
          attrs.erase(TandemDialect::kAliases); // A copy that never changes.
        else
          return function.emitOpError()
                 << "argument " << argument.getArgNumber()
                 << " is a state that stage " << stage
                 << " reads and another changes; a state lives on one stage";
      }
      argumentAttrs.push_back(attrs.getDictionary(builder.getContext()));
    }
    Block &block = current.getBody().front();
    current.setFunctionType(FunctionType::get(builder.getContext(),
                                              block.getArgumentTypes(),
                                              ValueRange(results).getTypes()));
    current.setAllArgAttrs(argumentAttrs);
    current.setAllResultAttrs(resultAttrs);
    return success();
  }

  Value broadcast(OpBuilder &builder, Value value, unsigned index,
                  int64_t stage) {
    int64_t root = resultStage(index);
    Value own;
    if (stage == root) {
      fetch(builder, value);
      own = mapping.lookup(value);
    } else {
      auto type = cast<RankedTensorType>(value.getType());
      auto zeros = DenseElementsAttr::get(
          RankedTensorType::get(globalShape(type), type.getElementType()),
          builder.getZeroAttr(type.getElementType()));
      own = ConstantOp::create(builder, value.getLoc(), type, zeros);
    }
    Mesh mesh = meshOf(function);
    auto op = BroadcastOp::create(
        builder, value.getLoc(), value.getType(), own,
        AxesAttr::get(builder.getContext(), {mesh.whole("pp")}, mesh),
        builder.getI64IntegerAttr(root), builder.getStringAttr("output"));
    if (Operation *source = value.getDefiningOp())
      copyLayer(source, op);
    return op;
  }

  func::FuncOp function;
  int64_t stages;
  Block &body;
  DenseSet<Value> anywhere;
  DenseMap<Operation *, int64_t> stageOf;
  std::vector<std::vector<Operation *>> opsOf; ///< By stage.
  /// Values that cross, by their stage, in order of definition.
  std::vector<std::vector<Value>> sentFrom;
  DenseMap<Value, std::set<int64_t>> crossings;
  // Of the stage that is being built.
  func::FuncOp current;
  IRMapping mapping;
  SmallVector<BlockArgument> arguments;
};

struct SplitStagesPass : impl::SplitStagesBase<SplitStagesPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t stages = meshOf(module).sizeOf("pp");
    for (auto function :
         llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
      if (!function.isExternal() && failed(Splitter(function, stages).run()))
        return signalPassFailure();
  }
};

} // namespace
} // namespace tandem

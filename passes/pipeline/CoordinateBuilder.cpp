#include "passes/pipeline/CoordinateBuilder.h"

#include "ir/Layers.h"

using namespace mlir;

namespace tandem {

namespace {

constexpr StringLiteral kEntry = "tandem.entry";
constexpr StringLiteral kPp = "tandem.pp";
constexpr StringLiteral kEverywhere = "tandem.everywhere";

DenseElementsAttr zerosOf(RankedTensorType type) {
  Builder builder(type.getContext());
  return DenseElementsAttr::get(
      RankedTensorType::get(globalShape(type), type.getElementType()),
      builder.getZeroAttr(type.getElementType()));
}

} // namespace

CoordinateBuilder::CoordinateBuilder(func::FuncOp whole,
                                     const StagePlacement &placement,
                                     const PipelineSchedule &pipeline,
                                     int64_t coordinate)
    : whole(whole), placement(placement), stages(pipeline.problem),
      order(pipeline.schedule.actions[coordinate]), coordinate(coordinate),
      source(whole.getBody().front()), builder(whole.getContext()) {}

LogicalResult CoordinateBuilder::build() {
  create();
  for (Operation &op : source.without_terminator())
    visit(&op);
  return finish();
}

void CoordinateBuilder::create() {
  bool split = stages.coordinates > 1;
  std::string name = whole.getName().str() +
                     (split ? ".pp" + std::to_string(coordinate) : ".all");
  builder.setInsertionPoint(whole);
  function = func::FuncOp::create(builder, whole.getLoc(), name,
                                  builder.getFunctionType({}, {}));
  function->setAttrs(whole->getAttrs());
  function.setName(name);
  function->removeAttr(function.getArgAttrsAttrName());
  function->removeAttr(function.getResAttrsAttrName());
  function->setAttr(kEntry, whole.getNameAttr());
  function->setAttr(kPp, builder.getI64IntegerAttr(coordinate));
  block = new Block;
  function.getBody().push_back(block);
  for (BlockArgument argument : source.getArguments())
    values[argument] =
        block->addArgument(argument.getType(), argument.getLoc());
  builder.clearInsertionPoint();
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

CoordinateBuilder::List CoordinateBuilder::listAt(Site site, ActionKind kind) {
  if (site.part != StepPart::Body)
    return {site.part, {}};
  return {site.part, {kind, site.index}};
}

void CoordinateBuilder::append(const List &list, Operation *op) {
  lists[list].push_back(op);
}

void CoordinateBuilder::visit(Operation *op) {
  if (placement.isCloned(op))
    return;
  for (Site site : placement.sitesOf(op)) {
    if (placement.coordinateOf(site) != coordinate)
      continue;
    if (placement.isStageSum(op))
      addStageSum(op);
    else
      cloneTo(listAt(site, placement.kindOf(op)), op, site,
              site.part == StepPart::Body && placement.sitesOf(op).size() > 1);
  }
  exchange(op);
}

/// `ofStage`: the results are those of the site's stage alone.
void CoordinateBuilder::cloneTo(const List &list, Operation *op, Site site,
                                bool ofStage) {
  Operation *copy = op->clone();
  for (OpOperand &operand : copy->getOpOperands())
    operand.set(lookup(operand.get(), site));
  copy->removeAttr(TandemDialect::kStage);
  append(list, copy);
  for (auto [result, own] : llvm::zip(op->getResults(), copy->getResults()))
    (ofStage ? valuesOfStage[{result, site.index}] : values[result]) = own;
}

Value CoordinateBuilder::lookup(Value value, Site site) {
  if (site.part == StepPart::Body)
    if (Value own = valuesOfStage.lookup({value, site.index}))
      return own;
  if (Value own = values.lookup(value))
    return own;
  Operation *op = value.getDefiningOp();
  bool ofStage = placement.stepParts().of(op) == StepPart::Body;
  Site place = ofStage ? site : Site{StepPart::Prologue, coordinate};
  cloneTo(listAt(place, placement.firstUse(value, site.index)), op, place,
          ofStage);
  return lookup(value, site);
}

/// Sends and receives what other coordinates, or this one, need of `op`. What
/// a forward action sends is received by a forward action, or what it sends
/// next would wait for the backward pass.
void CoordinateBuilder::exchange(Operation *op) {
  for (Value result : op->getResults())
    for (auto [to, lane] : placement.transfersOf(result)) {
      Site from = placement.sitesOf(op)[0];
      int64_t sender = placement.coordinateOf(from);
      int64_t receiver = placement.coordinateOf(to);
      if (sender == coordinate) {
        auto send = SendOp::create(builder, op->getLoc(), lookup(result, from),
                                   builder.getI64IntegerAttr(receiver),
                                   builder.getI64IntegerAttr(lane));
        copyLayer(op, send);
        append(
            listAt(to.part == StepPart::Body ? from : to, placement.kindOf(op)),
            send);
      }
      if (receiver == coordinate) {
        auto recv = RecvOp::create(builder, result.getLoc(), result.getType(),
                                   builder.getI64IntegerAttr(sender),
                                   builder.getI64IntegerAttr(lane));
        copyLayer(op, recv);
        bool ofStage = to.part == StepPart::Body;
        append(listAt(to, placement.kindOf(op)), recv);
        (ofStage ? valuesOfStage[{result, to.index}] : values[result]) =
            recv.getResult();
      }
    }
}

/// A sum whose terms lie on several coordinates: this one's, then all_reduce,
/// then what all have.
void CoordinateBuilder::addStageSum(Operation *op) {
  Mesh mesh = meshOf(whole);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  LocalAttr local = localOf(type);
  Sharding sharding = tensorTypeOf(type, mesh).sharding;
  sharding.unreduced.push_back(mesh.whole("pp"));
  auto attr = ShardingAttr::get(local.getSharding().getMesh(), sharding, mesh);
  Value term = stageTerm(op, localType(type, attr, mesh, ReductionKind::Sum));
  auto sum = AllReduceOp::create(
      builder, op->getLoc(), type, term,
      AxesAttr::get(builder.getContext(), {mesh.whole("pp")}, mesh),
      builder.getStringAttr("sum over stages"));
  copyLayer(op, sum);
  append({StepPart::Epilogue, {}}, sum);
  SmallVector<Value> terms = {sum};
  for (Value operand : op->getOperands())
    if (placement.isEverywhere(operand))
      terms.push_back(lookup(operand, {StepPart::Epilogue, coordinate}));
  values[op->getResult(0)] = sum;
  if (terms.size() == 1)
    return;
  auto all = SumOp::create(builder, op->getLoc(), terms);
  copyLayer(op, all);
  append({StepPart::Epilogue, {}}, all);
  values[op->getResult(0)] = all;
}

Value CoordinateBuilder::stageTerm(Operation *op, RankedTensorType type) {
  List epilogue{StepPart::Epilogue, {}};
  SmallVector<Value> own;
  for (Value operand : op->getOperands())
    if (!placement.isEverywhere(operand) &&
        placement.homeOf(operand) == coordinate)
      own.push_back(lookup(operand, {StepPart::Epilogue, coordinate}));
  auto add = [&](Operation *made) {
    copyLayer(op, made);
    append(epilogue, made);
    return made->getResult(0);
  };
  if (own.empty())
    return add(ConstantOp::create(builder, op->getLoc(), type, zerosOf(type)));
  Value sum =
      own.size() == 1 ? own[0] : add(SumOp::create(builder, op->getLoc(), own));
  return add(CastOp::create(builder, op->getLoc(), type, sum));
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// The actions that are not empty, as the first microbatch takes them.
std::vector<ActionKey> CoordinateBuilder::keysInOrder() const {
  std::vector<ActionKey> keys;
  for (const ScheduleAction &action : order)
    if (action.microbatch == 0 &&
        lists.count({StepPart::Body, {action.kind, action.stage}}))
      keys.push_back({action.kind, action.stage});
  return keys;
}

bool CoordinateBuilder::isTransfer(Operation *op) const {
  if (isa<SendOp, RecvOp>(op))
    return true;
  auto axes = op->getAttrOfType<AxesAttr>("axes");
  return axes && llvm::any_of(axes.getAxes(), [](AxisRefAttr axis) {
           return axis.getName() == "pp";
         });
}

void CoordinateBuilder::sinkReceives(std::vector<Operation *> &list) const {
  for (size_t i = list.size(); i-- > 0;) {
    if (!isa<RecvOp>(list[i]))
      continue;
    Value received = list[i]->getResult(0);
    for (size_t at = i; at + 1 < list.size(); ++at) {
      Operation *next = list[at + 1];
      if (isTransfer(next) || llvm::is_contained(next->getOperands(), received))
        break;
      std::swap(list[at], list[at + 1]);
    }
  }
}

/// Puts the lists one behind the other into the function.
void CoordinateBuilder::assemble() {
  std::vector<List> all = {{StepPart::Prologue, {}}};
  if (placement.hasBody()) {
    std::vector<ActionKey> keys = keysInOrder();
    for (const ActionKey &key : keys)
      all.push_back({StepPart::Body, key});
    all.push_back({StepPart::Epilogue, {}});
    writeActions(keys);
  }
  for (auto [number, list] : llvm::enumerate(all)) {
    sinkReceives(lists[list]);
    for (Operation *op : lists[list]) {
      if (placement.hasBody())
        op->setAttr(TandemDialect::kAction, builder.getI64IntegerAttr(number));
      block->push_back(op);
    }
  }
}

void CoordinateBuilder::writeActions(const std::vector<ActionKey> &keys) {
  std::vector<std::string> names = {"prologue"};
  std::vector<int64_t> pools = {-1};
  std::vector<int64_t> firsts; // of each pool, a stage
  for (const ActionKey &key : keys) {
    names.push_back(key.toString());
    int64_t first = placement.poolStage(key.stage);
    if (!llvm::is_contained(firsts, first))
      firsts.push_back(first);
    pools.push_back(llvm::find(firsts, first) - firsts.begin());
  }
  names.push_back("epilogue");
  pools.push_back(-1);
  Actions::write(function, names, pools, scheduleOf(order, keys, pools));
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

/// The site at which a result is read.
Site CoordinateBuilder::returnSite(Value value) const {
  Operation *op = value.getDefiningOp();
  if (op && placement.isCloned(op) &&
      placement.stepParts().of(op) == StepPart::Body)
    for (int64_t stage = 0; stage < stages.stages(); ++stage)
      if (stages.coordinateOf[stage] == coordinate)
        return {StepPart::Body, stage};
  return {StepPart::Epilogue, coordinate};
}

LogicalResult CoordinateBuilder::finish() {
  SmallVector<Value> results;
  SmallVector<Attribute> resultAttrs;
  std::map<unsigned, unsigned> numberOf; // result of the whole -> of this
  Operation *terminator = source.getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    bool everywhere =
        stages.coordinates > 1 && whole.getResultAttr(i, kEverywhere);
    if (!placement.returnedOn(i).count(coordinate) && !everywhere)
      continue;
    numberOf[i] = results.size();
    results.push_back(everywhere ? broadcast(value, i)
                                 : lookup(value, returnSite(value)));
    DictionaryAttr attrs = whole.getResultAttrDict(i);
    resultAttrs.push_back(attrs ? attrs : builder.getDictionaryAttr({}));
  }
  assemble();
  builder.setInsertionPointToEnd(block);
  func::ReturnOp::create(builder, terminator->getLoc(), results);
  if (failed(setArguments(numberOf)))
    return failure();
  function.setFunctionType(builder.getFunctionType(
      block->getArgumentTypes(), ValueRange(results).getTypes()));
  function.setAllResultAttrs(resultAttrs);
  return success();
}

/// Keeps the arguments that are read. Whoever calls an entry gives all its
/// inputs: the first coordinate takes those that nothing reads.
LogicalResult
CoordinateBuilder::setArguments(const std::map<unsigned, unsigned> &numberOf) {
  SmallVector<Attribute> attributes;
  BitVector unread(block->getNumArguments());
  Operation *terminator = source.getTerminator();
  for (BlockArgument argument : source.getArguments()) {
    unsigned i = argument.getArgNumber();
    bool unreadInput = argument.use_empty() && coordinate == 0 &&
                       whole.getArgAttr(i, TandemDialect::kInput);
    if (block->getArgument(i).use_empty() && !unreadInput) {
      unread.set(i);
      continue;
    }
    NamedAttrList attrs(whole.getArgAttrDict(i));
    if (auto aliases =
            dyn_cast_or_null<IntegerAttr>(attrs.get(TandemDialect::kAliases))) {
      auto number = numberOf.find(aliases.getInt());
      if (number != numberOf.end())
        attrs.set(TandemDialect::kAliases,
                  builder.getI64IntegerAttr(number->second));
      else if (terminator->getOperand(aliases.getInt()) == argument)
        attrs.erase(TandemDialect::kAliases); // A copy that never changes.
      else
        return whole.emitOpError()
               << "argument " << i << " is a state that stage " << coordinate
               << " reads and another changes; a state lives on one stage";
    }
    attributes.push_back(attrs.getDictionary(builder.getContext()));
  }
  block->eraseArguments(unread);
  function.setFunctionType(builder.getFunctionType(block->getArgumentTypes(),
                                                   function.getResultTypes()));
  function.setAllArgAttrs(attributes);
  return success();
}

/// Gives a result to every coordinate.
Value CoordinateBuilder::broadcast(Value value, unsigned index) {
  List last{placement.hasBody() ? StepPart::Epilogue : StepPart::Prologue, {}};
  int64_t root = *placement.returnedOn(index).begin();
  Operation *op = value.getDefiningOp();
  Value own;
  if (coordinate == root) {
    own = lookup(value, returnSite(value));
  } else {
    auto type = cast<RankedTensorType>(value.getType());
    auto zeros =
        ConstantOp::create(builder, value.getLoc(), type, zerosOf(type));
    append(last, zeros);
    own = zeros;
  }
  Mesh mesh = meshOf(whole);
  auto made = BroadcastOp::create(
      builder, value.getLoc(), value.getType(), own,
      AxesAttr::get(builder.getContext(), {mesh.whole("pp")}, mesh),
      builder.getI64IntegerAttr(root), builder.getStringAttr("output"));
  if (op)
    copyLayer(op, made);
  append(last, made);
  return made;
}

} // namespace tandem

#include "passes/pipeline/StagePlacement.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <numeric>

using namespace mlir;

namespace tandem {

namespace {

bool isScalar(Value value) {
  auto tensor = dyn_cast<RankedTensorType>(value.getType());
  return tensor && tensor.getRank() == 0;
}

bool givesScalars(Operation *op) {
  return llvm::all_of(op->getResults(), isScalar);
}

/// Whether ranks that hold different stages add their parts of it: of scalars,
/// and of what only scalars are made of.
bool isSmallSum(Operation *op) {
  return isa<SumOp>(op) &&
         (givesScalars(op) || llvm::all_of(op->getUsers(), givesScalars));
}

} // namespace

StagePlacement::StagePlacement(func::FuncOp function,
                               const ScheduleProblem &stages)
    : function(function), stages(stages), body(function.getBody().front()),
      parts(function), pools(stages.stages()) {
  std::iota(pools.begin(), pools.end(), 0);
  for (Operation &op : body)
    hasBody_ |= isOfBody(&op);
  for (unsigned i = 0; i < body.getNumArguments(); ++i)
    if (auto aliases =
            function.getArgAttrOfType<IntegerAttr>(i, TandemDialect::kAliases))
      argumentOf[aliases.getInt()] = i;
}

LogicalResult StagePlacement::run() {
  if (failed(parts.verify()))
    return failure();
  findCloned();
  if (failed(placeMarked()))
    return failure();
  findHolders();
  wantUpdates();
  findHomes();
  placeEpilogue();
  if (failed(findTransfers()))
    return failure();
  if (stages.split)
    findWeights();
  findFirstUses();
  numberLanes();
  return success();
}

ArrayRef<Site> StagePlacement::sitesOf(Operation *op) const {
  auto it = sites.find(op);
  return it == sites.end() ? ArrayRef<Site>() : it->second;
}

ArrayRef<Transfer> StagePlacement::transfersOf(Value value) const {
  auto it = transfers.find(value);
  return it == transfers.end() ? ArrayRef<Transfer>() : it->second;
}

//===----------------------------------------------------------------------===//
// In front of the epilogue
//===----------------------------------------------------------------------===//

/// Constants are of both kinds; an operation of inputs and parameters is of
/// neither. What recompute put where it is wanted stays there.
void StagePlacement::findCloned() {
  DenseSet<Value> ofInputs, ofParameters;
  for (BlockArgument argument : body.getArguments()) {
    unsigned i = argument.getArgNumber();
    if (function.getArgAttr(i, TandemDialect::kInput))
      ofInputs.insert(argument);
    if (function.getArgAttr(i, TandemDialect::kParameter))
      ofParameters.insert(argument);
  }
  for (Operation &op : body.without_terminator()) {
    if (!isPure(&op) || isa<AccumulateOp>(op) || op.getNumResults() == 0 ||
        op.hasAttr(TandemDialect::kRecomputed))
      continue;
    for (DenseSet<Value> *kind : {&ofInputs, &ofParameters}) {
      if (!llvm::all_of(op.getOperands(),
                        [&](Value v) { return kind->contains(v); }))
        continue;
      kind->insert(op.result_begin(), op.result_end());
      cloned.insert(&op);
    }
  }
}

LogicalResult StagePlacement::placeMarked() {
  for (Operation &op : body.without_terminator())
    if (!isCloned(&op) && parts.of(&op) != StepPart::Epilogue &&
        failed(placeByMark(&op)))
      return failure();
  for (Operation &op : llvm::reverse(body.without_terminator()))
    if (isOfBody(&op) && !isCloned(&op) && op.hasAttr("axes"))
      moveToReaders(&op);
  return success();
}

/// A change of layout belongs to the stages that want it: where it is for
/// backward and changes what a forward pass made, and where less is to be sent
/// in front of it than behind.
void StagePlacement::moveToReaders(Operation *op) {
  std::set<int64_t> readers;
  for (Operation *user : op->getUsers())
    for (Site site : sitesOf(user))
      if (site.part == StepPart::Body)
        readers.insert(site.index);
  Operation *source = op->getOperand(0).getDefiningOp();
  bool again = isBackward(op) && source && !isBackward(source);
  auto bytesOf = [](Value value) {
    return cast<RankedTensorType>(value.getType()).getNumElements();
  };
  bool grows = bytesOf(op->getOperand(0)) <= bytesOf(op->getResult(0));
  if (readers.empty() || (!again && (readers.size() > 1 || !grows)))
    return;
  sites[op].clear();
  for (int64_t stage : readers)
    sites[op].push_back({StepPart::Body, stage});
}

LogicalResult StagePlacement::placeByMark(Operation *op) {
  auto mark = op->getAttrOfType<IntegerAttr>(TandemDialect::kStage);
  if (!mark && stages.stages() > 1)
    return op->emitOpError("has no 'tandem.stage'; run assign-stages first");
  int64_t stage = mark ? mark.getInt() : 0;
  if (stage < 0 || stage >= stages.stages())
    return op->emitOpError() << "attribute 'tandem.stage' is " << stage
                             << ", expected below " << stages.stages();
  StepPart part = parts.of(op);
  if (part != StepPart::Body) {
    sites[op] = {{part, stages.coordinateOf[stage]}};
    return success();
  }
  bool follows = isa<AccumulateOp>(op) || (isa<SumOp>(op) && isBackward(op));
  int64_t terms = follows ? stageOfTerms(op) : -1;
  sites[op] = {{part, terms < 0 ? stage : terms}};
  return success();
}

/// The stage of the body that gives all operands but the cloned ones, -1 for
/// none.
int64_t StagePlacement::stageOfTerms(Operation *op) const {
  int64_t stage = -1;
  for (Value operand : op->getOperands()) {
    Operation *source = operand.getDefiningOp();
    if (source && isCloned(source))
      continue;
    if (!source || !isOfBody(source))
      return -1;
    int64_t own = sitesOf(source)[0].index;
    if (stage >= 0 && stage != own)
      return -1;
    stage = own;
  }
  return stage;
}

void StagePlacement::findHolders() {
  for (Operation &op : body.without_terminator())
    for (Site site : sitesOf(&op))
      for (Value operand : op.getOperands())
        hold(operand, coordinateOf(site));
}

void StagePlacement::hold(Value value, int64_t coordinate) {
  Operation *op = value.getDefiningOp();
  if (op && !isCloned(op))
    return;
  if (!holders[value].insert(coordinate).second || !op)
    return;
  for (Value operand : op->getOperands())
    hold(operand, coordinate);
}

//===----------------------------------------------------------------------===//
// The epilogue
//===----------------------------------------------------------------------===//

/// Where the new values of parameters, and what gives them, are wanted.
void StagePlacement::wantUpdates() {
  Operation *end = body.getTerminator();
  for (auto [result, argument] : argumentOf) {
    Operation *update = end->getOperand(result).getDefiningOp();
    if (!function.getArgAttr(argument, TandemDialect::kParameter) || !update ||
        parts.of(update) != StepPart::Epilogue)
      continue;
    std::set<int64_t> on = holders[body.getArgument(argument)];
    wantedOn[update].insert(on.begin(), on.end());
    if (on.empty())
      wantedOn[update].insert(0);
  }
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    auto it = wantedOn.find(&op);
    if (it == wantedOn.end() || givesScalars(&op))
      continue;
    std::set<int64_t> on = it->second; // The map grows.
    for (Value operand : op.getOperands())
      if (Operation *source = operand.getDefiningOp();
          source && parts.of(source) == StepPart::Epilogue)
        wantedOn[source].insert(on.begin(), on.end());
  }
}

/// Forward over the epilogue: which coordinate counts a value, which scalars
/// are known everywhere.
void StagePlacement::findHomes() {
  for (Operation &op : body.without_terminator()) {
    if (parts.of(&op) != StepPart::Epilogue)
      continue;
    std::set<int64_t> of = homesOf(&op);
    bool scalar = givesScalars(&op), sum = isSmallSum(&op);
    bool mixed = llvm::any_of(op.getOperands(), [&](Value operand) {
      return everywhere.contains(operand.getDefiningOp());
    });
    if (sum && of.size() > (mixed ? 0 : 1))
      stageSums.insert(&op);
    if ((scalar && of.empty()) || stageSums.contains(&op)) {
      everywhere.insert(&op);
      continue;
    }
    const std::set<int64_t> &wanted = scalar ? of : wantedOn[&op];
    const std::set<int64_t> &from = wanted.empty() ? of : wanted;
    homes[&op] = from.empty() ? 0 : *from.begin();
  }
}

/// The homes of an operation's operands, but those that are everywhere.
std::set<int64_t> StagePlacement::homesOf(Operation *op) const {
  std::set<int64_t> result;
  for (Value operand : op->getOperands()) {
    if (!isEverywhere(operand))
      result.insert(homeOf(operand));
  }
  return result;
}

int64_t StagePlacement::homeOf(Value value) const {
  Operation *op = value.getDefiningOp();
  if (op && everywhere.contains(op))
    return 0;
  if (op && homes.count(op))
    return homes.lookup(op);
  if (op && !sitesOf(op).empty())
    return coordinateOf(sitesOf(op)[0]);
  auto it = holders.find(value);
  return it == holders.end() || it->second.empty() ? 0 : *it->second.begin();
}

/// Backward over the epilogue: each operation to where it is wanted.
void StagePlacement::placeEpilogue() {
  std::set<int64_t> all;
  for (int64_t i = 0; i < stages.coordinates; ++i)
    all.insert(i);
  // Updates are wanted by all holders, other results at home.
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    if (Operation *op = value.getDefiningOp();
        op && parts.of(op) == StepPart::Epilogue &&
        (!argumentOf.count(i) || wantedOn[op].empty()))
      wantedOn[op].insert(homeOf(value));
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    std::set<int64_t> on = wantedOn[&op];
    if (parts.of(&op) != StepPart::Epilogue || on.empty())
      continue;
    bool isSum = isStageSum(&op);
    if (isSum)
      on = all;
    else if (givesScalars(&op) && !everywhere.contains(&op))
      on = {homes[&op]};
    for (int64_t coordinate : on)
      sites[&op].push_back({StepPart::Epilogue, coordinate});
    for (Value operand : op.getOperands()) {
      Operation *source = operand.getDefiningOp();
      if (!source || parts.of(source) != StepPart::Epilogue)
        continue;
      if (isSum && !isEverywhere(operand))
        wantedOn[source].insert(homeOf(operand));
      else
        wantedOn[source].insert(on.begin(), on.end());
    }
  }
}

//===----------------------------------------------------------------------===//
// Between sites
//===----------------------------------------------------------------------===//

/// Calls `visit(op, operand, site)` for each read at a site.
template <typename Visit> void StagePlacement::forEachRead(Visit visit) {
  for (Operation &op : body.without_terminator())
    for (Site site : sitesOf(&op))
      for (Value operand : op.getOperands())
        if (!isStageSum(&op) || isEverywhere(operand) ||
            homeOf(operand) == site.index)
          visit(&op, operand, site);
}

bool StagePlacement::isEverywhere(Value value) const {
  Operation *op = value.getDefiningOp();
  return !op || isCloned(op) || everywhere.contains(op);
}

LogicalResult StagePlacement::findTransfers() {
  LogicalResult result = success();
  forEachRead([&](Operation *op, Value operand, Site site) {
    if (succeeded(result))
      result = require(op, operand, site);
  });
  for (auto &[value, list] : transfers)
    llvm::sort(
        list, [](const Transfer &a, const Transfer &b) { return a.to < b.to; });
  return result;
}

LogicalResult StagePlacement::require(Operation *user, Value value, Site site) {
  Operation *source = value.getDefiningOp();
  if (!source)
    return success();
  if (failed(checkDirection(user, source, site)))
    return failure();
  if (isCloned(source))
    return success();
  Site from = siteFor(source, site);
  bool ofMicrobatch = isOfBody(source) && !isa<AccumulateOp>(source);
  bool inBody = ofMicrobatch && site.part == StepPart::Body;
  if (coordinateOf(from) == coordinateOf(site)) {
    if (inBody && pools[from.index] != pools[site.index]) {
      int64_t first = std::min(pools[from.index], pools[site.index]);
      int64_t other = std::max(pools[from.index], pools[site.index]);
      std::replace(pools.begin(), pools.end(), other, first);
    }
    return success();
  }
  Site to = site;
  if (!ofMicrobatch)
    to = {isa<AccumulateOp>(source) ? StepPart::Epilogue : parts.of(source),
          coordinateOf(site)};
  SmallVector<Transfer, 1> &known = transfers[value];
  if (llvm::none_of(known,
                    [&](const Transfer &other) { return other.to == to; }))
    known.push_back({to});
  return success();
}

/// The site of `source` that `reader` reads: its own, else one of its
/// coordinate, else the first.
Site StagePlacement::siteFor(Operation *source, Site reader) const {
  Site from = sitesOf(source)[0];
  for (Site own : sitesOf(source)) {
    if (own == reader)
      return own;
    if (coordinateOf(own) == coordinateOf(reader))
      from = own;
  }
  return from;
}

/// Forward values go to later stages, gradients to earlier ones, so that no
/// cycle can arise.
LogicalResult StagePlacement::checkDirection(Operation *user, Operation *source,
                                             Site site) const {
  if (parts.of(user) == StepPart::Epilogue) {
    if (!isOfBody(source) || isa<AccumulateOp>(source))
      return success();
    return user->emitOpError("reads a value of one microbatch behind the last, "
                             "expected a 'tandem.accumulate' between");
  }
  if (isCloned(source) || isOfBody(source) != isOfBody(user))
    return success();
  auto stageOf = [&](Operation *op, Site own) {
    if (own.part == StepPart::Body)
      return own.index;
    auto mark = op->getAttrOfType<IntegerAttr>(TandemDialect::kStage);
    return mark ? mark.getInt() : 0;
  };
  int64_t from = stageOf(source, siteFor(source, site));
  int64_t to = stageOf(user, site);
  bool backward = isBackward(source);
  if (from == to || (backward ? from > to : from < to || isBackward(user)))
    return success();
  return user->emitOpError()
         << "on stage " << to << " needs a value of stage " << from
         << ", expected one of " << (backward ? "a later" : "an earlier")
         << " stage";
}

/// Gradients that another stage or an earlier layer waits for, and what they
/// are made of, stay backward; the rest is of weights.
void StagePlacement::findWeights() {
  DenseSet<Operation *> wanted;
  for (Operation &op : llvm::reverse(body.without_terminator())) {
    if (!isOfBody(&op) || isCloned(&op) || !isBackward(&op))
      continue;
    if (isWanted(&op, wanted))
      wanted.insert(&op);
    else if (!isa<AccumulateOp>(op))
      weights.insert(&op);
  }
}

bool StagePlacement::isWanted(Operation *op,
                              const DenseSet<Operation *> &wanted) const {
  std::optional<int64_t> layer = layerOf(op);
  for (Value result : op->getResults()) {
    if (!transfersOf(result).empty())
      return true;
    for (Operation *user : result.getUsers()) {
      if (wanted.contains(user))
        return true;
      if (!isBackward(user) || sitesOf(user).empty())
        continue;
      std::optional<int64_t> other = layerOf(user);
      if (sitesOf(user)[0].index != sitesOf(op)[0].index ||
          (other && layer && *other < *layer && !isa<AccumulateOp>(user)))
        return true;
    }
  }
  return false;
}

ActionKind StagePlacement::kindOf(Operation *op) const {
  // A sum grows where its term is made.
  if (auto accumulate = dyn_cast<AccumulateOp>(op))
    if (Operation *source = accumulate.getInput().getDefiningOp();
        source && !isCloned(source) && isOfBody(source))
      return kindOf(source);
  if (weights.contains(op))
    return ActionKind::Weight;
  return isBackward(op) ? ActionKind::Backward : ActionKind::Forward;
}

void StagePlacement::findFirstUses() {
  forEachRead([&](Operation *op, Value operand, Site site) {
    if (site.part == StepPart::Body)
      noteUse(operand, site, kindOf(op));
  });
}

void StagePlacement::noteUse(Value value, Site site, ActionKind kind) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  auto [it, added] = firstUses.try_emplace({value, site.index}, kind);
  if (!added && it->second <= kind)
    return;
  it->second = kind;
  if (isCloned(op))
    for (Value operand : op->getOperands())
      noteUse(operand, site, kind);
}

ActionKind StagePlacement::firstUse(Value value, int64_t stage) const {
  return firstUses.lookup({value, stage});
}

/// Microbatches take turns in any two actions alike, but not across pairs of
/// actions.
void StagePlacement::numberLanes() {
  using Edge = std::tuple<ActionKind, int64_t, int64_t>;
  std::map<std::pair<int64_t, int64_t>, std::map<Edge, int64_t>> lanes;
  for (Operation &op : body.without_terminator())
    for (Value result : op.getResults()) {
      auto it = transfers.find(result);
      if (it == transfers.end())
        continue;
      Site from = sitesOf(&op)[0];
      for (Transfer &transfer : it->second) {
        Site to = transfer.to;
        auto &known = lanes[{coordinateOf(from), coordinateOf(to)}];
        Edge edge{ActionKind::Forward, -1, -1};
        if (to.part == StepPart::Body)
          edge = {kindOf(&op), from.index, to.index};
        transfer.lane =
            known.try_emplace(edge, static_cast<int64_t>(known.size()))
                .first->second;
      }
    }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Results live where they are computed; a state that nothing changes and a
/// value that may be anywhere, on the first coordinate that needs it.
std::set<int64_t> StagePlacement::returnedOn(unsigned index) const {
  Value value = body.getTerminator()->getOperand(index);
  Operation *op = value.getDefiningOp();
  if (!argumentOf.count(index) || !op || parts.of(op) != StepPart::Epilogue)
    return {homeOf(value)};
  std::set<int64_t> result;
  for (Site site : sitesOf(op))
    result.insert(site.index);
  return result;
}

} // namespace tandem

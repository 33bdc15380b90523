#include "passes/propagate/OpenOps.h"

#include <algorithm>
#include <cassert>

namespace tandem {
namespace {

/// Costs in the network are bytes * 2^16 + collectives * 8 + preference.
constexpr int kByteShift = 16;
constexpr int64_t kMostBytes = int64_t(1) << 44;

/// The sets of `count` that hold `required` and up to `most` others; smaller
/// ones go first.
std::vector<uint32_t> smallSets(size_t count, uint32_t required, int most) {
  std::vector<uint32_t> sets;
  auto bits = [](uint32_t set) { return __builtin_popcount(set); };
  for (uint32_t set = 1; set < 1u << count; ++set)
    if ((set & required) == required && bits(set & ~required) <= most)
      sets.push_back(set);
  std::stable_sort(sets.begin(), sets.end(),
                   [&](uint32_t a, uint32_t b) { return bits(a) < bits(b); });
  return sets;
}

int64_t weighed(int64_t bytes) {
  return std::min(bytes, kMostBytes) << kByteShift;
}

} // namespace

OpenOps::OpenOps(const PropagationGraph &graph, ReshardPaths &paths, bool flow)
    : graph(graph), paths(paths), all(candidates(graph, flow)),
      decided(all.size(), 0), makers(graph.tensors().size()),
      uses(graph.tensors().size()) {
  for (size_t o = 0; o < graph.ops().size(); ++o) {
    const PropagationOp &op = graph.ops()[o];
    for (size_t r = 0; r < op.results.size(); ++r)
      makers[op.results[r]] = {static_cast<int>(o), r};
    for (size_t i = 0; i < op.operands.size(); ++i)
      uses[op.operands[i]].push_back({static_cast<int>(o), i});
    // A norm of all gradients would bind all of them into one problem for the
    // sake of a few bytes; how its terms wait is decided behind the others.
    if (op.sums && graph.tensors()[op.results[0]].shape.empty())
      all[o].resize(1);
  }
}

int OpenOps::made(int op, int choice, size_t result) {
  const PropagationOp &o = graph.ops()[op];
  const PropagationTensor &tensor = graph.tensors()[o.results[result]];
  const OpChoice &c = all[op][choice];
  return paths.numberOf({tensor.dtype, tensor.shape,
                         resultSharding(o.rule, c, result),
                         reductionKind(o.rule, c)});
}

int OpenOps::used(int op, int choice, size_t operand) {
  const PropagationOp &o = graph.ops()[op];
  const PropagationTensor &tensor = graph.tensors()[o.operands[operand]];
  return paths.numberOf({tensor.dtype, tensor.shape,
                         operandSharding(o.rule, all[op][choice], operand),
                         ReductionKind::Sum});
}

/// Wire bytes of what the choice itself makes ranks exchange.
int64_t OpenOps::exchanged(int op, int choice) {
  const PropagationOp &o = graph.ops()[op];
  const OpChoice &c = all[op][choice];
  int64_t bytes = 0;
  for (size_t f = 0; f < c.axes.size(); ++f) {
    if (o.rule.factors[f].kind != FactorKind::Selection || c.axes[f].empty() ||
        o.declares)
      continue;
    int64_t part =
        o.exchanged(static_cast<int32_t>(f), sizeOf(c.axes[f])).value_or(0);
    // What the fullest rank has of it, as everywhere.
    for (size_t g = 0; g < c.axes.size(); ++g)
      if (int64_t size = o.rule.factors[g].size; g != f && size > 0)
        part = (part * capacityOf(size, c.axes[g]) + size - 1) / size;
    bytes +=
        trafficOf(CollectiveKind::AllReduce, sizeOf(c.axes[f]), part).wireBytes;
  }
  for (const std::vector<int32_t> &group : groupsOf(c)) {
    // The sum of the terms that are added first, reduced once.
    const PropagationTensor &tensor = graph.tensors()[o.results[0]];
    Sharding sum = operandSharding(o.rule, c, group[0]);
    Sharding reduced = sum;
    reduced.unreduced.clear();
    bytes += std::max<int64_t>(
        0, paths
               .cost(paths.numberOf({tensor.dtype, tensor.shape, sum}),
                     paths.numberOf({tensor.dtype, tensor.shape, reduced}))
               .bytes);
  }
  return bytes * o.times;
}

int64_t OpenOps::weigh(const ReshardPaths::Cost &cost, int64_t times) {
  if (cost.bytes < 0)
    return kForbidden;
  return weighed(cost.bytes * times) + cost.steps * 8;
}

int64_t OpenOps::timesOf(int tensor) const {
  int64_t times = graph.ops()[makers[tensor].op].resultTimes;
  if (!graph.tensors()[tensor].parameter)
    return times;
  // A parameter is brought anew for each pass that reads it.
  int64_t ofPass[2] = {0, 0};
  for (const Use &use : uses[tensor]) {
    const PropagationOp &op = graph.ops()[use.op];
    ofPass[op.backward] = std::max(ofPass[op.backward], op.times);
  }
  return std::max(times, ofPass[0] + ofPass[1]);
}

std::string OpenOps::text(int op, int choice) const {
  const OpChoice &c = all[op][choice];
  auto print = [&](const AxisList &axes) {
    std::string text = "{";
    for (const AxisRef &axis : axes)
      text += (text.size() > 1 ? ", " : "") + toString(axis, graph.mesh());
    return text + "}";
  };
  std::string text;
  for (size_t f = 0; f < c.axes.size(); ++f)
    if (!c.axes[f].empty())
      text += (text.empty() ? "" : " ") +
              std::string(1, static_cast<char>('i' + f)) + "=" +
              print(c.axes[f]);
  for (size_t i = 0; i < c.unreduced.size(); ++i)
    if (!c.unreduced[i].empty())
      text += (text.empty() ? "" : " ") + std::string("operand ") +
              std::to_string(i) + " unreduced over " + print(c.unreduced[i]);
  if (!c.first.empty())
    text += ", added first";
  return text.empty() ? "whole" : text;
}

void OpenOps::addOps() {
  for (size_t o = 0; o < all.size(); ++o) {
    CostVariable variable{graph.ops()[o].name, {}};
    for (size_t c = 0; c < all[o].size(); ++c) {
      int op = static_cast<int>(o), choice = static_cast<int>(c);
      variable.alternatives.push_back(
          {std::to_string(choice),
           weighed(exchanged(op, choice)) + std::min<int64_t>(choice, 7)});
    }
    network.variables.push_back(std::move(variable));
  }
}

bool OpenOps::isOpen(int tensor) const {
  return all[makers[tensor].op].size() > 1 ||
         std::any_of(uses[tensor].begin(), uses[tensor].end(),
                     [&](const Use &use) { return all[use.op].size() > 1; });
}

void OpenOps::addValue(int tensor) {
  if (makers[tensor].op < 0 || !isOpen(tensor))
    return;
  if (uses[tensor].size() > 1)
    addShared(tensor);
  else
    addApart(tensor);
}

/// Each use on its own.
void OpenOps::addApart(int tensor) {
  const Made &maker = makers[tensor];
  for (const Use &use : uses[tensor]) {
    CostTerm term{{maker.op, use.op}, {}};
    for (size_t m = 0; m < all[maker.op].size(); ++m)
      for (size_t u = 0; u < all[use.op].size(); ++u)
        term.costs.push_back(weigh(paths.cost(made(maker.op, m, maker.result),
                                              used(use.op, u, use.operand)),
                                   timesOf(tensor)));
    if (maker.op != use.op)
      network.terms.push_back(std::move(term));
  }
}

/// A variable for the set of layouts that the value is brought to.
void OpenOps::addShared(int tensor) {
  const Made &maker = makers[tensor];
  std::vector<int> targets;
  std::vector<std::vector<size_t>> wanted; // by use, then choice
  for (const Use &use : uses[tensor]) {
    wanted.emplace_back();
    for (size_t u = 0; u < all[use.op].size(); ++u) {
      int type = used(use.op, u, use.operand);
      auto it = std::find(targets.begin(), targets.end(), type);
      wanted.back().push_back(it - targets.begin());
      if (it == targets.end())
        targets.push_back(type);
    }
  }
  size_t count = targets.size();
  if (count > ReshardPaths::kMostTargets) {
    exact = false;
    return addApart(tensor);
  }
  uint32_t required = 0; // what a use wants whatever it chooses
  for (const std::vector<size_t> &choices : wanted)
    if (std::count(choices.begin(), choices.end(), choices[0]) ==
        static_cast<int64_t>(choices.size()))
      required |= 1u << choices[0];
  // Each use adds one.
  std::vector<uint32_t> sets =
      smallSets(count, required, static_cast<int>(wanted.size()));
  int number = static_cast<int>(network.variables.size());
  CostVariable variable{"result of " + graph.ops()[maker.op].name, {}};
  for (uint32_t set : sets)
    variable.alternatives.push_back({std::to_string(set), 0});
  network.variables.push_back(std::move(variable));
  CostTerm make{{maker.op, number}, {}};
  for (size_t m = 0; m < all[maker.op].size(); ++m) {
    std::vector<ReshardPaths::Cost> costs =
        paths.treeCosts(made(maker.op, m, maker.result), targets);
    for (uint32_t set : sets)
      make.costs.push_back(weigh(costs[set], timesOf(tensor)));
  }
  network.terms.push_back(std::move(make));
  for (size_t i = 0; i < wanted.size(); ++i) {
    CostTerm term{{number, uses[tensor][i].op}, {}};
    for (uint32_t set : sets)
      for (size_t target : wanted[i])
        term.costs.push_back(set >> target & 1 ? 0 : kForbidden);
    network.terms.push_back(std::move(term));
  }
}

/// What replaces a state lies as the state does.
void OpenOps::addTie(int first, int second) {
  const Made &a = makers[first], &b = makers[second];
  CostTerm term{{a.op, b.op}, {}};
  for (size_t i = 0; i < all[a.op].size(); ++i)
    for (size_t j = 0; j < all[b.op].size(); ++j)
      term.costs.push_back(
          made(a.op, i, a.result) == made(b.op, j, b.result) ? 0 : kForbidden);
  network.terms.push_back(std::move(term));
}

Status OpenOps::solve() {
  network = {};
  exact = true;
  addOps();
  for (size_t t = 0; t < graph.tensors().size(); ++t)
    addValue(static_cast<int>(t));
  for (auto [first, second] : graph.ties())
    addTie(first, second);
  Result<CostNetworkSolution> solution = tandem::solve(network);
  if (!solution.ok())
    return solution.status();
  std::copy_n(solution->alternatives.begin(), decided.size(), decided.begin());
  exact = exact && solution->exact;
  gapBytes = (solution->cost - solution->lowerBound) >> kByteShift;
  for (size_t o = 0; o < all.size(); ++o)
    if (graph.ops()[o].sums)
      addBeforeReducing(static_cast<int>(o));
  return Status();
}

/// A choice for every way to group the terms of a long sum would be too many.
/// How the terms lie says which of them can be added before they are reduced.
void OpenOps::addBeforeReducing(int op) {
  const PropagationOp &o = graph.ops()[op];
  OpChoice better = choice(op);
  better.first.clear();
  for (AxisList &axes : better.unreduced)
    axes.clear();
  for (size_t i = 0; i < o.operands.size(); ++i) {
    const Made &maker = makers[o.operands[i]];
    Sharding has = sharding(o.operands[i]);
    Sharding waiting = operandSharding(o.rule, better, i);
    waiting.unreduced = has.unreduced;
    if (has.unreduced.empty() || !o.rule.operands[i].linear ||
        !has.sameLayout(waiting) ||
        reductionKind(graph.ops()[maker.op].rule, choice(maker.op)) !=
            ReductionKind::Sum)
      continue;
    better.unreduced[i] = has.unreduced;
    better.first.push_back(static_cast<int32_t>(i));
  }
  if (better.first.size() < 2)
    return;
  int before = decided[op];
  all[op].push_back(std::move(better));
  int after = static_cast<int>(all[op].size()) - 1;
  if (bytesWith(op, after) < bytesWith(op, before))
    decided[op] = after;
  else
    all[op].pop_back();
}

void OpenOps::takeFirst() { decided.assign(all.size(), 0); }

Sharding OpenOps::sharding(int tensor) const {
  const Made &maker = makers[tensor];
  assert(maker.op >= 0 && "a tensor that nothing makes");
  return resultSharding(graph.ops()[maker.op].rule, choice(maker.op),
                        maker.result);
}

int64_t OpenOps::bytesWith(int op, int choice) {
  std::vector<int> taken = decided;
  taken[op] = choice;
  int64_t bytes = exchanged(op, choice);
  std::vector<int> tensors = graph.ops()[op].operands;
  const std::vector<int> &results = graph.ops()[op].results;
  tensors.insert(tensors.end(), results.begin(), results.end());
  for (int tensor : tensors)
    bytes += bytesOfValue(tensor, taken).value_or(0);
  return bytes;
}

std::optional<int64_t> OpenOps::bytesOfValue(int tensor,
                                             const std::vector<int> &taken) {
  const Made &maker = makers[tensor];
  int from = made(maker.op, taken[maker.op], maker.result);
  std::vector<int> targets;
  for (const Use &use : uses[tensor]) {
    int target = used(use.op, taken[use.op], use.operand);
    if (std::find(targets.begin(), targets.end(), target) == targets.end())
      targets.push_back(target);
  }
  auto tree = paths.tree(from, targets);
  return tree ? std::optional(tree->cost.bytes * timesOf(tensor))
              : std::nullopt;
}

std::optional<int64_t> OpenOps::bytesOf(const std::vector<int> &taken) {
  int64_t bytes = 0;
  for (size_t o = 0; o < all.size(); ++o)
    bytes += exchanged(static_cast<int>(o), taken[o]);
  for (size_t t = 0; t < makers.size(); ++t) {
    if (makers[t].op < 0)
      continue;
    auto more = bytesOfValue(static_cast<int>(t), taken);
    if (!more)
      return std::nullopt;
    bytes += *more;
  }
  for (auto [first, second] : graph.ties()) {
    const Made &a = makers[first], &b = makers[second];
    if (made(a.op, taken[a.op], a.result) != made(b.op, taken[b.op], b.result))
      return std::nullopt;
  }
  return bytes;
}

} // namespace tandem

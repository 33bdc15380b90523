#include "passes/propagate/Candidates.h"

#include <algorithm>
#include <set>

namespace tandem {
namespace {

constexpr size_t kMostClaims = 8;   ///< Lists of axes for one dimension.
constexpr size_t kMostSplits = 512; ///< Splits of one operation looked at.
constexpr size_t kMostChoices = 32; ///< Choices of one operation.

bool contains(const std::vector<AxisList> &lists, const AxisList &list) {
  return std::find(lists.begin(), lists.end(), list) != lists.end();
}

bool overlaps(const AxisList &a, const AxisList &b) {
  return std::any_of(b.begin(), b.end(),
                     [&](const AxisRef &axis) { return overlaps(a, axis); });
}

void append(AxisList &to, const AxisList &axes) {
  to.insert(to.end(), axes.begin(), axes.end());
}

/// Which lists of axes each dimension of each tensor is wanted split by.
class Claims {
public:
  explicit Claims(const PropagationGraph &graph) : graph(graph) {
    for (const PropagationTensor &tensor : graph.tensors()) {
      dims.emplace_back(tensor.shape.size());
      for (size_t d = 0; d < tensor.shape.size(); ++d)
        if (AxisList axes = withoutTrivial(tensor.now.dims[d].axes);
            !axes.empty())
          dims.back()[d].push_back(axes);
    }
    seen.assign(graph.ops().size(), -1);
    versions.assign(graph.tensors().size(), 0);
  }

  /// Lets claims flow until nothing new arises.
  void close() {
    for (changed = true; changed;) {
      changed = false;
      for (size_t o = 0; o < graph.ops().size(); ++o)
        visit(o);
      for (size_t o = graph.ops().size(); o-- > 0;)
        visit(o);
      for (auto [first, second] : graph.ties())
        for (size_t d = 0; d < dims[first].size(); ++d) {
          for (const AxisList &axes : std::vector(dims[first][d]))
            accept(second, d, axes);
          for (const AxisList &axes : std::vector(dims[second][d]))
            accept(first, d, axes);
        }
    }
  }

  /// The lists that each factor of an operation may take, results' first.
  std::vector<std::vector<AxisList>> of(const PropagationOp &op) const {
    return listsOf(op, op.declares ? 0 : op.operands.size());
  }

private:
  /// What the results and the first `operands` operands claim of each factor.
  std::vector<std::vector<AxisList>> listsOf(const PropagationOp &op,
                                             size_t operands) const {
    std::vector<std::vector<AxisList>> lists(op.rule.factors.size());
    for (size_t i = op.operands.size(); i < op.numTensors(); ++i)
      project(op, i, lists);
    for (size_t i = 0; i < operands; ++i)
      project(op, i, lists);
    return lists;
  }

  void visit(size_t o) {
    const PropagationOp &op = graph.ops()[o];
    int64_t version = 0;
    for (size_t i = 0; i < op.numTensors(); ++i)
      version += versions[op.tensor(i)];
    if (seen[o] == version)
      return;
    seen[o] = version;
    std::vector<std::vector<AxisList>> lists = listsOf(op, op.operands.size());
    for (size_t i = 0; i < op.numTensors(); ++i)
      for (size_t d = 0; d < dims[op.tensor(i)].size(); ++d)
        spread(op, i, d, lists);
  }

  /// Adds tensor `index`'s claims to those of the factors.
  void project(const PropagationOp &op, size_t index,
               std::vector<std::vector<AxisList>> &lists) const {
    const FactorMapping &mapping = op.mapping(index);
    const std::vector<std::vector<AxisList>> &own = dims[op.tensor(index)];
    for (size_t d = 0; d < own.size(); ++d) {
      if (mapping.dims[d].size() == 1) {
        for (const AxisList &axes : own[d])
          addTo(op, mapping.dims[d][0], axes, lists);
        continue;
      }
      for (const AxisList &axes : own[d]) {
        Sharding sharding = Sharding::replicatedOver(own.size());
        sharding.dims[d].axes = axes;
        FactorAxes factors = projectToFactors(op.rule, mapping, sharding);
        for (int32_t f : mapping.dims[d])
          addTo(op, f, factors[f], lists);
      }
    }
  }

  static void addTo(const PropagationOp &op, int32_t f, const AxisList &axes,
                    std::vector<std::vector<AxisList>> &lists) {
    if (!axes.empty() && op.spreads(f) && !contains(lists[f], axes))
      lists[f].push_back(axes);
  }

  /// Gives dimension `d` of tensor `index` what its factors claim.
  void spread(const PropagationOp &op, size_t index, size_t d,
              const std::vector<std::vector<AxisList>> &lists) {
    const FactorMapping &mapping = op.mapping(index);
    const std::vector<int32_t> &factors = mapping.dims[d];
    if (factors.size() == 1) {
      for (const AxisList &axes : lists[factors[0]])
        accept(op.tensor(index), d, axes);
      return;
    }
    std::vector<FactorAxes> splits{FactorAxes(op.rule.factors.size())};
    for (int32_t f : factors) {
      std::vector<FactorAxes> longer = splits;
      for (const FactorAxes &split : splits)
        for (const AxisList &axes : lists[f]) {
          bool taken = std::any_of(
              split.begin(), split.end(),
              [&](const AxisList &other) { return overlaps(other, axes); });
          if (taken || longer.size() >= kMostChoices)
            continue;
          longer.push_back(split);
          longer.back()[f] = axes;
        }
      splits = std::move(longer);
    }
    for (const FactorAxes &split : splits)
      accept(op.tensor(index), d, projectToDims(op.rule, mapping, split)[d]);
  }

  void accept(int t, size_t d, const AxisList &axes) {
    const PropagationTensor &tensor = graph.tensors()[t];
    std::vector<AxisList> &own = dims[t][d];
    if (axes.empty() || !tensor.now.dims[d].open || own.size() >= kMostClaims ||
        !isPrefix(tensor.now.dims[d].axes, axes) || contains(own, axes) ||
        overlaps(tensor.now.replicated, axes) ||
        overlaps(tensor.now.unreduced, axes))
      return;
    for (size_t other = 0; other < dims[t].size(); ++other)
      if (other != d && overlaps(tensor.now.dims[other].axes, axes))
        return;
    own.push_back(axes);
    ++versions[t];
    changed = true;
  }

  const PropagationGraph &graph;
  std::vector<std::vector<std::vector<AxisList>>> dims; ///< Tensor, dimension.
  std::vector<int64_t> versions;                        ///< Of tensors.
  std::vector<int64_t> seen; ///< By operation, the sum of versions.
  bool changed = false;
};

/// The runs of neighbours in `axes`, longer ones first.
std::vector<AxisList> runsOf(const AxisList &axes) {
  std::vector<AxisList> runs;
  for (size_t length = axes.size(); length > 0; --length)
    for (auto first = axes.begin(); first + length <= axes.end(); ++first)
      runs.emplace_back(first, first + length);
  return runs;
}

/// All non-empty parts of `axes` in their order, longer ones first; of many
/// axes only the runs.
std::vector<AxisList> partsOf(const AxisList &axes) {
  size_t count = axes.size();
  if (count > 4)
    return runsOf(axes);
  std::vector<AxisList> parts;
  for (uint32_t mask = (1u << count) - 1; mask > 0; --mask) {
    AxisList part;
    for (size_t i = 0; i < count; ++i)
      if (mask & (1u << (count - 1 - i)))
        part.push_back(axes[i]);
    parts.push_back(std::move(part));
  }
  std::stable_sort(
      parts.begin(), parts.end(),
      [](const AxisList &a, const AxisList &b) { return a.size() > b.size(); });
  return parts;
}

bool isPart(const AxisList &part, const AxisList &axes) {
  size_t i = 0;
  for (const AxisRef &axis : axes)
    if (i < part.size() && part[i] == axis)
      ++i;
  return i == part.size();
}

/// Enumerates what factors may take together.
class Splits {
public:
  Splits(const PropagationOp &op,
         const std::vector<std::vector<AxisList>> &claims)
      : options(claims.size()), axes(claims.size()) {
    for (size_t f = 0; f < claims.size(); ++f)
      if (op.spreads(static_cast<int32_t>(f)))
        for (const AxisList &list : claims[f])
          for (AxisList &part : partsOf(list))
            if (!contains(options[f], part))
              options[f].push_back(std::move(part));
  }

  std::vector<FactorAxes> run() {
    extend(0, {});
    std::vector<FactorAxes> result;
    for (const FactorAxes &split : found)
      if (std::none_of(found.begin(), found.end(), [&](const FactorAxes &o) {
            return o != split && isPart(split, o);
          }))
        result.push_back(split);
    return result;
  }

private:
  static bool isPart(const FactorAxes &part, const FactorAxes &split) {
    for (size_t f = 0; f < part.size(); ++f)
      if (!tandem::isPart(part[f], split[f]))
        return false;
    return true;
  }

  void extend(size_t f, const AxisList &used) {
    if (found.size() >= kMostSplits)
      return;
    if (f == options.size()) {
      found.push_back(axes);
      return;
    }
    for (const AxisList &option : options[f]) {
      if (overlaps(used, option))
        continue;
      axes[f] = option;
      AxisList more = used;
      append(more, option);
      extend(f + 1, more);
    }
    axes[f].clear();
    extend(f + 1, used);
  }

  std::vector<std::vector<AxisList>> options; ///< By factor.
  FactorAxes axes;
  std::vector<FactorAxes> found;
};

/// Ranks that hold something; one row over eight ranks is on one of them.
int64_t ranksAtWork(const ShardingRule &rule, const FactorAxes &axes) {
  int64_t ranks = 1;
  for (size_t f = 0; f < axes.size(); ++f)
    ranks *=
        std::min(sizeOf(axes[f]), std::max<int64_t>(rule.factors[f].size, 1));
  return ranks;
}

/// Which reductions may wait at one operation, given how each of its tensors
/// may arrive.
class Waiting {
public:
  Waiting(const PropagationOp &op,
          const std::vector<std::vector<AxisList>> &arriving)
      : op(op), arriving(arriving) {}

  void extend(const FactorAxes &axes, std::vector<OpChoice> &choices) {
    OpChoice choice;
    choice.axes = axes;
    choice.unreduced.resize(op.operands.size());
    for (const AxisList &list : axes)
      append(taken, list);
    if (op.rule.additive)
      additive(choice, choices);
    else
      product(0, choice, choices);
    taken.clear();
  }

  /// Instead of being split over axes by `split`, what an operation hands on
  /// may wait over them: gradients are reduced once, behind the sum over
  /// microbatches, though what reads that is split.
  void instead(const FactorAxes &split, std::vector<OpChoice> &choices) {
    if (op.operands.empty() || op.flops > 0 ||
        (op.operands.size() > 1 && !op.rule.additive))
      return;
    for (const AxisList &waiting : arriving[op.operands[0]]) {
      bool all = true;
      for (size_t i = 0; i < op.operands.size(); ++i)
        all &= mayArrive(i, waiting);
      if (!all)
        continue;
      OpChoice choice{
          split, std::vector<AxisList>(op.operands.size(), waiting), {}};
      for (AxisList &axes : choice.axes)
        axes.erase(std::remove_if(axes.begin(), axes.end(),
                                  [&](const AxisRef &axis) {
                                    return overlaps(waiting, axis);
                                  }),
                   axes.end());
      legalise(op.rule, choice.axes);
      if (choice.axes != split)
        add(choice, choices);
    }
  }

private:
  bool mayArrive(size_t i, const AxisList &axes) const {
    return op.rule.operands[i].linear &&
           contains(arriving[op.operands[i]], axes);
  }

  void add(const OpChoice &choice, std::vector<OpChoice> &choices) {
    if (choices.size() < kMostChoices)
      choices.push_back(choice);
  }

  /// Each operand on its own, over different axes.
  void product(size_t i, OpChoice &choice, std::vector<OpChoice> &choices) {
    if (i == op.operands.size())
      return add(choice, choices);
    product(i + 1, choice, choices);
    if (!op.rule.operands[i].linear)
      return;
    for (const AxisList &axes : arriving[op.operands[i]]) {
      if (overlaps(taken, axes))
        continue;
      size_t before = taken.size();
      append(taken, axes);
      choice.unreduced[i] = axes;
      product(i + 1, choice, choices);
      choice.unreduced[i].clear();
      taken.resize(before);
    }
  }

  /// All terms over the same axes, or some of a sum first.
  void additive(const OpChoice &choice, std::vector<OpChoice> &choices) {
    add(choice, choices);
    std::vector<AxisList> lists;
    for (size_t i = 0; i < op.operands.size(); ++i)
      for (const AxisList &axes : arriving[op.operands[i]])
        if (op.rule.operands[i].linear && !contains(lists, axes) &&
            !overlaps(taken, axes))
          lists.push_back(axes);
    for (const AxisList &axes : lists) {
      std::vector<int32_t> partial;
      size_t linear = 0;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        linear += op.rule.operands[i].linear;
        if (mayArrive(i, axes))
          partial.push_back(static_cast<int32_t>(i));
      }
      if (partial.size() == linear)
        addWith(choice, partial, axes, /*first=*/false, choices);
      if (op.sums)
        groups(choice, partial, axes, linear, choices);
    }
  }

  void groups(const OpChoice &choice, const std::vector<int32_t> &partial,
              const AxisList &axes, size_t linear,
              std::vector<OpChoice> &choices) {
    size_t count = std::min<size_t>(partial.size(), 4);
    for (uint32_t mask = (1u << count) - 1; mask > 0; --mask) {
      std::vector<int32_t> group;
      for (size_t i = 0; i < partial.size(); ++i)
        if (i >= count || (mask & (1u << i)))
          group.push_back(partial[i]);
      if (group.size() > 1 && group.size() < linear)
        addWith(choice, group, axes, /*first=*/true, choices);
    }
  }

  void addWith(OpChoice choice, const std::vector<int32_t> &operands,
               const AxisList &axes, bool first,
               std::vector<OpChoice> &choices) {
    for (int32_t i : operands)
      choice.unreduced[i] = axes;
    if (first)
      choice.first = operands;
    add(choice, choices);
  }

  const PropagationOp &op;
  const std::vector<std::vector<AxisList>> &arriving;
  AxisList taken;
};

} // namespace

void legalise(const ShardingRule &rule, FactorAxes &axes) {
  auto shorten = [&](const std::vector<int32_t> &factors) {
    bool changed = false, full = true;
    for (int32_t factor : factors) {
      AxisList &own = axes[factor];
      int64_t size = rule.factors[factor].size;
      while (!own.empty() && (!full || size % sizeOf(own) != 0)) {
        own.pop_back();
        changed = true;
      }
      full &= sizeOf(own) == size;
    }
    return changed;
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (const auto *list : {&rule.operands, &rule.results})
      for (const FactorMapping &tensor : *list)
        for (const std::vector<int32_t> &factors : tensor.dims)
          if (factors.size() > 1)
            changed |= shorten(factors);
  }
}

namespace {

Sharding shardingOf(const ShardingRule &rule, const FactorMapping &mapping,
                    const FactorAxes &axes) {
  Sharding sharding;
  for (AxisList &list : projectToDims(rule, mapping, axes))
    sharding.dims.push_back({std::move(list), false, 0});
  return sharding;
}

/// One spelling of axes whose order says nothing.
AxisList unordered(AxisList axes) {
  std::sort(axes.begin(), axes.end());
  return merged(axes);
}

} // namespace

std::vector<std::vector<int32_t>> groupsOf(const OpChoice &choice) {
  std::vector<std::vector<int32_t>> groups;
  for (int32_t operand : choice.first) {
    auto group = std::find_if(
        groups.begin(), groups.end(), [&](const std::vector<int32_t> &known) {
          return choice.unreduced[known[0]] == choice.unreduced[operand];
        });
    if (group == groups.end())
      groups.push_back({operand});
    else
      group->push_back(operand);
  }
  return groups;
}

Sharding operandSharding(const ShardingRule &rule, const OpChoice &choice,
                         size_t index) {
  Sharding sharding = shardingOf(rule, rule.operands[index], choice.axes);
  sharding.unreduced = unordered(choice.unreduced[index]);
  return sharding;
}

Sharding resultSharding(const ShardingRule &rule, const OpChoice &choice,
                        size_t index) {
  Sharding sharding = shardingOf(rule, rule.results[index], choice.axes);
  AxisList &unreduced = sharding.unreduced;
  for (size_t i = 0; i < choice.unreduced.size(); ++i)
    if (std::find(choice.first.begin(), choice.first.end(), i) ==
        choice.first.end())
      for (const AxisRef &axis : choice.unreduced[i])
        if (!overlaps(unreduced, axis))
          unreduced.push_back(axis);
  for (size_t f = 0; f < choice.axes.size(); ++f)
    if (rule.leavesUnreduced(f, index))
      append(unreduced, choice.axes[f]);
  unreduced = unordered(std::move(unreduced));
  return sharding;
}

ReductionKind reductionKind(const ShardingRule &rule, const OpChoice &choice) {
  for (size_t f = 0; f < choice.axes.size(); ++f)
    if (rule.factors[f].kind == FactorKind::Reduction &&
        !choice.axes[f].empty())
      return rule.factors[f].reduction;
  return ReductionKind::Sum;
}

namespace {

/// Of the splits of products those with the most ranks at work.
std::vector<FactorAxes> withMostRanks(const PropagationOp &op,
                                      std::vector<FactorAxes> splits) {
  if (op.flops == 0)
    return splits;
  int64_t most = 1;
  for (const FactorAxes &axes : splits)
    most = std::max(most, ranksAtWork(op.rule, axes));
  splits.erase(std::remove_if(splits.begin(), splits.end(),
                              [&](const FactorAxes &axes) {
                                return ranksAtWork(op.rule, axes) < most;
                              }),
               splits.end());
  return splits;
}

} // namespace

std::vector<FactorAxes>
factorChoices(const PropagationOp &op,
              const std::vector<std::vector<AxisList>> &claims, bool mayIdle) {
  std::vector<FactorAxes> result;
  auto add = [&](FactorAxes axes) {
    // What an annotation says stands as it is.
    if (!op.declares)
      legalise(op.rule, axes);
    if (std::find(result.begin(), result.end(), axes) == result.end())
      result.push_back(std::move(axes));
  };
  std::vector<FactorAxes> splits = Splits(op, claims).run();
  for (FactorAxes &axes : splits) {
    for (size_t f = 0; f < axes.size(); ++f)
      if (op.rule.factors[f].kind == FactorKind::Selection && !axes[f].empty())
        if (!op.exchanged(static_cast<int32_t>(f), sizeOf(axes[f])))
          axes[f].clear();
    add(axes);
  }
  if (op.flops > 0 || op.declares)
    return mayIdle ? result : withMostRanks(op, std::move(result));
  // Instead of its local form, an operation may have what it looks at whole,
  // and instead of bringing pieces of results together those of operands.
  for (FactorAxes &axes : splits) {
    for (size_t f = 0; f < axes.size(); ++f)
      if (FactorKind kind = op.rule.factors[f].kind;
          kind == FactorKind::Selection ||
          (kind == FactorKind::Reduction && !op.readsParameter))
        axes[f].clear();
    add(axes);
  }
  if (op.operands.empty())
    add(FactorAxes(op.rule.factors.size()));
  return result;
}

namespace {

/// The tensors that an annotation wants unreduced, and those whose waiting
/// reductions reach it: few rows on many ranks give them as well as many do.
std::set<int> wantedUnreduced(const PropagationGraph &graph) {
  std::set<int> wanted;
  for (size_t i = graph.ops().size(); i-- > 0;) {
    const PropagationOp &op = graph.ops()[i];
    bool passes =
        std::any_of(op.results.begin(), op.results.end(),
                    [&](int tensor) { return wanted.count(tensor) > 0; });
    if (op.declares)
      passes =
          !withoutTrivial(graph.tensors()[op.results[0]].now.unreduced).empty();
    for (size_t o = 0; passes && o < op.operands.size(); ++o)
      if (op.declares || op.rule.operands[o].linear)
        wanted.insert(op.operands[o]);
  }
  return wanted;
}

} // namespace

std::vector<std::vector<OpChoice>> candidates(const PropagationGraph &graph,
                                              bool flow) {
  std::set<int> wanted = wantedUnreduced(graph);
  Claims claims(graph);
  if (flow)
    claims.close();
  std::vector<std::vector<OpChoice>> result;
  // How a tensor may leave the operation that gives it.
  std::vector<std::vector<AxisList>> unreduced(graph.tensors().size());
  std::vector<size_t> makers(graph.tensors().size());
  for (const PropagationOp &op : graph.ops()) {
    std::vector<OpChoice> choices;
    Waiting waiting(op, unreduced);
    bool isWanted =
        std::any_of(op.results.begin(), op.results.end(),
                    [&](int tensor) { return wanted.count(tensor) > 0; });
    for (const FactorAxes &axes : factorChoices(op, claims.of(op), isWanted))
      if (!op.declares) {
        waiting.extend(axes, choices);
        waiting.instead(axes, choices);
      } else {
        const AxisList &own = graph.tensors()[op.results[0]].now.unreduced;
        choices.push_back({axes, {withoutTrivial(own)}, {}});
      }
    for (const OpChoice &choice : choices)
      for (size_t r = 0; r < op.results.size(); ++r) {
        AxisList axes = resultSharding(op.rule, choice, r).unreduced;
        std::vector<AxisList> &own = unreduced[op.results[r]];
        if (!axes.empty() && own.size() < kMostClaims &&
            reductionKind(op.rule, choice) == ReductionKind::Sum &&
            !contains(own, axes))
          own.push_back(axes);
      }
    for (int tensor : op.results)
      makers[tensor] = result.size();
    result.push_back(std::move(choices));
  }
  // Whatever a cap left out, what lies alike has the same choices.
  for (auto [first, second] : graph.ties())
    result[makers[second]] = result[makers[first]];
  return result;
}

} // namespace tandem

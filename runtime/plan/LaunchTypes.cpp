#include "runtime/plan/LaunchTypes.h"
#include "runtime/mesh/Collectives.h"

#include <algorithm>

namespace tandem {
namespace {

std::string listed(const AxisList &axes, const Mesh &mesh) {
  std::string text = "{";
  for (const AxisRef &axis : axes)
    text += (text.size() > 1 ? ", " : "") + toString(axis, mesh);
  return text + "}";
}

bool sameSet(const AxisList &a, const AxisList &b) {
  std::optional<AxisList> rest = withoutAxes(a, b);
  return rest && rest->empty();
}

class LaunchCheck {
public:
  LaunchCheck(const ShardingRule &rule,
              const std::vector<const TensorType *> &operands,
              const std::vector<const TensorType *> &results,
              const AxisList &stageTerms, const Mesh &mesh)
      : rule(rule), operands(operands), results(results),
        stageTerms(stageTerms), mesh(mesh), axesOf(rule.factors.size()),
        isKnown(rule.factors.size(), false) {}

  Status run() {
    if (rule.operands.size() != operands.size() ||
        rule.results.size() != results.size())
      return bad("it has " + std::to_string(operands.size()) + " inputs and " +
                 std::to_string(results.size()) + " outputs, its rule " +
                 std::to_string(rule.operands.size()) + " and " +
                 std::to_string(rule.results.size()));
    for (size_t t = 0; t < operands.size(); ++t)
      TANDEM_TRY(
          tensor("input " + std::to_string(t), *operands[t], rule.operands[t]));
    for (size_t t = 0; t < results.size(); ++t)
      TANDEM_TRY(
          tensor("output " + std::to_string(t), *results[t], rule.results[t]));
    TANDEM_TRY(reductions());
    TANDEM_TRY(waiting());
    for (size_t t = 0; t < results.size(); ++t)
      TANDEM_TRY(unreducedResult(t));
    return Status();
  }

private:
  /// Hands out the axes of one tensor and compares them with the others'.
  Status tensor(const std::string &which, const TensorType &type,
                const FactorMapping &mapping) {
    if (mapping.dims.size() != type.shape.size())
      return bad(which + " has " + std::to_string(type.shape.size()) +
                 " dimensions, its rule " +
                 std::to_string(mapping.dims.size()));
    for (size_t d = 0; d < type.shape.size(); ++d) {
      std::string where = which + ", dimension " + std::to_string(d);
      TANDEM_TRY(sizes(where, type.shape[d], mapping.dims[d]));
      TANDEM_TRY(dimension(where, type.shape[d], type.sharding.dims[d].axes,
                           mapping.dims[d]));
    }
    return Status();
  }

  /// A dimension is as long as its factors together; one that is selected
  /// from or never split has a length of its own in each tensor.
  Status sizes(const std::string &where, int64_t size,
               const std::vector<int32_t> &factors) const {
    int64_t product = 1;
    for (int32_t f : factors) {
      FactorKind kind = rule.factors[f].kind;
      if (kind == FactorKind::Selection || kind == FactorKind::MustReplicate)
        return Status();
      if (__builtin_mul_overflow(product, rule.factors[f].size, &product))
        product = -1;
    }
    if (product != size)
      return bad(where + " has the size " + std::to_string(size) +
                 ", its factors make " + std::to_string(product));
    return Status();
  }

  Status dimension(const std::string &where, int64_t size, const AxisList &axes,
                   const std::vector<int32_t> &factors) {
    if (factors.size() == 1)
      return factor(where, factors[0], size, axes);
    std::vector<int64_t> sizes;
    for (int32_t f : factors)
      sizes.push_back(rule.factors[f].size);
    Result<std::vector<AxisList>> parts = handOut(axes, sizes, mesh);
    if (!parts.ok())
      return bad(where + ": " + parts.status().message());
    for (size_t i = 0; i < factors.size(); ++i)
      TANDEM_TRY(factor(where, factors[i], sizes[i], (*parts)[i]));
    return Status();
  }

  Status factor(const std::string &where, int32_t f, int64_t size,
                const AxisList &all) {
    AxisList axes = withoutTrivial(all);
    if (!isKnown[f]) {
      isKnown[f] = true;
      axesOf[f] = axes;
    }
    if (merged(axesOf[f]) != merged(axes) || !sameSplit(size, axesOf[f], axes))
      return bad(where + " is split by " + listed(axes, mesh) +
                 ", another tensor splits the same factor by " +
                 listed(axesOf[f], mesh));
    FactorKind kind = rule.factors[f].kind;
    bool whole =
        kind == FactorKind::MustReplicate || kind == FactorKind::Selection;
    if (whole && !axes.empty())
      return bad(where + " is split by " + listed(axes, mesh) +
                 ", which its rule never allows");
    return Status();
  }

  /// Split reduction factors leave results unreduced.
  Status reductions() {
    for (size_t f = 0; f < rule.factors.size(); ++f) {
      const Factor &factor = rule.factors[f];
      if (factor.kind != FactorKind::Reduction || axesOf[f].empty())
        continue;
      if (!derived.empty() && factor.reduction != kind)
        return bad("reductions of two kinds are split");
      kind = factor.reduction;
      TANDEM_TRY(addDerived(axesOf[f]));
    }
    return Status();
  }

  /// Unreduced operands make results unreduced where the op is linear.
  Status waiting() {
    const AxisList *common = nullptr;
    for (size_t t = 0; t < operands.size(); ++t) {
      const AxisList &unreduced = operands[t]->sharding.unreduced;
      std::string which = "input " + std::to_string(t);
      if (!rule.operands[t].linear) {
        if (!unreduced.empty())
          return bad(which + " is unreduced over " + listed(unreduced, mesh) +
                     ", in which it is not linear");
        continue;
      }
      if (!unreduced.empty() && (operands[t]->reduction != ReductionKind::Sum ||
                                 kind != ReductionKind::Sum))
        return bad(which + " is unreduced over " + listed(unreduced, mesh) +
                   "; only sums may wait, and only for sums");
      if (rule.additive) {
        if (common && !sameSet(*common, unreduced))
          return bad(which + " is unreduced over " + listed(unreduced, mesh) +
                     ", another term over " + listed(*common, mesh));
        if (!common)
          TANDEM_TRY(addDerived(unreduced));
        common = &unreduced;
        continue;
      }
      TANDEM_TRY(addDerived(unreduced));
    }
    return Status();
  }

  Status addDerived(const AxisList &axes) {
    for (const AxisRef &axis : withoutTrivial(axes)) {
      if (overlaps(derived, axis))
        return bad("two reductions are waiting over " + toString(axis, mesh));
      derived.push_back(axis);
    }
    return Status();
  }

  Status unreducedResult(size_t t) const {
    const TensorType &type = *results[t];
    std::string which = "output " + std::to_string(t);
    AxisList own = derived;
    for (size_t f = 0; f < rule.factors.size(); ++f)
      if (rule.factors[f].kind != FactorKind::Reduction &&
          rule.leavesUnreduced(f, t))
        own.insert(own.end(), axesOf[f].begin(), axesOf[f].end());
    std::optional<AxisList> more = withoutAxes(type.sharding.unreduced, own);
    if (!more || !withoutAxes(stageTerms, *more))
      return bad(which + " is declared unreduced over " +
                 listed(type.sharding.unreduced, mesh) + ", it is over " +
                 listed(own, mesh));
    if (!own.empty() && type.reduction != kind)
      return bad(which + " combines its terms otherwise than its rule");
    return Status();
  }

  Status bad(const std::string &why) const { return Status::refused(why); }

  const ShardingRule &rule;
  const std::vector<const TensorType *> &operands, &results;
  const AxisList &stageTerms;
  const Mesh &mesh;
  std::vector<AxisList> axesOf; ///< By factor.
  std::vector<bool> isKnown;
  AxisList derived; ///< What all results are unreduced over.
  ReductionKind kind = ReductionKind::Sum;
};

} // namespace

Result<std::vector<AxisList>> handOut(const AxisList &axes,
                                      const std::vector<int64_t> &sizes,
                                      const Mesh &mesh) {
  std::vector<AxisList> parts(sizes.size());
  size_t f = 0, last = sizes.size();
  while (last > 1 && sizes[last - 1] == 1)
    --last;
  int64_t left = sizes.empty() ? 1 : sizes[0];
  for (AxisRef axis : axes) {
    while (axis.size > 1) {
      while (f + 1 < last && left == 1)
        left = sizes[++f];
      if (f + 1 >= last) { // The last one takes what is left.
        if (sizes.empty())
          return Status::refused("a dimension without factors is split by " +
                                 toString(axis, mesh));
        parts[f].push_back(axis);
        break;
      }
      int64_t take = left % axis.size == 0   ? axis.size
                     : axis.size % left == 0 ? left
                                             : 0;
      if (!take)
        return Status::refused("pieces over " + toString(axis, mesh) +
                               " do not end where pieces of a factor of " +
                               std::to_string(sizes[f]) + " end");
      parts[f].push_back({axis.name, axis.preSize, take});
      left /= take;
      axis = {axis.name, axis.preSize * take, axis.size / take};
    }
  }
  return parts;
}

bool sameOrder(const FactorMapping &a, const FactorMapping &b) {
  std::vector<int32_t> left, right;
  for (const std::vector<int32_t> &dim : a.dims)
    left.insert(left.end(), dim.begin(), dim.end());
  for (const std::vector<int32_t> &dim : b.dims)
    right.insert(right.end(), dim.begin(), dim.end());
  return left == right;
}

Status checkLaunch(const ShardingRule &rule,
                   const std::vector<const TensorType *> &operands,
                   const std::vector<const TensorType *> &results,
                   const AxisList &stageTerms, const Mesh &mesh) {
  return LaunchCheck(rule, operands, results, stageTerms, mesh).run();
}

} // namespace tandem

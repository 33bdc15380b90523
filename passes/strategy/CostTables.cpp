#include "passes/strategy/CostTables.h"

#include <algorithm>
#include <numeric>

namespace tandem {
namespace {

struct Dim {
  int64_t extent;
  int64_t stride; ///< In the table that is read.
};

/// Leaves out what does not move and joins dimensions that lie as one.
std::vector<Dim> collapsed(const std::vector<Dim> &dims) {
  std::vector<Dim> result;
  for (const Dim &dim : dims) {
    if (dim.extent == 1)
      continue;
    if (!result.empty() && result.back().stride == dim.stride * dim.extent)
      result.back() = {result.back().extent * dim.extent, dim.stride};
    else
      result.push_back(dim);
  }
  if (result.empty())
    result.push_back({1, 0});
  return result;
}

/// Adds entries of `from` to consecutive entries of `sum`.
void addStrided(int64_t *sum, const int64_t *from,
                const std::vector<Dim> &all) {
  std::vector<Dim> dims = collapsed(all);
  Dim inner = dims.back();
  dims.pop_back();
  std::vector<int64_t> at(dims.size(), 0);
  for (int64_t offset = 0;;) {
    for (int64_t i = 0; i < inner.extent; ++i)
      sum[i] = addCosts(sum[i], from[offset + i * inner.stride]);
    sum += inner.extent;
    size_t d = dims.size();
    for (; d > 0; --d) {
      const Dim &dim = dims[d - 1];
      offset += dim.stride;
      if (++at[d - 1] < dim.extent)
        break;
      at[d - 1] = 0;
      offset -= dim.stride * dim.extent;
    }
    if (d == 0)
      return;
  }
}

/// The stride of each variable of `scope`, row-major.
std::vector<int64_t> stridesOf(const std::vector<int> &scope,
                               const std::vector<int> &sizes) {
  std::vector<int64_t> strides(scope.size());
  int64_t stride = 1;
  for (size_t d = scope.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= sizes[scope[d]];
  }
  return strides;
}

size_t entriesOf(const std::vector<int> &scope, const std::vector<int> &sizes) {
  size_t entries = 1;
  for (int v : scope)
    entries *= sizes[v];
  return entries;
}

/// Adds up tables over the same variables and puts them into `network`.
void insertMerged(CostTables &network, std::vector<CostTable> found) {
  std::stable_sort(
      found.begin(), found.end(),
      [](const CostTable &a, const CostTable &b) { return a.scope < b.scope; });
  size_t first = network.tables.size();
  for (CostTable &table : found) {
    if (network.tables.size() > first &&
        network.tables.back().scope == table.scope)
      addTable(network.tables.back().costs, table.scope, table, network.sizes);
    else
      network.tables.push_back(std::move(table));
  }
}

} // namespace

void addTable(std::vector<int64_t> &sum, const std::vector<int> &scope,
              const CostTable &from, const std::vector<int> &sizes) {
  std::vector<int64_t> strides = stridesOf(from.scope, sizes);
  std::vector<Dim> dims;
  for (int v : scope) {
    size_t d =
        std::find(from.scope.begin(), from.scope.end(), v) - from.scope.begin();
    dims.push_back({sizes[v], d < strides.size() ? strides[d] : 0});
  }
  addStrided(sum.data(), from.costs.data(), dims);
}

CostTables CostTables::of(const CostNetwork &network) {
  CostTables result;
  for (const CostVariable &variable : network.variables) {
    CostTable own{{result.variables()}, {}};
    for (const CostAlternative &alternative : variable.alternatives)
      own.costs.push_back(addCosts(alternative.cost, 0));
    result.sizes.push_back(static_cast<int>(own.costs.size()));
    result.tables.push_back(std::move(own));
  }
  std::vector<CostTable> found;
  for (const CostTerm &term : network.terms) {
    CostTable table{term.variables, std::vector<int64_t>(term.costs.size())};
    std::sort(table.scope.begin(), table.scope.end());
    addTable(table.costs, table.scope, {term.variables, term.costs},
             result.sizes);
    if (table.scope.size() > 1)
      found.push_back(std::move(table));
    else
      addTable(result.tables[table.scope[0]].costs, table.scope, table,
               result.sizes);
  }
  insertMerged(result, std::move(found));
  return result;
}

CostTables CostTables::restrictedTo(const std::vector<int> &kept,
                                    const std::vector<int> &values,
                                    const std::vector<int> &which) const {
  CostTables result;
  std::vector<int> number(sizes.size(), -1);
  for (int v : kept) {
    number[v] = result.variables();
    result.tables.push_back({{number[v]}, std::vector<int64_t>(sizes[v], 0)});
    result.sizes.push_back(sizes[v]);
  }
  std::vector<CostTable> found;
  for (int t : which) {
    const CostTable &table = tables[t];
    std::vector<int64_t> strides = stridesOf(table.scope, sizes);
    std::vector<Dim> dims;
    std::vector<int> scope;
    const int64_t *from = table.costs.data();
    for (size_t d = 0; d < table.scope.size(); ++d) {
      int v = table.scope[d];
      if (number[v] < 0) {
        from += strides[d] * values[v];
        continue;
      }
      scope.push_back(number[v]);
      dims.push_back({sizes[v], strides[d]});
    }
    if (scope.empty()) {
      result.constant = addCosts(result.constant, *from);
    } else if (scope.size() == 1) {
      addStrided(result.tables[scope[0]].costs.data(), from, dims);
    } else {
      std::vector<int64_t> costs(entriesOf(scope, result.sizes), 0);
      addStrided(costs.data(), from, dims);
      found.push_back({std::move(scope), std::move(costs)});
    }
  }
  insertMerged(result, std::move(found));
  return result;
}

} // namespace tandem

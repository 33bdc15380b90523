#include "ir/reference/Distribution.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace tandem {
namespace {

/// Where in the global row-major order a local lane lies.
size_t globalOffset(const Tensor &part, const std::vector<int64_t> &index) {
  size_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset = offset * part.dim(d).global + part.dim(d).begin + index[d];
  return offset;
}

std::string text(double value) {
  char buffer[32];
  snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

} // namespace

double combine(ReductionKind kind, double a, double b) {
  if (kind == ReductionKind::Sum)
    return a + b;
  if (std::isnan(a))
    return a;
  return (kind == ReductionKind::Max) == (a > b) ? a : b;
}

bool agree(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  return a == b || std::fabs(a - b) <= tolerance * (1 + std::fabs(a));
}

std::vector<LocalDim> dimsOf(Type type, const Mesh &mesh, int64_t rank) {
  SmallVector<int64_t> shape = globalShape(type);
  LocalAttr local = localOf(type);
  std::vector<LocalDim> dims;
  if (!local) {
    for (int64_t size : shape)
      dims.push_back({size, size, 0, size});
    return dims;
  }
  Sharding sharding = local.getSharding().getValue(mesh);
  for (size_t d = 0; d < shape.size(); ++d) {
    Extent extent = extentOf(shape[d], sharding.dims[d].axes, mesh, rank);
    dims.push_back({extent.capacity, extent.size, extent.begin, shape[d]});
  }
  return dims;
}

Tensor cut(const Tensor &whole, Type type, const Mesh &mesh, int64_t rank) {
  Tensor part(dimsOf(type, mesh, rank));
  bool isFirst = true;
  if (LocalAttr local = localOf(type))
    // Only sums have a neutral term; a maximum's terms are all the value.
    isFirst = local.getReduction() != ReductionKind::Sum ||
              mesh.coordinate(
                  rank, local.getSharding().getValue(mesh).unreduced) == 0;
  part.forEachValid([&](const std::vector<int64_t> &index) {
    part.at(index) = isFirst ? whole.data()[globalOffset(part, index)] : 0;
  });
  return part;
}

Joiner::Joiner(std::string name, Type type, const Mesh &mesh)
    : name(std::move(name)), shape(toVector(globalShape(type))), mesh(mesh) {
  sharding = Sharding::replicatedOver(shape.size());
  if (LocalAttr local = localOf(type)) {
    sharding = local.getSharding().getValue(mesh);
    reduction = local.getReduction();
  }
  size_t count = 1;
  for (int64_t size : shape)
    count *= size;
  terms.resize(sizeOf(sharding.unreduced));
  for (Term &term : terms) {
    term.values.resize(count);
    term.known.resize(count, false);
  }
}

Status Joiner::put(Term &term, size_t at, double value, int64_t rank) {
  if (!term.known[at]) {
    term.known[at] = true;
    term.values[at] = value;
    return Status();
  }
  if (agree(term.values[at], value, 1e-9))
    return Status();
  return Status::refused("rank " + std::to_string(rank) + " has " +
                         text(value) + " at element " + std::to_string(at) +
                         " of " + name + ", another rank " +
                         text(term.values[at]));
}

Status Joiner::add(const Tensor &part, int64_t rank) {
  Term &term = terms[mesh.coordinate(rank, sharding.unreduced)];
  Status status;
  part.forEachValid([&](const std::vector<int64_t> &index) {
    if (status.ok())
      status = put(term, globalOffset(part, index), part.at(index), rank);
  });
  return status;
}

Result<Tensor> Joiner::join() const {
  std::vector<double> values = terms[0].values;
  for (size_t t = 0; t < terms.size(); ++t)
    for (size_t i = 0; i < values.size(); ++i) {
      if (!terms[t].known[i])
        return Status::refused("no rank holds element " + std::to_string(i) +
                               " of " + name);
      if (t > 0)
        values[i] = combine(reduction, values[i], terms[t].values[i]);
    }
  return Tensor::whole(shape, std::move(values));
}

} // namespace tandem

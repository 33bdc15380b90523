#include "test/fuzz/equivalence/RandomShardings.h"

namespace tandem::test {
namespace {

constexpr int64_t kMaxRanks = 8;

/// Grows sizes of 1 by primes for as long as the ranks allow.
std::vector<int64_t> randomSizes(Random &random) {
  std::vector<int64_t> sizes(random.between(1, 4), 1);
  int64_t ranks = 1;
  for (int draws = 0; draws < 4 || ranks == 1; ++draws) {
    int64_t factor = random.pick<int64_t>({2, 2, 2, 3, 3, 5, 7});
    if (ranks * factor > kMaxRanks)
      continue;
    ranks *= factor;
    sizes[random.below(static_cast<int64_t>(sizes.size()))] *= factor;
  }
  return sizes;
}

/// The axis, or the parts that it is cut into at random.
AxisList partsOf(const Axis &axis, Random &random) {
  AxisList parts;
  int64_t before = 1;
  for (int64_t prime : {2, 3, 5, 7})
    for (int64_t left = axis.size / before; left % prime == 0; left /= prime) {
      // A cut before this prime, or the part in front grows.
      if (parts.empty() || random.chance(50))
        parts.push_back({axis.name, before, prime});
      else
        parts.back().size *= prime;
      before *= prime;
    }
  if (parts.empty() || random.chance(50))
    return {{axis.name, 1, axis.size}};
  return parts;
}

} // namespace

Mesh randomMesh(Random &random) {
  std::vector<Axis> axes;
  const char *names[] = {"x", "y", "z", "w"};
  for (int64_t size : randomSizes(random))
    axes.push_back({names[axes.size()], size});
  Axis &stages = axes[random.below(static_cast<int64_t>(axes.size()))];
  if (random.chance(20) && stages.size <= 4)
    stages.name = "pp";
  return Mesh(axes);
}

AxisList randomParts(const Mesh &mesh, Random &random) {
  AxisList parts;
  for (const Axis &axis : mesh.axes())
    if (axis.name != "pp")
      for (const AxisRef &part : partsOf(axis, random))
        parts.push_back(part);
  random.shuffle(parts);
  return parts;
}

Sharding randomSharding(size_t rank, bool mayBeUnreduced, const Mesh &mesh,
                        Random &random) {
  Sharding sharding = Sharding::replicatedOver(rank);
  for (DimSharding &dim : sharding.dims) {
    dim.open = random.chance(50);
    dim.priority =
        random.chance(10) ? static_cast<int32_t>(random.below(3)) : 0;
  }
  for (const AxisRef &part : randomParts(mesh, random)) {
    size_t choice = random.below(static_cast<int64_t>(rank) + 2);
    if (choice < rank)
      sharding.dims[choice].axes.push_back(part);
    else if (mayBeUnreduced && random.chance(40))
      sharding.unreduced.push_back(part);
    else if (random.chance(20))
      sharding.replicated.push_back(part);
  }
  return sharding;
}

} // namespace tandem::test

#include "runtime/plan/LinkBytes.h"
#include "runtime/plan/Inspect.h"

#include <algorithm>
#include <map>

namespace tandem {
namespace {

/// How many ranks from the first to the last of any group over `axes`, rounded
/// up to where the next such run begins.
int64_t coveredRanks(const Mesh &mesh, const AxisList &axes) {
  int64_t covered = 1, behind = 1;
  for (auto axis = mesh.axes().rbegin(); axis != mesh.axes().rend(); ++axis) {
    for (const AxisRef &part : axes)
      if (part.name == axis->name && part.size > 1)
        // Digits of an axis run from major to minor.
        covered = std::max(covered, behind * (axis->size / part.preSize));
    behind *= axis->size;
  }
  return covered;
}

} // namespace

bool staysInNode(const Mesh &mesh, const AxisList &axes, int64_t nodeRanks) {
  return mesh.numRanks() <= nodeRanks ||
         nodeRanks % coveredRanks(mesh, axes) == 0;
}

std::vector<LinkBytes> linkBytesOf(const Plan &plan, const fb::Entry &entry,
                                   int64_t nodeRanks) {
  int64_t ranksOfStage =
      plan.numRanks() / std::max<int64_t>(1, plan.mesh().sizeOf(kStageAxis));
  // By axes: of a rank of each stage.
  std::map<AxisList, std::vector<int64_t>> sums;
  for (const CollectiveRow &row : collectivesOf(plan, entry)) {
    std::vector<int64_t> &bytes = sums[row.axes];
    bytes.resize(plan.stages(), 0);
    bytes[row.stage] += row.count * row.traffic.wireBytes;
  }
  std::vector<LinkBytes> links;
  for (const auto &[axes, bytes] : sums) {
    LinkBytes link{axes, staysInNode(plan.mesh(), axes, nodeRanks), 0, 0};
    for (int64_t ofStage : bytes) {
      link.ofRank = std::max(link.ofRank, ofStage);
      link.ofAllRanks += ofStage * ranksOfStage;
    }
    links.push_back(std::move(link));
  }
  std::stable_sort(
      links.begin(), links.end(), [](const LinkBytes &a, const LinkBytes &b) {
        return a.inNode != b.inNode ? a.inNode : a.ofRank > b.ofRank;
      });
  return links;
}

} // namespace tandem

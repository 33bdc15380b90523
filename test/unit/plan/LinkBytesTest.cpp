#include "runtime/plan/LinkBytes.h"
#include "SmallPlans.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// By definition: whether all ranks of every group have one node.
bool enumerated(const Mesh &mesh, const AxisList &axes, int64_t nodeRanks) {
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank)
    for (int64_t peer : mesh.groupRanks(rank, axes))
      if (peer / nodeRanks != rank / nodeRanks)
        return false;
  return true;
}

TEST(LinkBytes, GroupsStayInNodesAsEnumerated) {
  for (const char *text : {"pp=2,dp=2,tp=4", "dp=4,tp=2", "dp=3,tp=2",
                           "pp=2,dp=3,tp=3", "tp=8", "dp=5,tp=1", "dp=16"}) {
    Mesh mesh = *Mesh::parse(text);
    std::vector<AxisList> lists;
    for (const Axis &axis : mesh.axes()) {
      lists.push_back({mesh.whole(axis.name)});
      for (int64_t pre = 2; pre < axis.size; ++pre)
        if (axis.size % pre == 0) {
          lists.push_back({{axis.name, 1, pre}});
          lists.push_back({{axis.name, pre, axis.size / pre}});
        }
      for (const Axis &other : mesh.axes())
        if (other.name != axis.name)
          lists.push_back({mesh.whole(axis.name), mesh.whole(other.name)});
    }
    for (const AxisList &axes : lists)
      for (int64_t nodeRanks : {1, 2, 3, 4, 6, 8, 64})
        EXPECT_EQ(staysInNode(mesh, axes, nodeRanks),
                  enumerated(mesh, axes, nodeRanks))
            << text << " over " << axes[0].name << ":(" << axes[0].preSize
            << ")" << axes[0].size << " of " << axes.size()
            << " axes, nodes of " << nodeRanks;
  }
}

TEST(LinkBytes, OfTwoStages) {
  Result<Plan> plan = Plan::fromNative(test::twoStagePlan());
  ASSERT_TRUE(plan.ok());
  // pp=2,tp=2: a send of 64 bytes by both ranks of stage 0, a gather of 64 by
  // those of stage 1, a broadcast of 4 by all.
  std::vector<std::string> rows;
  for (const LinkBytes &link :
       linkBytesOf(*plan, *plan->table().entries()->Get(0), 2)) {
    std::string text = link.inNode ? "in" : "between";
    for (const AxisRef &axis : link.axes)
      text += " " + axis.name;
    rows.push_back(text + " " + std::to_string(link.ofRank) + " " +
                   std::to_string(link.ofAllRanks));
  }
  EXPECT_EQ(rows, std::vector<std::string>({"in tp 64 128", "between pp 64 128",
                                            "between pp tp 4 16"}));
}

} // namespace
} // namespace tandem

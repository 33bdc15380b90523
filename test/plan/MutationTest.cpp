// Plans that are right are mutated in every way that could hurt; the verifier
// must refuse each, and complain about none of the originals.

#include "LayerPlan.h"
#include "Mutations.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <set>
#include <sstream>

namespace tandem {
namespace {

using test::LayerOptions;
using test::Mutation;
using test::verdict;

std::vector<LayerOptions> tenPlans() {
  std::vector<LayerOptions> plans;
  auto add = [&](const char *mesh, int layers, bool sequenceParallel) {
    plans.emplace_back();
    plans.back().mesh = mesh;
    plans.back().layers = layers;
    plans.back().sequenceParallel = sequenceParallel;
  };
  add("tp=2", 2, false);
  add("tp=3", 2, false); // Nothing divides by 3.
  add("tp=4", 2, true);
  add("dp=3", 1, false);
  add("dp=2,tp=2", 2, false);
  add("pp=2", 3, false);
  add("pp=2,tp=2", 2, false);
  add("pp=3,tp=2", 3, true);
  add("pp=2,dp=2,tp=2", 3, false);
  add("pp=2,dp=3,tp=5", 2, true);
  return plans;
}

/// Mutations tried so far and the messages that refused them.
struct Tally {
  size_t count = 0;
  std::set<std::string> messages;

  void mutate(const fb::PlanT &plan, const std::string &name) {
    ASSERT_EQ(verdict(plan), "fine") << name;
    for (const Mutation &mutation : test::mutationsOf(plan)) {
      fb::PlanT mutated(plan);
      mutation.apply(mutated);
      std::string message = verdict(mutated);
      EXPECT_NE(message, "fine") << name << ": " << mutation.what;
      messages.insert(message);
      ++count;
    }
  }

  /// Each is told where and why: few share their words.
  void check() const {
    EXPECT_GE(messages.size() * 3, count);
    std::printf("%zu mutations refused with %zu messages\n", count,
                messages.size());
  }
};

TEST(PlanMutations, EachIsRefusedAndNoOriginal) {
  Tally tally;
  for (const LayerOptions &options : tenPlans())
    tally.mutate(test::layerPlan(options), options.mesh);
  EXPECT_GE(tally.count, 500u);
  tally.check();
}

/// The same for plans of the compiler, named in TANDEM_MUTATE_PLANS with
/// colons between.
TEST(PlanMutations, EachOfACompiledPlanIsRefused) {
  const char *paths = std::getenv("TANDEM_MUTATE_PLANS");
  if (!paths)
    GTEST_SKIP() << "TANDEM_MUTATE_PLANS names no plans";
  Tally tally;
  std::istringstream list(paths);
  for (std::string path; std::getline(list, path, ':');) {
    Result<Plan> plan = Plan::load(path);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    std::unique_ptr<fb::PlanT> native(plan->table().UnPack());
    tally.mutate(*native, path);
  }
  tally.check();
}

} // namespace
} // namespace tandem

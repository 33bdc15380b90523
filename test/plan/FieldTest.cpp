//===- FieldTest.cpp - Anything at all changed in a compiled plan ---------===//
//
// Each number and each list of a compiled plan is changed, one at a time,
// without a thought of what it means. The verifier or the kernels' contracts
// must refuse the result before it runs, or else it must run on the chaos
// device to the same outputs. What no type can tell apart is listed here, with
// the reason.
//
//===----------------------------------------------------------------------===//

#include "CompiledPlans.h"
#include "Mutations.h"
#include "PlanFields.h"
#include "PlanRun.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tandem {
namespace {

using test::CompiledPlan;
using test::PlanField;
using test::PlanList;
using test::PlanResult;

constexpr const char *kAttributes = "attributes of kernels, such as an epsilon",
                     *kWhich = "which of several of one type is meant",
                     *kDimensions = "which dimension of one size is meant",
                     *kKernels = "which kernel of one contract is meant",
                     *kNames = "two axes of one size change names throughout",
                     *kEntries = "an entry that its caller will miss",
                     *kCallers = "what callers make of an output";

/// Kinds of change that no type can tell, and what they are about.
const std::map<std::string, const char *> &untyped() {
  static const std::map<std::string, const char *> reasons = {
      {"numbers", kAttributes},
      {"swap numbers", kAttributes},
      {"repeat numbers", kAttributes},
      {"drop numbers", kAttributes},
      {"instruction.first_number", kAttributes},
      {"instruction.numbers_count", kAttributes},
      {"program.args", kWhich},
      {"swap program.args", kWhich},
      {"value.index", kWhich},
      {"swap program.values", kWhich},
      {"swap parameters", kWhich},
      {"output.values", kWhich},
      {"instruction.rule", kDimensions},
      {"mapping.dims", kDimensions},
      {"swap mapping.dims", kDimensions},
      {"instruction.target", kKernels},
      {"swap kernels", kKernels},
      {"swap axis_lists", kNames},
      {"drop entries", kEntries},
      {"input.parameter", kCallers},
      {"output.parameter", kCallers},
  };
  return reasons;
}

struct Tally {
  size_t refused = 0, byKernels = 0, harmless = 0, untyped = 0;
};

class Fields : public testing::Test {
protected:
  /// Tries changes of `c`, `budget` of each kind of field and list.
  void change(const CompiledPlan &c, size_t budget) {
    Result<Plan> plan = Plan::fromNative(c.plan);
    ASSERT_TRUE(plan.ok()) << c.name << ": " << plan.status().message();
    ASSERT_EQ(test::verdict(c.plan), "fine") << c.name;
    current = &c;
    vocabulary = plan->numberFact("vocab_size").value_or(2);
    expected = test::runPlan(*plan, vocabulary);
    ASSERT_TRUE(expected.failed.ok()) << expected.failed.toString();
    std::map<std::string, std::vector<PlanField>> fields;
    for (PlanField &field : test::fieldsOf(c.plan))
      fields[field.name].push_back(std::move(field));
    for (const auto &[name, places] : fields)
      for (size_t k = 0; k < std::min(budget, 3 * places.size()); ++k)
        changeField(places[random() % places.size()],
                    places[random() % places.size()]);
    std::map<std::string, std::vector<PlanList>> lists;
    for (PlanList &list : test::listsOf(c.plan))
      lists[list.name].push_back(std::move(list));
    for (const auto &[name, places] : lists)
      for (size_t k = 0; k < budget; ++k)
        changeList(places[random() % places.size()]);
  }

  std::mt19937_64 random;
  std::map<std::string, Tally> byName;

private:
  void changeField(const PlanField &field, const PlanField &other) {
    const int64_t values[] = {field.value + 1, field.value - 1, 0, other.value,
                              other.value};
    int64_t value = values[random() % 5];
    if (value == field.value)
      return;
    fb::PlanT changed(current->plan);
    field.set(changed, value);
    judge(field.name,
          field.where + ": " + std::to_string(field.value) + " became " +
              std::to_string(value),
          changed);
  }

  void changeList(const PlanList &list) {
    size_t i = random() % list.size, j = random() % list.size;
    std::string where = list.where + " [" + std::to_string(i) + "]";
    fb::PlanT dropped(current->plan), repeated(current->plan);
    list.drop(dropped, i);
    judge("drop " + list.name, where, dropped);
    list.repeat(repeated, i);
    judge("repeat " + list.name, where, repeated);
    if (i == j)
      return;
    fb::PlanT swapped(current->plan);
    list.swap(swapped, i, j);
    judge("swap " + list.name, where + " with [" + std::to_string(j) + "]",
          swapped);
  }

  void judge(const std::string &kind, const std::string &where,
             const fb::PlanT &changed) {
    Tally &own = byName[kind];
    if (test::verdict(changed) != "fine") {
      ++own.refused;
      return;
    }
    SCOPED_TRACE(current->name + ", " + kind + " of " + where);
    Result<Plan> plan = Plan::fromNative(changed);
    // Chaos takes its time: only where memory or order may be wrong.
    bool moves = kind.find("value.") != std::string::npos ||
                 kind.find("program.") != std::string::npos ||
                 kind.find("schedule.") != std::string::npos ||
                 kind.find("pool.") != std::string::npos ||
                 kind == "instruction.stream";
    PlanResult got =
        test::runPlan(*plan, vocabulary, moves ? 1 + random() % 1000 : 0);
    if (!got.refused.ok()) {
      ++own.byKernels;
    } else if (got.failed.ok() && isClose(got, expected)) {
      ++own.harmless;
    } else {
      ++own.untyped;
      EXPECT_TRUE(untyped().count(kind))
          << "the outputs are others " << got.failed.toString();
    }
  }

  const CompiledPlan *current = nullptr;
  int64_t vocabulary = 0;
  PlanResult expected;
};

TEST_F(Fields, NoChangeGoesUnnoticed) {
  // `--gtest_random_seed=N` draws others.
  random.seed(static_cast<uint64_t>(GTEST_FLAG_GET(random_seed)));
  Result<std::vector<CompiledPlan>> plans = test::compiledPlans();
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  for (const CompiledPlan &plan : *plans)
    change(plan, 4);
  Tally all;
  for (const auto &[name, own] : byName) {
    all.refused += own.refused;
    all.byKernels += own.byKernels;
    all.harmless += own.harmless;
    all.untyped += own.untyped;
  }
  std::printf("%zu changes refused by the verifier, %zu by kernels, %zu "
              "harmless, %zu that no type can tell\n",
              all.refused, all.byKernels, all.harmless, all.untyped);
  EXPECT_GE(all.refused, 500u);
}

TEST(CompiledPlansOnChaos, TwentySeedsChangeNothing) {
  Result<std::vector<CompiledPlan>> plans = test::compiledPlans();
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  for (const CompiledPlan &c : *plans) {
    Result<Plan> plan = Plan::fromNative(c.plan);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    int64_t vocabulary = plan->numberFact("vocab_size").value_or(2);
    PlanResult expected = test::runPlan(*plan, vocabulary);
    ASSERT_FALSE(expected.values.empty());
    for (uint64_t seed = 1; seed <= 20; ++seed) {
      PlanResult got = test::runPlan(*plan, vocabulary, seed);
      ASSERT_TRUE(got.refused.ok() && got.failed.ok())
          << c.name << ", seed " << seed << ": " << got.failed.toString();
      // To the bit.
      EXPECT_EQ(got.values, expected.values) << c.name << ", seed " << seed;
    }
  }
}

} // namespace
} // namespace tandem

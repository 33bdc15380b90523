// Plans that are right are mutated in every way that could hurt; the verifier
// must refuse each, and complain about none of the originals.

#include "LayerPlan.h"
#include "Mutations.h"
#include "test/unit/exec/PipelineSketch.h"

#ifdef TANDEM_COMPILED_PLANS
#include "CompiledPlans.h"
#endif

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

namespace tandem {
namespace {

using test::LayerOptions;
using test::Mutation;
using test::verdict;

std::vector<LayerOptions> layerPlans() {
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
  add("pp=2,tp=2", 2, true);
  plans.back().twoStreams = true;
  return plans;
}

fb::PlanT pipelinePlan(Pipeline::Order order, bool streams) {
  Pipeline pipeline;
  pipeline.o = pipeline.f;
  pipeline.order = order;
  pipeline.streams = streams;
  PlanSketch sketch = pipeline.sketch();
  (void)sketch.finish(); // Declares the memory.
  return std::move(sketch.builder.plan);
}

/// What a message says of each kind of mutation: one of these.
const std::map<std::string, std::vector<const char *>> &expectedWords() {
  static const std::vector<const char *>
      order = {"read before anything writes it",
               "never completes",
               "on another stream without an event",
               "which nothing before it",
               "neither written nor read",
               "written twice",
               " updates",
               "of another microbatch",
               " where microbatch ",
               "its action does not have",
               "it moves"},
      types = {"does not fit", "is split by",      "unreduced over",
               "is declared",  "its factors make", "dimensions, its rule",
               "it moves"},
      range = {"is out of range"},
      memory = {"is read after its bytes went to value", "overlaps",
                "though it does not work in place", "overlap",
                "on another stream without an event"};
  auto both = [](std::vector<const char *> a,
                 const std::vector<const char *> &b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const std::vector<const char *> runs = {
      "is out of range", "its schedule skips", "for microbatch", "has slot",
      "is still in flight"};
  static const std::map<std::string, std::vector<const char *>> words = {
      {"run skipped", runs},
      {"run repeated", runs},
      {"run of another action", runs},
      {"run of another microbatch", runs},
      {"run in another slot", runs},
      {"runs exchanged", order},
      {"action moved", {"the one before it ends at"}},
      {"action cut", {"the one before it ends at", "its actions end at"}},
      {"action without its pool", runs},
      {"pool far away", {"its values end at byte"}},
      {"pool of small slots", {"declares slots of"}},
      {"pool of large slots", {"declares slots of"}},
      {"pool of more slots", {"its schedule uses"}},
      {"pool of fewer slots", range},
      {"dropped", both(order, {"nothing reads what it writes",
                               "its parameter is declared"})},
      {"swapped", order},
      {"other stream", order},
      {"other event", order},
      {"skipped", both(types, {"never completes", "neither written nor read"})},
      {"doubled", both(types, {"never completes"})},
      {"other axes",
       both(types, {"over no axis", "go over stages", "never completes",
                    "does not match", "is out of range"})},
      {"other operation",
       both(types, {"expected", "never completes", "go over stages",
                    "workspace", "is out of range"})},
      {"other reduction", {"its terms combine otherwise"}},
      {"other dimension", types},
      {"other root", both(range, {"root", "does not match"})},
      {"no workspace", {"bytes of workspace, it needs"}},
      {"other peer", both(range, {"never completes", "is its own stage"})},
      {"sent twice", order},
      {"turned round", order},
      {"one input less", {"inputs and", "is out of range"}},
      {"argument out of range", range},
      {"first argument out of range", range},
      {"axes out of range", range},
      {"location out of range", range},
      {"operation out of range", range},
      {"kernel out of range", range},
      {"rule out of range", range},
      {"type out of range", range},
      {"index out of range", range},
      {"resized", {"bytes, its type", "bytes of workspace, it needs"}},
      {"far away", {"its values end at byte"}},
      {"overlapping", memory},
      {"shifted", memory},
      {"other type", both(types, {"bytes of workspace"})},
      {"less arena", {"its values end at byte"}},
      {"much more arena", {"its values end at byte"}},
      {"lower bound", {"live at once in an arena of"}},
      {"less parameters", {"of parameters, it has"}},
      {"much more parameters", {"of parameters and state, they end"}},
      {"less state", {"of state, it has"}},
      {"endless state", {"of state, it has", "of parameters and state, they"}},
      {"parameter behind its tensor",
       {"leaves stored", "overlap", "row to row"}},
      {"parameter stretched", {"leaves stored", "overlap", "row to row"}},
      {"parameter repeated", {"twice"}},
      {"parameter shifted", {"they end at byte"}},
      {"parameter misaligned", {"not aligned"}},
      {"parameter nowhere", {"does not hold", "is on no stage"}},
      {"parameter other rank", {"strides, its type"}},
      {"parameter over another", {"overlap"}},
      {"parameter on another stage", {"does not hold", "do not ascend"}},
      {"programs exchanged", {"does not hold", "is out of range"}},
      {"port with no value",
       {"is on no stage", "read before", "nothing reads what it writes",
        "neither written nor read"}},
      {"port with value out of range", range},
      {"port with another value", {"is declared"}},
  };
  return words;
}

class PlanMutations : public testing::Test {
protected:
  /// Tries mutations of a plan, at most `most` of each kind.
  /// `only` those whose kinds say it.
  void mutate(const fb::PlanT &plan, const std::string &name, size_t most,
              const std::string &only = "", bool isMinimal = true) {
    ASSERT_EQ(verdict(plan), "fine") << name;
    std::map<std::string, std::vector<Mutation>> kinds;
    for (Mutation &mutation : test::mutationsOf(plan, isMinimal))
      if (mutation.kind.rfind(only, 0) == 0)
        kinds[mutation.kind].push_back(std::move(mutation));
    for (const auto &[kind, mutations] : kinds) {
      kindsSeen.insert(kind);
      size_t step = (mutations.size() + most - 1) / most;
      for (size_t i = 0; i < mutations.size(); i += step)
        check(plan, mutations[i], name);
    }
  }

  /// Each is told where and why: few share their words.
  void checkAll() const {
    EXPECT_GE(count, 500u);
    EXPECT_GE(messages.size() * 3, count);
    std::printf("%zu mutations of %zu kinds refused with %zu messages\n", count,
                kindsSeen.size(), messages.size());
  }

  std::set<std::string> kindsSeen;

private:
  void check(const fb::PlanT &plan, const Mutation &mutation,
             const std::string &name) {
    fb::PlanT mutated(plan);
    mutation.apply(mutated);
    std::string message = verdict(mutated);
    messages.insert(message);
    ++count;
    auto words = expectedWords().find(mutation.kind);
    ASSERT_NE(words, expectedWords().end()) << mutation.kind;
    EXPECT_TRUE(std::any_of(words->second.begin(), words->second.end(),
                            [&](const char *text) {
                              return message.find(text) != std::string::npos;
                            }) &&
                namesItsPlace(message))
        << name << ", " << mutation.what << ": " << message;
  }

  /// An instruction, value, port, parameter, state or stage by its name.
  static bool namesItsPlace(const std::string &message) {
    for (const char *start :
         {"entry '", "input '", "output '", "parameter '", "state '", "pp "})
      if (message.rfind(start, 0) == 0)
        return true;
    return false;
  }

  size_t count = 0;
  std::set<std::string> messages;
};

TEST_F(PlanMutations, OfPlansByHand) {
  for (const LayerOptions &options : layerPlans())
    mutate(test::layerPlan(options), options.mesh, 100);
  mutate(pipelinePlan(Pipeline::Order::GPipe, false), "GPipe", 100);
  // An event of the microbatch before may be enough: schedules alone.
  for (const char *only : {"run", "action", "pool"})
    mutate(pipelinePlan(Pipeline::Order::OneForwardOneBackward, true), "1F1B",
           100, only);
  checkAll();
  for (const auto &[kind, words] : expectedWords())
    EXPECT_TRUE(kindsSeen.count(kind)) << "no mutation is " << kind;
}

#ifdef TANDEM_COMPILED_PLANS
TEST_F(PlanMutations, OfPlansByTheCompiler) {
  Result<std::vector<test::CompiledPlan>> plans = test::compiledPlans();
  ASSERT_TRUE(plans.ok()) << plans.status().message();
  for (const test::CompiledPlan &c : *plans)
    mutate(c.plan, c.name, 12, "", false);
  checkAll();
}
#endif

} // namespace
} // namespace tandem

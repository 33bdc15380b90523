// Sharding problems of real models (each operation with its strategies, each
// pair of neighbours with what it costs to go from one's to the other's),
// without their limit on memory.

#include "passes/strategy/CostNetwork.h"

#include "gtest/gtest.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <zlib.h>

using namespace tandem;

namespace {

const std::string kFolder = std::string(TANDEM_ASSETS) + "/sharding-problems/";

std::string unpacked(const std::string &path) {
  std::string text;
  gzFile file = gzopen(path.c_str(), "rb");
  if (!file)
    return text;
  std::vector<char> buffer(1 << 16);
  for (int read; (read = gzread(file, buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), read);
  gzclose(file);
  return text;
}

/// The problems spell "never" as 1e18.
int64_t costOf(const nlohmann::json &cost) {
  int64_t value = cost.get<int64_t>();
  return value >= 1000000000000000000 ? kForbidden : value;
}

CostNetwork networkOf(const nlohmann::json &problem) {
  CostNetwork network;
  for (const nlohmann::json &costs : problem["nodes"]["costs"]) {
    CostVariable variable{std::to_string(network.variables.size()), {}};
    for (const nlohmann::json &cost : costs)
      variable.alternatives.push_back({"", costOf(cost)});
    network.variables.push_back(std::move(variable));
  }
  const nlohmann::json &edges = problem["edges"];
  for (size_t e = 0; e < edges["nodes"].size(); ++e) {
    CostTerm term{edges["nodes"][e].get<std::vector<int>>(), {}};
    for (const nlohmann::json &cost : edges["costs"][e])
      term.costs.push_back(costOf(cost));
    network.terms.push_back(std::move(term));
  }
  return network;
}

/// Each variable in turn takes what costs least with those before it.
int64_t costOfGreedy(const CostNetwork &network) {
  std::vector<std::vector<const CostTerm *>> termsOf(network.variables.size());
  for (const CostTerm &term : network.terms)
    termsOf[std::max(term.variables[0], term.variables[1])].push_back(&term);
  std::vector<int> taken(network.variables.size(), 0);
  for (size_t v = 0; v < taken.size(); ++v) {
    std::vector<int64_t> costs;
    for (const CostAlternative &alternative : network.variables[v].alternatives)
      costs.push_back(alternative.cost);
    for (size_t a = 0; a < costs.size(); ++a) {
      taken[v] = static_cast<int>(a);
      for (const CostTerm *term : termsOf[v]) {
        size_t columns =
            network.variables[term->variables[1]].alternatives.size();
        costs[a] =
            addCosts(costs[a], term->costs[taken[term->variables[0]] * columns +
                                           taken[term->variables[1]]]);
      }
    }
    taken[v] = static_cast<int>(std::min_element(costs.begin(), costs.end()) -
                                costs.begin());
  }
  return network.costOf(taken);
}

TEST(ShardingProblems, TheExample) {
  std::ifstream file(kFolder + "example.json");
  if (!file)
    GTEST_SKIP() << "no " << kFolder;
  CostNetwork network = networkOf(nlohmann::json::parse(file)["problem"]);
  Result<CostNetworkSolution> solution = solve(network);
  ASSERT_TRUE(solution.ok()) << solution.status().message();
  int64_t cheapest = kForbidden;
  for (int a = 0; a < 12; ++a)
    cheapest =
        std::min(cheapest, network.costOf({0, a % 2, a / 2 % 3, a / 6 % 2, 0}));
  EXPECT_EQ(solution->cost, cheapest);
  EXPECT_TRUE(solution->exact);
}

TEST(ShardingProblems, RealOnesKeepTheirBound) {
  for (const char *name : {"B", "G", "V"}) {
    std::string text = unpacked(kFolder + name + ".json.gz");
    if (text.empty())
      GTEST_SKIP() << "no " << kFolder;
    CostNetwork network = networkOf(nlohmann::json::parse(text)["problem"]);
    CostNetworkOptions options;
    options.maximumTable = 1 << 14;
    options.moves = 20000;
    Result<CostNetworkSolution> solution = solve(network, options);
    ASSERT_TRUE(solution.ok()) << name << ": " << solution.status().message();
    Status status = solution->verify(network);
    EXPECT_TRUE(status.ok()) << name << ": " << status.message();
    EXPECT_GT(solution->lowerBound, 0) << name;
    EXPECT_LE(solution->cost, costOfGreedy(network)) << name;
  }
}

} // namespace

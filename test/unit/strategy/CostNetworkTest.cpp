#include "passes/strategy/CostNetwork.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace tandem;

namespace {

CostVariable variableOf(const std::string &name,
                        const std::vector<int64_t> &costs) {
  CostVariable variable{name, {}};
  for (size_t a = 0; a < costs.size(); ++a)
    variable.alternatives.push_back({std::to_string(a), costs[a]});
  return variable;
}

/// `count` variables of `size` alternatives that cost nothing.
CostNetwork freeVariables(int count, size_t size) {
  CostNetwork network;
  for (int v = 0; v < count; ++v)
    network.variables.push_back(
        variableOf("v" + std::to_string(v), std::vector<int64_t>(size, 0)));
  return network;
}

/// A term over `variables` with costs below `below`, one in `forbidden` of
/// them forbidden (0: none).
CostTerm randomTerm(const CostNetwork &network, std::vector<int> variables,
                    int64_t below, int forbidden, std::mt19937 &random) {
  CostTerm term{std::move(variables), {}};
  size_t entries = 1;
  for (int v : term.variables)
    entries *= network.variables[v].alternatives.size();
  for (; entries > 0; --entries)
    term.costs.push_back(forbidden && random() % forbidden == 0
                             ? kForbidden
                             : static_cast<int64_t>(random() % below));
  return term;
}

/// Any `count` of the variables, in any order.
std::vector<int> someOf(int variables, size_t count, std::mt19937 &random) {
  std::vector<int> some;
  while (some.size() < count) {
    int v = static_cast<int>(random() % variables);
    if (std::find(some.begin(), some.end(), v) == some.end())
      some.push_back(v);
  }
  return some;
}

CostNetwork randomNetwork(std::mt19937 &random) {
  CostNetwork network;
  int count = 1 + random() % 6;
  int64_t below = random() % 2 ? 3 : 1000; // many ties, or few
  int forbidden = random() % 2 ? 0 : 2 + random() % 6;
  for (int v = 0; v < count; ++v) {
    std::vector<int64_t> costs(1 + random() % 4);
    for (int64_t &cost : costs)
      cost = random() % 9 == 0 && forbidden ? kForbidden : random() % below;
    network.variables.push_back(variableOf("v" + std::to_string(v), costs));
  }
  for (size_t terms = random() % 9; terms > 0; --terms) {
    size_t over = 1 + random() % std::min(count, 4);
    network.terms.push_back(randomTerm(network, someOf(count, over, random),
                                       below, forbidden, random));
  }
  return network;
}

/// Steps `assignment` on to the next; whether there was one.
bool next(const CostNetwork &network, std::vector<int> &assignment) {
  for (size_t v = assignment.size(); v-- > 0; assignment[v] = 0) {
    int count = static_cast<int>(network.variables[v].alternatives.size());
    if (++assignment[v] < count)
      return true;
  }
  return false;
}

int64_t cheapestByForce(const CostNetwork &network) {
  std::vector<int> assignment(network.variables.size(), 0);
  int64_t cheapest = kForbidden;
  do
    cheapest = std::min(cheapest, network.costOf(assignment));
  while (next(network, assignment));
  return cheapest;
}

/// Each variable in turn takes what costs least with those before it.
int64_t costOfGreedy(const CostNetwork &network) {
  std::vector<std::vector<size_t>> termsOf(network.variables.size());
  for (size_t t = 0; t < network.terms.size(); ++t)
    termsOf[*std::max_element(network.terms[t].variables.begin(),
                              network.terms[t].variables.end())]
        .push_back(t);
  std::vector<int> assignment(network.variables.size(), 0);
  for (size_t v = 0; v < assignment.size(); ++v) {
    const auto &alternatives = network.variables[v].alternatives;
    int64_t best = kForbidden;
    int choice = 0;
    for (size_t a = 0; a < alternatives.size(); ++a) {
      assignment[v] = static_cast<int>(a);
      int64_t cost = alternatives[a].cost;
      for (size_t t : termsOf[v]) {
        size_t entry = 0;
        for (int u : network.terms[t].variables)
          entry =
              entry * network.variables[u].alternatives.size() + assignment[u];
        cost = addCosts(cost, network.terms[t].costs[entry]);
      }
      if (cost < best) {
        best = cost;
        choice = static_cast<int>(a);
      }
    }
    assignment[v] = choice;
  }
  return network.costOf(assignment);
}

CostNetwork gridOf(int rows, int columns, size_t size, std::mt19937 &random) {
  CostNetwork network = freeVariables(rows * columns, size);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      int v = r * columns + c;
      if (c + 1 < columns)
        network.terms.push_back(
            randomTerm(network, {v, v + 1}, 100, 0, random));
      if (r + 1 < rows)
        network.terms.push_back(
            randomTerm(network, {v, v + columns}, 100, 0, random));
    }
  return network;
}

/// Solves and holds the solution against the problem.
CostNetworkSolution solved(const CostNetwork &network,
                           const CostNetworkOptions &options = {}) {
  Result<CostNetworkSolution> solution = solve(network, options);
  EXPECT_TRUE(solution.ok()) << solution.status().message();
  if (!solution.ok())
    return {};
  Status status = solution->verify(network);
  EXPECT_TRUE(status.ok()) << status.message();
  return *solution;
}

TEST(CostNetwork, ExampleOfTheHeader) {
  Result<CostNetwork> network =
      CostNetwork::parse("variable 0 \"up\": \"keep\" 0, \"gather\" 30\n"
                         "variable 1 \"down\": \"keep\" 0, \"gather\" 30\n"
                         "term 0 1: 40, 0, 0, 0\n");
  ASSERT_TRUE(network.ok()) << network.status().message();
  CostNetworkSolution solution = solved(*network);
  EXPECT_EQ(solution.alternatives, (std::vector<int>{0, 1}));
  EXPECT_EQ(solution.cost, 30);
  EXPECT_TRUE(solution.exact);
}

/// The example of the README: once for both, or each for itself.
TEST(CostNetwork, WhatIsSharedIsPaidOnce) {
  for (auto [weight, cost, gathered] : {std::tuple(16, 24, 1), {10, 20, 0}}) {
    std::string product =
        "\"gather weight\" " + std::to_string(weight) + ", \"gather x\" 0\n";
    Result<CostNetwork> network =
        CostNetwork::parse("variable 0 \"%x\": \"split\" 0, \"gathered\" 24\n"
                           "variable 1 \"%up\": " +
                           product + "variable 2 \"%gate\": " + product +
                           "term 0 1: 0, forbidden, 0, 0\n"
                           "term 0 2: 0, forbidden, 0, 0\n");
    ASSERT_TRUE(network.ok()) << network.status().message();
    CostNetworkSolution solution = solved(*network);
    EXPECT_EQ(solution.cost, cost);
    EXPECT_TRUE(solution.exact);
    EXPECT_EQ(solution.alternatives,
              (std::vector<int>{gathered, gathered, gathered}));
  }
}

TEST(CostNetwork, IsAsGoodAsTryingAll) {
  std::mt19937 random(1);
  int impossible = 0;
  for (int trial = 0; trial < 600; ++trial) {
    CostNetwork network = randomNetwork(random);
    int64_t cheapest = cheapestByForce(network);
    if (cheapest == kForbidden) {
      ++impossible;
      EXPECT_FALSE(solve(network).ok()) << network.toString();
      continue;
    }
    CostNetworkSolution solution = solved(network);
    EXPECT_EQ(solution.cost, cheapest) << network.toString();
    EXPECT_TRUE(solution.exact);
  }
  EXPECT_GT(impossible, 20);
  EXPECT_LT(impossible, 300);
}

TEST(CostNetwork, BoundsHoldWhereTablesAreTooSmall) {
  std::mt19937 random(2);
  CostNetworkOptions options;
  for (int trial = 0; trial < 600; ++trial) {
    CostNetwork network = randomNetwork(random);
    int64_t cheapest = cheapestByForce(network);
    options.maximumTable = 1 + random() % 20;
    options.moves = 2000;
    Result<CostNetworkSolution> solution = solve(network, options);
    ASSERT_EQ(solution.ok(), cheapest != kForbidden) << network.toString();
    if (!solution.ok())
      continue;
    Status status = solution->verify(network);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_LE(solution->lowerBound, cheapest) << network.toString();
    EXPECT_GE(solution->cost, cheapest) << network.toString();
    EXPECT_TRUE(!solution->exact || solution->cost == cheapest);
  }
}

TEST(CostNetwork, NoVariableAloneCouldTakeALowerAlternative) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 300; ++trial) {
    CostNetwork network = randomNetwork(random);
    Result<CostNetworkSolution> solution = solve(network);
    if (!solution.ok())
      continue;
    std::vector<int> assignment = solution->alternatives;
    for (int &alternative : assignment) {
      int taken = alternative;
      for (alternative = 0; alternative < taken; ++alternative)
        EXPECT_GT(network.costOf(assignment), solution->cost);
    }
  }
}

/// A path of which the cheapest way is found by dynamic programming.
TEST(CostNetwork, AChainOfThousands) {
  std::mt19937 random(4);
  CostNetwork network = freeVariables(5000, 5);
  std::vector<int64_t> cheapest(5, 0);
  for (int v = 1; v < 5000; ++v) {
    CostTerm term = randomTerm(network, {v, v - 1}, 1000, 0, random);
    std::vector<int64_t> after(5, kForbidden);
    for (size_t a = 0; a < 5; ++a)
      for (size_t b = 0; b < 5; ++b)
        after[a] = std::min(after[a], cheapest[b] + term.costs[a * 5 + b]);
    cheapest = after;
    network.terms.push_back(std::move(term));
  }
  CostNetworkSolution solution = solved(network);
  EXPECT_TRUE(solution.exact);
  EXPECT_EQ(solution.cost, *std::min_element(cheapest.begin(), cheapest.end()));
}

TEST(CostNetwork, ATreeAndAStar) {
  std::mt19937 random(5);
  for (bool star : {false, true}) {
    CostNetwork network = freeVariables(3000, 4);
    for (int v = 1; v < 3000; ++v)
      network.terms.push_back(
          randomTerm(network, {star ? 0 : static_cast<int>(random() % v), v},
                     1000, 0, random));
    // From the leaves to the root, by hand.
    std::vector<std::vector<int64_t>> below(3000, std::vector<int64_t>(4, 0));
    for (int v = 2999; v > 0; --v) {
      const CostTerm &term = network.terms[v - 1];
      for (int64_t a = 0; a < 4; ++a) {
        int64_t best = kForbidden;
        for (int64_t b = 0; b < 4; ++b)
          best = std::min(best, below[v][b] + term.costs[a * 4 + b]);
        below[term.variables[0]][a] += best;
      }
    }
    CostNetworkSolution solution = solved(network);
    EXPECT_TRUE(solution.exact);
    EXPECT_EQ(solution.cost,
              *std::min_element(below[0].begin(), below[0].end()));
  }
}

/// Layers with the same terms, which some variables are part of throughout.
TEST(CostNetwork, LayersThatShareVariables) {
  std::mt19937 random(6);
  constexpr int kLayers = 126, kLayer = 25, kShared = 4;
  CostNetwork network = freeVariables(kShared, 3);
  for (int v = 0; v < kLayers * kLayer; ++v)
    network.variables.push_back(variableOf(
        "v" + std::to_string(v), std::vector<int64_t>(2 + v % kLayer % 7, 0)));
  std::vector<CostTerm> layer;
  auto add = [&](int a, int b) {
    layer.push_back(randomTerm(network, {a, b}, 10000, 20, random));
  };
  for (int v = 1; v < kLayer; ++v)
    add(kShared + v - 1 - random() % std::min(v, 3), kShared + v);
  for (int s = 0; s < kShared; ++s)
    add(s, kShared + static_cast<int>(random() % kLayer));
  add(kShared + kLayer - 1, kShared + kLayer);
  for (int l = 0; l < kLayers; ++l)
    for (CostTerm term : layer) {
      for (int &v : term.variables)
        v += v < kShared ? 0 : l * kLayer;
      if (term.variables[1] < static_cast<int>(network.variables.size()))
        network.terms.push_back(std::move(term));
    }
  CostNetworkSolution solution = solved(network);
  EXPECT_TRUE(solution.exact);
  EXPECT_LE(solution.cost, costOfGreedy(network));
}

TEST(CostNetwork, ANarrowGridIsSolvedExactly) {
  std::mt19937 random(7);
  CostNetwork network = gridOf(4, 4, 2, random);
  CostNetworkSolution solution = solved(network);
  EXPECT_TRUE(solution.exact);
  EXPECT_EQ(solution.cost, cheapestByForce(network));
}

TEST(CostNetwork, AWideGridIsSolvedWithinItsBound) {
  std::mt19937 random(8);
  CostNetwork network = gridOf(10, 10, 3, random);
  CostNetworkSolution best = solved(network); // tables of 3^11 entries
  EXPECT_TRUE(best.exact);
  int64_t cheapest = best.cost;
  CostNetworkOptions options;
  options.maximumTable = 100;
  options.moves = 20000;
  CostNetworkSolution solution = solved(network, options);
  EXPECT_FALSE(solution.exact);
  EXPECT_LE(solution.lowerBound, cheapest);
  EXPECT_GE(solution.lowerBound, cheapest * 8 / 10);
  EXPECT_GE(solution.cost, cheapest);
  EXPECT_LE(solution.cost, cheapest * 102 / 100);
  EXPECT_LT(solution.cost, costOfGreedy(network));
  // Less work allowed: the same as smaller tables.
  options = {};
  options.maximumWork = 100000;
  options.moves = 20000;
  solution = solved(network, options);
  EXPECT_FALSE(solution.exact);
  EXPECT_LE(solution.lowerBound, cheapest);
}

/// Colours for a map: neighbours differ. Only some colourings are allowed.
TEST(CostNetwork, ASearchFindsItsWayAroundWhatIsForbidden) {
  CostNetwork network = freeVariables(100, 4);
  std::vector<int64_t> differ(16, 0);
  for (size_t a = 0; a < 4; ++a)
    differ[a * 5] = kForbidden;
  for (int v = 0; v < 100; ++v)
    for (int u : {v + 1, v + 10, v + 11})
      if (u < 100 && (u % 10 > v % 10 || u == v + 10))
        network.terms.push_back({{v, u}, differ});
  CostNetworkOptions options;
  options.maximumTable = 64;
  EXPECT_EQ(solved(network, options).cost, 0);
}

TEST(CostNetwork, TheSameNetworkGetsTheSameAnswer) {
  std::mt19937 random(9);
  CostNetwork network = gridOf(12, 12, 3, random);
  CostNetworkOptions options;
  options.maximumTable = 50;
  options.moves = 5000;
  CostNetworkSolution first = solved(network, options);
  CostNetworkSolution second = solved(network, options);
  EXPECT_EQ(first.alternatives, second.alternatives);
  EXPECT_EQ(first.lowerBound, second.lowerBound);
  // Terms of another order are the same network to elimination.
  std::shuffle(network.terms.begin(), network.terms.end(), random);
  EXPECT_EQ(solved(network, options).lowerBound, first.lowerBound);
}

TEST(CostNetwork, SumsStopInsteadOfWrapping) {
  EXPECT_EQ(addCosts(kLargestCost, kLargestCost), kLargestCost);
  EXPECT_EQ(addCosts(kLargestCost, 1), kLargestCost);
  EXPECT_EQ(addCosts(INT64_MAX - 1, 0), kLargestCost);
  EXPECT_EQ(addCosts(INT64_MAX - 1, INT64_MAX - 1), kLargestCost);
  EXPECT_EQ(addCosts(kForbidden, 0), kForbidden);
  EXPECT_EQ(addCosts(kLargestCost, kForbidden), kForbidden);
  EXPECT_EQ(addCosts(kForbidden, kForbidden), kForbidden);
  EXPECT_EQ(addCosts(2, 3), 5);

  CostNetwork network = freeVariables(3, 2);
  for (int v = 0; v < 2; ++v)
    network.terms.push_back(
        {{v, v + 1}, {kLargestCost, INT64_MAX - 1, kLargestCost, kForbidden}});
  CostNetworkSolution solution = solved(network);
  EXPECT_EQ(solution.cost, kLargestCost);
  EXPECT_TRUE(solution.exact);
}

TEST(CostNetwork, NothingToChoose) {
  EXPECT_EQ(solved(CostNetwork()).cost, 0);
  CostNetwork network = freeVariables(3, 1);
  network.terms.push_back({{0, 2}, {7}});
  network.terms.push_back({{1}, {5}});
  CostNetworkSolution solution = solved(network);
  EXPECT_EQ(solution.cost, 12);
  EXPECT_TRUE(solution.exact);
}

TEST(CostNetwork, WhatCannotBeReconciledIsNamed) {
  auto messageOf = [](const CostNetwork &network) {
    return solve(network).status().message();
  };
  CostNetwork network = freeVariables(6, 2);
  int64_t no = kForbidden;
  network.terms.push_back({{0, 1}, {0, 1, 1, 0}});
  // 2 and 3 differ, 3 and 4 differ, 4 and 2 differ: one too many.
  network.terms.push_back({{2, 3}, {no, 0, 0, no}});
  network.terms.push_back({{3, 4}, {no, 0, 0, no}});
  network.terms.push_back({{5, 0}, {0, 1, 1, 0}});
  EXPECT_TRUE(solve(network).ok());
  network.terms.push_back({{4, 2}, {no, 0, 0, no}});
  EXPECT_EQ(messageOf(network),
            "cost network: no combination is allowed of 'v2', 'v3', 'v4'");
  CostNetwork all = freeVariables(15, 2);
  all.terms.push_back({{14}, {no, no}});
  EXPECT_EQ(messageOf(all), "cost network: no combination is allowed of 'v14'");
  CostNetwork decided = freeVariables(3, 1);
  decided.terms.push_back({{0, 2}, {no}});
  EXPECT_EQ(messageOf(decided),
            "cost network: no combination is allowed of 'v0', 'v2'");
  // Neighbours of a ring of 15 cannot differ in two alternatives.
  CostNetwork ring = freeVariables(15, 2);
  for (int v = 0; v < 15; ++v)
    ring.terms.push_back({{v, (v + 1) % 15}, {no, 0, 0, no}});
  EXPECT_EQ(messageOf(ring),
            "cost network: no combination is allowed of 'v0', 'v1', 'v2', "
            "'v3', 'v4', 'v5', 'v6', 'v7', 'v8', 'v9', 'v10', 'v11' and 3 "
            "more");
}

/// Two neighbours in the middle of a long chain, one of which may not be
/// what the other must be.
TEST(CostNetwork, WhatHasNothingToDoWithAConflictIsNotNamed) {
  CostNetwork chain = freeVariables(2000, 2);
  for (int v = 0; v < 1999; ++v)
    chain.terms.push_back({{v, v + 1}, {0, 1, 1, 0}});
  chain.terms.push_back({{901}, {kForbidden, 0}});
  chain.terms[900].costs = {0, kForbidden, 0, kForbidden};
  chain.terms.push_back({{1500, 3}, {0, 7, 7, 0}});
  EXPECT_EQ(solve(chain).status().message(),
            "cost network: no combination is allowed of 'v900', 'v901'");
}

TEST(CostNetwork, ASearchThatFindsNothingSaysSo) {
  CostNetwork ring = freeVariables(16, 2);
  for (int v = 0; v < 16; ++v)
    ring.terms.push_back({{v, (v + 1) % 16}, {kForbidden, 0, 0, kForbidden}});
  // Two that must agree, which the ring does not let them, but too far away
  // for tables of one variable to show it.
  ring.terms.push_back({{0, 7}, {0, kForbidden, kForbidden, 0}});
  CostNetworkOptions options;
  options.maximumTable = 1;
  options.moves = 0;
  Status status = solve(ring, options).status();
  EXPECT_EQ(status.message(),
            "cost network: found no allowed combination in 0 moves of 16 "
            "variables, such as 'v0'");
}

TEST(CostNetwork, ProblemsThatMakeNoSense) {
  auto messageOf = [](auto change) {
    CostNetwork network = freeVariables(2, 3);
    network.terms.push_back({{0, 1}, std::vector<int64_t>(9, 0)});
    change(network);
    return solve(network).status().message();
  };
  using Network = CostNetwork &;
  EXPECT_EQ(messageOf([](Network) {}), "");
  EXPECT_EQ(messageOf([](Network n) { n.variables[1].alternatives.clear(); }),
            "cost network: variable 'v1' has no alternatives");
  EXPECT_EQ(
      messageOf([](Network n) { n.variables[1].alternatives[2].cost = -4; }),
      "cost network: '2' of variable 'v1' costs -4, expected at least 0");
  EXPECT_EQ(messageOf([](Network n) { n.terms[0].variables = {}; }),
            "cost network: term 0 is over no variables");
  EXPECT_EQ(messageOf([](Network n) { n.terms[0].variables = {0, 2}; }),
            "cost network: term 0 is over variable 2 of 2");
  EXPECT_EQ(messageOf([](Network n) { n.terms[0].variables = {-1, 0}; }),
            "cost network: term 0 is over variable -1 of 2");
  EXPECT_EQ(messageOf([](Network n) { n.terms[0].variables = {1, 1}; }),
            "cost network: term 0 is over variable 'v1' twice");
  for (size_t size : {0, 8, 10, 27})
    EXPECT_EQ(messageOf([&](Network n) { n.terms[0].costs.resize(size); }),
              "cost network: term 0 has " + std::to_string(size) +
                  " costs, expected one for each combination of its 2 "
                  "variables");
  EXPECT_EQ(messageOf([](Network n) { n.terms[0].costs[5] = -1; }),
            "cost network: entry 5 of term 0 costs -1, expected at least 0");
}

TEST(CostNetwork, OptionsThatMakeNoSense) {
  auto messageOf = [](CostNetworkOptions options) {
    return solve(CostNetwork(), options).status().message();
  };
  EXPECT_EQ(messageOf({0, 5, 1}),
            "cost network: tables of at most 0 entries and 5 in all, expected "
            "at least 1");
  EXPECT_EQ(messageOf({1, 1, -1}),
            "cost network: a search of -1 moves, expected at least 0");
}

TEST(CostNetwork, WrongSolutionsAreRefused) {
  CostNetwork network = freeVariables(2, 2);
  network.terms.push_back({{0, 1}, {kForbidden, 3, 5, 9}});
  CostNetworkSolution right = solved(network);
  EXPECT_EQ(right.alternatives, (std::vector<int>{0, 1}));
  auto messageOf = [&](auto change) {
    CostNetworkSolution wrong = right;
    change(wrong);
    return wrong.verify(network).message();
  };
  using Solution = CostNetworkSolution &;
  EXPECT_EQ(messageOf([](Solution s) { s.alternatives.pop_back(); }),
            "cost network: assigns 1 variables of 2");
  EXPECT_EQ(messageOf([](Solution s) { s.alternatives[1] = 2; }),
            "cost network: variable 'v1' takes alternative 2 of 2");
  EXPECT_EQ(messageOf([](Solution s) { s.alternatives[0] = -1; }),
            "cost network: variable 'v0' takes alternative -1 of 2");
  EXPECT_EQ(messageOf([](Solution s) { s.alternatives[1] = 0; }),
            "cost network: the assignment is forbidden");
  EXPECT_EQ(messageOf([](Solution s) { s.alternatives = {1, 0}; }),
            "cost network: the assignment costs 5, stated 3");
  EXPECT_EQ(messageOf([](Solution s) { s.cost = kForbidden; }),
            "cost network: the assignment costs 3, stated forbidden");
  EXPECT_EQ(messageOf([](Solution s) { s.lowerBound = 4; }),
            "cost network: the lower bound 4 is negative or above the cost 3");
  EXPECT_EQ(messageOf([](Solution s) { s.lowerBound = 2; }),
            "cost network: stated to be exact, but the lower bound 2 is not "
            "the cost 3");
  EXPECT_EQ(messageOf([](Solution s) {
              s.lowerBound = 2;
              s.exact = false;
            }),
            "");
}

} // namespace

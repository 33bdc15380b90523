#include "FaultChecks.h"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>

namespace tandem {

int setting(const char *name, int otherwise) {
  const char *text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

Draws::Draws() {
  int seed = setting("TANDEM_FAULT_SEED", int(std::random_device{}() % 100000));
  seedText = std::to_string(seed);
  random.seed(unsigned(seed));
}

std::vector<std::string> linesWith(const std::string &text,
                                   const std::string &part) {
  std::vector<std::string> found;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.find(part) != std::string::npos)
      found.push_back(line);
  return found;
}

bool namesPlace(const std::string &line) {
  static const std::regex place(
      "[a-z_]+ #[0-9]+( of microbatch [0-9]+)? \\([^)]+\\)|"
      "instruction [a-z_]+ #[0-9]+( of microbatch [0-9]+)?, location ");
  return std::regex_search(line, place);
}

namespace {

void expectLine(const std::string &output, int rank,
                const std::set<int> &victims, bool places) {
  // Others say of a rank that they lost where it was last seen.
  const std::string own = "; rank " + std::to_string(rank) + " was ";
  std::vector<std::string> lines = linesWith(output, own + "at ");
  for (std::string &line : linesWith(output, own + "before "))
    lines.push_back(std::move(line));
  ASSERT_EQ(lines.size(), 1u) << "lines with '" << own << "at '";
  const std::string &line = lines[0];
  EXPECT_EQ(line.rfind("tandem: error: ", 0), 0u) << line;
  EXPECT_TRUE(namesPlace(line) || !places) << line;
  EXPECT_TRUE(std::any_of(victims.begin(), victims.end(), [&](int victim) {
    return line.find("rank " + std::to_string(victim)) != std::string::npos;
  })) << line;
}

} // namespace

void expectSurvivorsLeft(FaultTrial &trial, int ranks,
                         const std::set<int> &victims, double seconds,
                         bool places) {
  std::set<int> named = victims;
  for (int rank = 0; victims.empty() && rank < ranks; ++rank)
    named.insert(rank);
  bool ended = trial.waitForEnd(seconds + 8);
  SCOPED_TRACE("output:\n" + trial.output());
  ASSERT_TRUE(ended) << "the launcher did not end";
  EXPECT_NE(trial.launcherCode(), 0);
  for (int victim : victims)
    trial.wake(victim);
  for (int rank = 0; rank < ranks; ++rank) {
    if (victims.count(rank))
      continue;
    EXPECT_EQ(trial.codeOf(rank), 3) << "rank " << rank;
    EXPECT_LE(trial.endOf(rank), seconds) << "rank " << rank;
    EXPECT_GE(trial.endOf(rank), 0) << "rank " << rank;
    expectLine(trial.output(), rank, named, places);
  }
  EXPECT_TRUE(trial.leftBehind().empty());
}

} // namespace tandem

//===- Main.cpp - Random graphs x meshes x shardings, proved --------------===//
//
//   equivalence_fuzz --cases 1000 --seed 7     cases 7 to 1006
//   equivalence_fuzz FILE.mlir...              cases kept in files
//
// A case that fails is printed with its number, made small, and written to
// `--keep`.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/equivalence/Check.h"
#include "test/fuzz/equivalence/Isolation.h"
#include "test/fuzz/equivalence/RandomGraph.h"
#include "test/fuzz/equivalence/Reduce.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace tandem::test;

namespace {

struct Options {
  uint64_t cases = 1000, seed = 1;
  double deadline = 20;
  int mostFailures = 10;
  bool reduce = true, print = false;
  std::string keep = ".";
  std::vector<std::string> files;
};

class Run {
public:
  explicit Run(const Options &options) : options(options) {}

  void randomCases() {
    std::cout << "seed " << options.seed << ", " << options.cases << " cases"
              << std::endl;
    runIsolated(options.seed, options.cases, options.deadline, randomCase,
                checkCase, [&](const CaseResult &result) { report(result); });
  }

  void files() {
    for (const std::string &file : options.files) {
      std::ifstream stream(file);
      std::stringstream text;
      text << stream.rdbuf();
      CaseResult result;
      result.text = text.str();
      result.verdict =
          stream ? checkIsolated(result.text, options.deadline, checkCase)
                 : Verdict{"invalid", "cannot be read"};
      std::cout << file << ": ";
      report(result);
    }
  }

  int finish() const {
    std::cout << passed << " passed, " << failures << " failed" << std::endl;
    return failures == 0 ? 0 : 1;
  }

private:
  void report(const CaseResult &result) {
    if (result.verdict.passed()) {
      ++passed;
      return;
    }
    std::cout << "case " << result.number << " fails, " << result.verdict.stage
              << ": " << result.verdict.message << std::endl;
    if (++failures > options.mostFailures || result.text.empty())
      return;
    std::string text = result.text;
    if (options.reduce && result.verdict.stage != "invalid")
      text = reduced(result);
    std::string path =
        options.keep + "/case-" + std::to_string(result.number) + ".mlir";
    std::ofstream(path) << text;
    std::cout << "wrote " << path << "\n" << text << std::endl;
  }

  /// Whatever fails in the same place is the same failure. One that hangs is
  /// not waited for as long, nor as often.
  std::string reduced(const CaseResult &result) const {
    bool hangs = result.verdict.stage == "hang";
    double deadline = hangs ? options.deadline / 4 : options.deadline;
    return reduceCase(
        result.text,
        [&](const std::string &text) {
          return checkIsolated(text, deadline, checkCase).stage ==
                 result.verdict.stage;
        },
        hangs ? 50 : 3000);
  }

  const Options &options;
  uint64_t passed = 0;
  int failures = 0;
};

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app{"Random graphs, meshes and shardings, compiled, proved, run on "
               "ranks and compared with one rank, in float64"};
  app.add_option("--cases", options.cases, "how many");
  app.add_option("--seed", options.seed, "the number of the first");
  app.add_option("--deadline", options.deadline, "seconds that one may take");
  app.add_option("--failures", options.mostFailures,
                 "how many to make small and write");
  app.add_option("--keep", options.keep, "where to write them");
  app.add_flag("!--no-reduce", options.reduce, "write them as they are");
  app.add_flag("--print", options.print, "print the cases, check nothing");
  app.add_option("files", options.files, "cases to check instead");
  CLI11_PARSE(app, argc, argv);
  if (options.print) {
    for (uint64_t i = 0; i < options.cases; ++i)
      std::cout << randomCase(options.seed + i) << "\n";
    return 0;
  }
  std::filesystem::create_directories(options.keep);
  Run run(options);
  if (options.files.empty())
    run.randomCases();
  else
    run.files();
  return run.finish();
}

#include "TrainTrial.h"

#include "SmallPlan.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>

namespace tandem {
namespace {

namespace fs = std::filesystem;

const std::string &planOn(const std::string &layout) {
  static std::map<std::string, std::string> made;
  std::string &plan = made[layout];
  if (plan.empty())
    plan = SmallPlan::get().compile(
        "train-" + std::to_string(made.size()) + ".plan",
        "--entry train --batch 4 --max-seq 16 --microbatches 2", layout);
  return plan;
}

const std::string &data() {
  static std::string path;
  if (!path.empty())
    return path;
  path = SmallPlan::get().folder() + "/ids.bin";
  std::ofstream file(path, std::ios::binary);
  for (uint32_t i = 0; i < 4000; ++i) {
    auto id = static_cast<uint16_t>(i * i % 61);
    file.write(reinterpret_cast<const char *>(&id), sizeof id);
  }
  return path;
}

} // namespace

TrainTrial::TrainTrial(const std::string &layout) : plan(planOn(layout)) {
  static int number = 0;
  folder_ = SmallPlan::get().folder() + "/run-" + std::to_string(++number);
}

TrainTrial::~TrainTrial() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

TrialOptions TrainTrial::run(const std::string &fault, double deadline,
                             int steps) const {
  TrialOptions options;
  options.ranks = ranks;
  options.launcher = mpirunOn(ranks);
  options.command = {TANDEM_PROGRAM,
                     "train",
                     plan,
                     "--data",
                     data(),
                     "--threads",
                     "1",
                     "--lr",
                     "1e-3",
                     "--steps",
                     std::to_string(steps),
                     "--deadline",
                     std::to_string(deadline),
                     "--checkpoint-dir",
                     folder_,
                     "--checkpoint-every",
                     "1"};
  options.environment["TANDEM_FAULT"] = fault;
  return options;
}

TrialOptions TrainTrial::resume(int steps) const {
  TrialOptions options = run("", 30, steps);
  options.command.push_back("--resume");
  return options;
}

std::vector<int> TrainTrial::saved() const {
  std::vector<int> steps;
  std::error_code error;
  for (const auto &entry : fs::directory_iterator(folder_, error)) {
    std::string name = entry.path().filename();
    if (name.rfind("step-", 0) == 0 &&
        name.find_first_not_of("0123456789", 5) == std::string::npos)
      steps.push_back(std::stoi(name.substr(5)));
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

} // namespace tandem

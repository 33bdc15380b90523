#include "PlanRun.h"

#include "test/unit/exec/LocalRanks.h"

#include <cmath>

namespace tandem::test {
namespace {

/// A number of `name` and a global index: the same on every rank.
uint64_t numberOf(const std::string &name, const std::vector<int64_t> &index) {
  uint64_t hash = 0xcbf29ce484222325;
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * 0x100000001b3;
    hash ^= hash >> 29;
  };
  for (char letter : name)
    mix(static_cast<uint8_t>(letter));
  for (int64_t i : index)
    mix(static_cast<uint64_t>(i) + 0x100);
  return hash;
}

void store(std::byte *at, DType dtype, double value) {
  if (dtype == DType::F32) {
    auto element = static_cast<float>(value);
    std::memcpy(at, &element, sizeof element);
  } else if (isFloat(dtype)) {
    uint16_t half = dtype == DType::F16
                        ? floatToHalf(static_cast<float>(value))
                        : floatToBfloat(static_cast<float>(value));
    std::memcpy(at, &half, sizeof half);
  } else {
    // Little-endian: the low bytes come first.
    auto element = static_cast<int64_t>(value);
    std::memcpy(at, &element, static_cast<size_t>(blockBytes(dtype)));
  }
}

double load(const std::byte *at, DType dtype) {
  if (dtype == DType::F32) {
    float element;
    std::memcpy(&element, at, sizeof element);
    return static_cast<double>(element);
  }
  int64_t element = 0;
  std::memcpy(&element, at, static_cast<size_t>(blockBytes(dtype)));
  return static_cast<double>(element);
}

/// What an input is given, in the range that its use allows.
double inputValue(const std::string &name, const std::vector<int64_t> &index,
                  int64_t vocabulary) {
  uint64_t hash = numberOf(name, index);
  if (name == "input_ids")
    return static_cast<double>(hash % static_cast<uint64_t>(vocabulary));
  if (name == "positions" || name == "attention_mask")
    return 1;
  if (name == "top_p" || name == "temperature" || name == "beta1")
    return 0.9;
  if (name == "labels")
    return static_cast<double>(hash % static_cast<uint64_t>(vocabulary));
  if (name == "learning_rate" || name == "weight_decay")
    return 0.01;
  if (name == "beta2" || name == "epsilon")
    return 0.5;
  if (name == "step" || name == "clip_norm")
    return 1;
  if (name == "token_type_ids")
    return static_cast<double>(hash % 2);
  return static_cast<double>(1 + hash % 5);
}

bool areClose(const std::vector<double> &a, const std::vector<double> &b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return std::abs(x - y) <= 1e-4 * (1 + std::abs(x));
         });
}

double weightValue(const std::string &name, const std::vector<int64_t> &index) {
  return static_cast<double>(numberOf(name, index) % 2001) / 1000.0 - 1.0;
}

class Run {
public:
  Run(const Plan &plan, int64_t vocabulary, uint64_t seed)
      : plan(plan), vocabulary(vocabulary), ranks(plan, seed, /*deadline=*/5) {}

  PlanResult run() {
    result.refused = firstFailure(ranks.created);
    if (!result.refused.ok())
      return std::move(result);
    fillParameters();
    std::map<std::string, uint32_t> entries;
    for (uint32_t e = 0; e < plan.table().entries()->size(); ++e)
      entries[plan.table().entries()->Get(e)->name()->str()] = e;
    for (int round = 0; round < 2; ++round)
      for (const auto &[name, e] : entries) {
        fillInputs(e);
        result.failed = firstFailure(ranks.run(e));
        if (!result.failed.ok())
          return std::move(result);
        keepOutputs(e);
      }
    return std::move(result);
  }

private:
  static Status firstFailure(const std::vector<Status> &statuses) {
    for (const Status &status : statuses)
      if (!status.ok())
        return status;
    return Status();
  }

  template <typename Value>
  static void fill(const std::optional<TensorArg> &tensor, const Value &value) {
    if (tensor)
      forEachValid(*tensor,
                   [&](std::byte *at, const std::vector<int64_t> &index) {
                     store(at, tensor->dtype, value(index));
                   });
  }

  void fillParameters() {
    for (auto &executor : ranks.executors)
      for (uint32_t i = 0; i < plan.table().parameters()->size(); ++i) {
        std::string name = plan.table().parameters()->Get(i)->name()->str();
        fill(executor->parameter(i),
             [&](const auto &index) { return weightValue(name, index); });
      }
  }

  void fillInputs(uint32_t e) {
    const fb::Entry &entry = *plan.table().entries()->Get(e);
    for (auto &executor : ranks.executors)
      for (uint32_t i = 0; i < entry.inputs()->size(); ++i) {
        std::string name = entry.inputs()->Get(i)->name()->str();
        fill(executor->input(e, i), [&](const auto &index) {
          return inputValue(name, index, vocabulary);
        });
      }
  }

  void keepOutputs(uint32_t e) {
    const fb::Entry &entry = *plan.table().entries()->Get(e);
    for (auto &executor : ranks.executors)
      for (uint32_t i = 0; i < entry.outputs()->size(); ++i)
        if (auto tensor = executor->output(e, i)) {
          std::vector<double> &kept =
              result.values[entry.name()->str() + " " +
                            entry.outputs()->Get(i)->name()->str()];
          forEachValid(*tensor,
                       [&](std::byte *at, const std::vector<int64_t> &) {
                         kept.push_back(load(at, tensor->dtype));
                       });
        }
  }

  const Plan &plan;
  int64_t vocabulary;
  LocalRanks ranks;
  PlanResult result;
};

} // namespace

PlanResult runPlan(const Plan &plan, int64_t vocabulary, uint64_t seed) {
  return Run(plan, vocabulary, seed).run();
}

bool isClose(const PlanResult &a, const PlanResult &b) {
  return a.values.size() == b.values.size() &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                    [](const auto &left, const auto &right) {
                      return left.first == right.first &&
                             areClose(left.second, right.second);
                    });
}

} // namespace tandem::test

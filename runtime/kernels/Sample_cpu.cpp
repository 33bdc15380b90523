#include "runtime/kernels/Contract.h"
#include "runtime/kernels/LoopNest.h"
#include "runtime/kernels/Philox.h"
#include "runtime/kernels/RowOps.h"
#include "runtime/kernels/Sample.h"
#include "runtime/kernels/Tiles.h"

#include <cmath>
#include <limits>

namespace tandem {
namespace {

struct Choice {
  float logit;
  int32_t id;
};

/// Whether a comes after b in descending order: the order of a max-heap.
bool after(const Choice &a, const Choice &b) {
  return a.logit != b.logit ? a.logit < b.logit : a.id > b.id;
}

/// What one row is sampled with.
struct SampleSettings {
  double temperature, topP, uniform;
  int64_t topK;
};

/// The candidates of a row; the part already taken, in descending order, lies
/// at the end, the rest is a heap in front of it.
class Candidates {
public:
  Candidates(Choice *choices, int64_t count, double temperature)
      : choices(choices), count(count), heap(count), temperature(temperature) {
    std::make_heap(choices, choices + count, after);
    largest = choices[0].logit;
  }

  /// The i-th in descending order; i grows by one from call to call at most.
  const Choice &take(int64_t i) {
    while (count - heap <= i) {
      std::pop_heap(choices, choices + heap, after);
      --heap;
    }
    return choices[count - 1 - i];
  }
  double massOf(const Choice &choice) const {
    // Equal infinities have no difference but the same mass.
    return choice.logit == largest
               ? 1.0
               : std::exp((double(choice.logit) - largest) / temperature);
  }
  /// The mass of the `many` first.
  double mass(int64_t many) {
    double sum = 0;
    if (many == count)
      for (int64_t i = 0; i < count; ++i)
        sum += massOf(choices[i]);
    else
      for (int64_t i = 0; i < many; ++i)
        sum += massOf(take(i));
    return sum;
  }
  int64_t size() const { return count; }

private:
  Choice *choices;
  int64_t count, heap;
  double temperature, largest;
};

/// The first candidate whose cumulative mass passes `target`; the last of
/// `many` where rounding leaves none.
int64_t firstBeyond(Candidates &candidates, int64_t many, double target) {
  double sum = 0;
  for (int64_t i = 0; i < many; ++i) {
    sum += candidates.massOf(candidates.take(i));
    if (sum > target)
      return i;
  }
  return many - 1;
}

int32_t sampleRow(Choice *choices, int64_t count,
                  const SampleSettings &settings) {
  Candidates candidates(choices, count, settings.temperature);
  int64_t many = settings.topK > 0 ? std::min(settings.topK, count) : count;
  double mass = candidates.mass(many);
  if (settings.topP < 1) {
    double wanted = settings.topP * mass, sum = 0;
    int64_t i = 0;
    do
      sum += candidates.massOf(candidates.take(i++));
    while (i < many && sum < wanted);
    many = i;
    mass = sum;
  }
  int64_t chosen = firstBeyond(candidates, many, settings.uniform * mass);
  return candidates.take(chosen).id;
}

struct SampleRows {
  explicit SampleRows(const KernelCall &call)
      : logits(call.inputs[0]), temperature(call.inputs[1]),
        topK(call.inputs[2]), topP(call.inputs[3]), seed(call.inputs[4]),
        positions(call.inputs[5]), ids(call.outputs[0]) {}

  TensorArg logits, temperature, topK, topP, seed, positions, ids;

  SampleSettings settingsOf(int64_t row) const {
    uint64_t key = loadOne<int64_t>(seed.data, seed.dtype, row);
    uint64_t position = loadOne<int64_t>(positions.data, positions.dtype, row);
    uint64_t index = logits.dims[0].begin + row;
    auto low = [](uint64_t wide) { return static_cast<uint32_t>(wide); };
    auto high = [](uint64_t wide) { return static_cast<uint32_t>(wide >> 32); };
    double uniform = toUnit(philox(
        {low(position), high(position), low(index), 0}, {low(key), high(key)}));
    return {loadOne<double>(temperature.data, temperature.dtype, row),
            loadOne<double>(topP.data, topP.dtype, row), uniform,
            loadOne<int64_t>(topK.data, topK.dtype, row)};
  }

  void runRow(int64_t row, Choice *choices) const {
    SampleSettings settings = settingsOf(row);
    bool greedy = !(settings.temperature > 0);
    Choice best = {-std::numeric_limits<float>::infinity(), 0};
    int64_t count = 0;
    float buffer[kTileLanes];
    int64_t width = logits.dims[1].valid, begin = logits.dims[1].begin;
    best.id = static_cast<int32_t>(begin);
    for (int64_t first = 0; first < width; first += kTileLanes) {
      int64_t n = std::min(kTileLanes, width - first);
      const float *tile =
          loadTile<float>(logits.data, logits.dtype,
                          row * logits.dims[1].capacity + first, n, buffer);
      if (greedy && rowMax(tile, n) <= best.logit)
        continue;
      for (int64_t i = 0; i < n; ++i) {
        Choice choice = {tile[i], static_cast<int32_t>(begin + first + i)};
        if (choice.logit > best.logit)
          best = choice;
        if (!greedy && choice.logit == choice.logit)
          choices[count++] = choice;
      }
    }
    int32_t id =
        greedy || count == 0 ? best.id : sampleRow(choices, count, settings);
    storeOne<int64_t>(ids.data, ids.dtype, row, id);
  }
};

class SampleKernel final : public Kernel {
public:
  std::string_view name() const override { return "sample"; }

  Status check(const KernelCall &call) const override {
    Contract contract(*this, call);
    contract.inputs(6).outputs(1).numbers(0).rank(in(0), 2).rank(out(0), 1);
    contract.type(in(0), {DType::F32, DType::F16, DType::BF16});
    contract.type(in(1), {DType::F32}).type(in(2), {DType::I32, DType::I64});
    contract.type(in(3), {DType::F32}).type(in(4), {DType::I64, DType::I32});
    contract.type(in(5), {DType::I32, DType::I64});
    contract.type(out(0), {DType::I32, DType::I64});
    for (size_t i = 1; i < 6; ++i)
      contract.rank(in(i), 1).sameDim(in(i), 0, in(0), 0);
    contract.sameDim(out(0), 0, in(0), 0);
    if (contract.ok())
      contract.require(call.inputs[0].dims[1].capacity > 0,
                       "the vocabulary is empty");
    return contract.status();
  }

  int64_t workspaceBytes(const KernelCall &call, int threads) const override {
    return threads * call.inputs[0].dims[1].capacity *
           static_cast<int64_t>(sizeof(Choice));
  }

  std::unique_ptr<Launch> prepare(const KernelCall &call,
                                  ThreadPool &threads) const override {
    SampleRows rows(call);
    auto *choices = reinterpret_cast<Choice *>(call.workspace);
    return makeLaunch([rows, choices, &threads] {
      int64_t total = rows.logits.dims[0].valid;
      int64_t each = rows.logits.dims[1].capacity;
      int64_t pieces = pieceCount(threads, total, 1);
      threads.run(pieces, [&](int64_t piece) {
        int64_t end = total * (piece + 1) / pieces;
        for (int64_t row = total * piece / pieces; row < end; ++row)
          rows.runRow(row, choices + piece * each);
      });
      return Status();
    });
  }
};

} // namespace

const Kernel &sampleKernel() {
  static const SampleKernel kernel;
  return kernel;
}

} // namespace tandem

#include "runtime/session/Bench.h"

#include "runtime/kernels/Peaks.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>

namespace tandem {
namespace {

double globalBytes(const TensorType &type) {
  double bytes = static_cast<double>(blockBytes(type.dtype)) /
                 static_cast<double>(blockElements(type.dtype));
  for (int64_t size : type.shape)
    bytes *= static_cast<double>(size);
  return bytes;
}

/// Adds up the work of one entry's launches.
class WorkCounter {
public:
  WorkCounter(const Plan &plan, uint32_t entry, int64_t position)
      : plan(plan), entry(*plan.table().entries()->Get(entry)),
        position(position) {}

  Work count() {
    for (const fb::Program *each : *entry.programs())
      for (const fb::Instruction *it : *each->instructions())
        if (it->op() == fb::Opcode::Launch)
          countLaunch(*each, *it);
    for (const auto &[parameter, bytes] : parameterBytes)
      work.bytes += bytes;
    return work;
  }

private:
  const TensorType &typeOf(const fb::Program &program,
                           const fb::Instruction &it, uint32_t argument) const {
    return plan.type(plan.argument(program, it, argument).type());
  }

  void countLaunch(const fb::Program &program, const fb::Instruction &it) {
    std::string_view kernel = plan.kernel(it.target());
    for (uint32_t a = 0; a < it.inputs(); ++a)
      countParameter(program, it, a, kernel);
    if (kernel == "einsum") {
      double product = 2;
      for (const Factor &factor : plan.rule(it.rule()).factors)
        product *= static_cast<double>(factor.size);
      work.flops += product;
    }
    if (kernel == "attention" && it.inputs() >= 3)
      countAttention(program, it);
  }

  /// A table that is only looked up in costs the rows that are looked up.
  void countParameter(const fb::Program &program, const fb::Instruction &it,
                      uint32_t argument, std::string_view kernel) {
    const fb::Value &value = plan.argument(program, it, argument);
    if (value.region() != fb::Region::Parameter)
      return;
    double bytes = globalBytes(plan.type(value.type()));
    if (kernel == "embedding" && argument == 0) {
      const TensorType &table = plan.type(value.type());
      double rows = 1;
      for (int64_t size : typeOf(program, it, 1).shape)
        rows *= static_cast<double>(size);
      bytes *= std::min(1.0, rows / static_cast<double>(table.shape[0]));
    }
    double &known = parameterBytes[value.index()];
    known = std::max(known, bytes);
  }

  /// q [b, s, k, g, d], key [b, t, k, d], value [b, t, k, e].
  void countAttention(const fb::Program &program, const fb::Instruction &it) {
    const TensorType &query = typeOf(program, it, 0);
    const TensorType &key = typeOf(program, it, 1);
    const TensorType &value = typeOf(program, it, 2);
    if (query.shape.size() != 5 || key.shape.size() != 4 ||
        value.shape.size() != 4 || it.numbers_count() < 3)
      return;
    auto numberAt = [&](uint32_t i) {
      return plan.table().numbers()->Get(it.first_number() + i);
    };
    bool causal = numberAt(1) != 0;
    int64_t window = numberAt(2), keys = key.shape[1];
    double pairs = 0;
    int64_t widest = 0;
    for (int64_t i = 0; i < query.shape[1]; ++i) {
      int64_t seen = causal ? std::min(keys, position + i + 1) : keys;
      widest = std::max(widest, seen);
      pairs += static_cast<double>(window > 0 ? std::min(seen, window) : seen);
    }
    double heads =
        static_cast<double>(query.shape[0] * query.shape[2] * query.shape[3]);
    double lanes = static_cast<double>(key.shape[3] + value.shape[3]);
    work.flops += 2 * heads * lanes * pairs;
    if (window > 0)
      widest = std::min(widest, window + query.shape[1] - 1);
    work.bytes += (globalBytes(key) + globalBytes(value)) *
                  static_cast<double>(widest) / static_cast<double>(keys);
  }

  const Plan &plan;
  const fb::Entry &entry;
  int64_t position;
  Work work;
  std::map<uint32_t, double> parameterBytes;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

class Bench {
public:
  Bench(Session &session, Generator generator, const BenchOptions &options)
      : session(session), generator(std::move(generator)), options(options) {}

  Result<BenchResult> run() {
    int64_t room = generator.maxSequence() - options.decodeTokens;
    for (int64_t chunk : generator.chunks())
      if (chunk <= options.prefillTokens && chunk <= room)
        result.prefillTokens = chunk;
    measurePeaks();
    TANDEM_TRY(measurePrefill());
    TANDEM_TRY(measureDecode());
    measurePeaks();
    result.readGbPerSecond = median(bandwidths);
    result.sgemmGflopPerSecond = median(peaks);
    compare();
    return result;
  }

private:
  void announce(const char *phase) const {
    if (options.progress)
      options.progress(phase);
  }

  void measurePeaks() {
    announce("machine peaks");
    ThreadPool pool(session.threads() *
                    static_cast<int>(session.plan().numRanks()));
    for (int i = 0; i < 3; ++i) {
      bandwidths.push_back(measureReadBandwidth(pool));
      peaks.push_back(measureSgemmPeak(pool));
    }
  }

  std::vector<std::vector<int64_t>> prompts() const {
    int64_t vocabulary = session.plan().numberFact("vocab_size").value_or(2);
    std::vector<int64_t> prompt;
    for (int64_t i = 0; i < result.prefillTokens; ++i)
      prompt.push_back((7 * i + 1) % vocabulary);
    return std::vector<std::vector<int64_t>>(
        static_cast<size_t>(generator.batch()), prompt);
  }

  Status measurePrefill() {
    if (result.prefillTokens == 0)
      return Status();
    announce("prefill");
    TANDEM_TRY(generator.prefill(prompts())); // Touches everything once.
    for (int i = 0; i < options.repeats; ++i) {
      auto start = std::chrono::steady_clock::now();
      TANDEM_TRY(generator.prefill(prompts()));
      prefillSeconds.push_back(secondsSince(start));
    }
    return Status();
  }

  Status measureDecode() {
    announce("decode");
    size_t rows = static_cast<size_t>(generator.batch());
    std::vector<int64_t> ids(rows, 1), positions(rows), next;
    for (int i = 0; i <= options.repeats; ++i) {
      positions.assign(rows, result.prefillTokens);
      auto start = std::chrono::steady_clock::now();
      int64_t steps = std::max<int64_t>(
          1, std::min(options.decodeTokens,
                      generator.maxSequence() - result.prefillTokens));
      for (int64_t step = 0; step < steps; ++step) {
        TANDEM_TRY(generator.decode(ids, positions, next));
        ids = next;
        for (int64_t &position : positions)
          ++position;
      }
      if (i > 0) // The first only warms up.
        stepSeconds.push_back(secondsSince(start) / static_cast<double>(steps));
    }
    return Status();
  }

  void compare() {
    double batch = static_cast<double>(generator.batch());
    double step = median(stepSeconds);
    int64_t middle = result.prefillTokens + options.decodeTokens / 2;
    Work decode = workOf(session.plan(), generator.decodeEntry(), middle);
    result.bytesPerToken = decode.bytes / batch;
    result.decodeTokensPerSecond = batch / step;
    result.decodeShare = decode.bytes / step / (result.readGbPerSecond * 1e9);
    if (prefillSeconds.empty())
      return;
    double seconds = median(prefillSeconds);
    result.prefillTokensPerSecond =
        batch * static_cast<double>(result.prefillTokens) / seconds;
    const Plan &plan = session.plan();
    std::string name = "prefill_" + std::to_string(result.prefillTokens);
    for (uint32_t e = 0; e < plan.table().entries()->size(); ++e)
      if (plan.table().entries()->Get(e)->name()->str() == name)
        result.prefillShare = workOf(plan, e, 0).flops / seconds /
                              (result.sgemmGflopPerSecond * 1e9);
  }

  Session &session;
  Generator generator;
  const BenchOptions &options;
  BenchResult result;
  std::vector<double> bandwidths, peaks, prefillSeconds, stepSeconds;
};

} // namespace

Work workOf(const Plan &plan, uint32_t entry, int64_t position) {
  return WorkCounter(plan, entry, position).count();
}

Result<BenchResult> bench(Session &session, const BenchOptions &options) {
  TANDEM_ASSIGN(Generator generator, Generator::create(session));
  return Bench(session, std::move(generator), options).run();
}

} // namespace tandem

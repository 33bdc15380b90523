//===- Generator.h - Text after a prompt, id by id --------------*- C++ -*-===//
//
// Drives the entries of a plan that generates:
//
//   prefill_<C>     input_ids [B, C], positions [B], lengths [B]: fills the
//                   KV cache
//   decode          input_ids [B, 1], positions [B], lengths [B] -> next_ids
//                   [B], the most likely ones
//   decode_sample   the same with temperature, top_k, top_p, seed [B]
//
// A prompt of n ids: n - 1 through prefill, in chunks, the last through
// decode, whose result is the first new id.
//
//   TANDEM_ASSIGN(Generator generator, Generator::create(*session));
//   TANDEM_ASSIGN(auto texts, generator.run({promptIds}, options, onId));
//
// Whether to go on is decided here alone, on rank 0; the other ranks learn of
// it by the next order or its absence.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_GENERATOR_H
#define TANDEM_RUNTIME_SESSION_GENERATOR_H

#include "runtime/session/Session.h"

#include <atomic>

namespace tandem {

struct GenerateOptions {
  int64_t tokens = 128;        ///< New ids at most.
  std::vector<int64_t> endIds; ///< Stop after one of these.
  float temperature = 0;       ///< 0: the most likely id.
  int32_t topK = 0;            ///< 0: all.
  float topP = 1;
  int64_t seed = 0;
  /// Looked at before each step, where given.
  const std::atomic<bool> *cancel = nullptr;
};

enum class StopReason { End, Length, Cancelled };

/// `eos`, `length`, `cancelled`
const char *name(StopReason reason);

struct Generated {
  std::vector<int64_t> ids; ///< New ones; an end id is the last.
  StopReason stop = StopReason::Length;
};

using OnId = std::function<void(size_t row, int64_t id)>;

class Generator {
public:
  /// Refused where the plan does not generate. `session` leads and outlives
  /// the generator.
  static Result<Generator> create(Session &session);

  int64_t batch() const { return batch_; }
  /// Ids that prompt and new ids may have together, the last new one not
  /// counted.
  int64_t maxSequence() const { return maxSequence_; }

  /// Continues up to batch() prompts, none empty; calls `onId` for each new
  /// id as it comes. Refuses ids outside the vocabulary and more ids than the
  /// plan has room for.
  Result<std::vector<Generated>>
  run(const std::vector<std::vector<int64_t>> &prompts,
      const GenerateOptions &options, const OnId &onId = {});

  /// New ids per second of the last run, prefill not counted; 0 where it made
  /// none.
  double tokensPerSecond() const { return tokensPerSecond_; }

  // The two phases by themselves, for measurements.

  /// Puts all ids of the prompts into the cache, from position 0.
  Status prefill(const std::vector<std::vector<int64_t>> &prompts);
  /// One decode step: `ids` at `positions`, one a row; gives the next ids.
  Status decode(const std::vector<int64_t> &ids,
                const std::vector<int64_t> &positions,
                std::vector<int64_t> &next);
  /// Which entries decode and prefill run; chunks ascend.
  uint32_t decodeEntry() const { return greedy.entry; }
  std::vector<int64_t> chunks() const;

private:
  /// An entry with its tensors and where its ports are.
  struct Stage {
    uint32_t entry = 0;
    int64_t chunk = 1; ///< Ids a row.
    PortTensors inputs, outputs;
    int ids = -1, positions = -1, lengths = -1, next = -1;
  };

  explicit Generator(Session &session) : session(&session) {}
  Result<Stage> bind(const std::string &entry) const;
  Status bindAll();
  Status check(const std::vector<std::vector<int64_t>> &prompts,
               const GenerateOptions &options) const;
  Stage *chooseChunk(int64_t remaining, int64_t reached);
  Status stepRows(Stage &stage, const std::vector<std::vector<int64_t>> &ids,
                  const std::vector<int64_t> &positions);
  Stage &chooseDecode(const GenerateOptions &options);

  Session *session;
  int64_t batch_ = 1;
  int64_t maxSequence_ = 0;
  Stage greedy;
  std::vector<Stage> sampling; ///< Empty or one.
  std::vector<Stage> prefills; ///< By chunk, ascending.
  double tokensPerSecond_ = 0;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_GENERATOR_H

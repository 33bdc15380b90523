#include "runtime/session/Generator.h"

#include "runtime/session/Inputs.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>

namespace tandem {
namespace {

constexpr std::string_view kPrefill = "prefill_";

/// The chunk of `prefill_64`, nothing for other entries.
std::optional<int64_t> chunkOf(std::string_view entry) {
  if (entry.substr(0, kPrefill.size()) != kPrefill)
    return std::nullopt;
  entry.remove_prefix(kPrefill.size());
  int64_t chunk = 0;
  auto [end, error] =
      std::from_chars(entry.data(), entry.data() + entry.size(), chunk);
  if (error != std::errc() || end != entry.data() + entry.size() || chunk < 1)
    return std::nullopt;
  return chunk;
}

template <typename Ports>
int portIndex(const Ports &ports, std::string_view name) {
  for (uint32_t i = 0; i < ports.size(); ++i)
    if (ports.Get(i)->name()->string_view() == name)
      return static_cast<int>(i);
  return -1;
}

/// Sets element `index` of an i32 or i64 tensor.
void setId(HostTensor &tensor, int64_t index, int64_t value) {
  if (tensor.dtype == DType::I64)
    tensor.as<int64_t>()[index] = value;
  else
    tensor.as<int32_t>()[index] = static_cast<int32_t>(value);
}

int64_t getId(const HostTensor &tensor, int64_t index) {
  return tensor.dtype == DType::I64 ? tensor.as<int64_t>()[index]
                                    : tensor.as<int32_t>()[index];
}

bool holdsIds(const HostTensor &tensor) {
  return tensor.dtype == DType::I32 || tensor.dtype == DType::I64;
}

std::string number(int64_t value) { return std::to_string(value); }

} // namespace

const char *name(StopReason reason) {
  switch (reason) {
  case StopReason::End:
    return "eos";
  case StopReason::Length:
    return "length";
  case StopReason::Cancelled:
    return "cancelled";
  }
  return "length";
}

Result<Generator> Generator::create(Session &session) {
  Generator generator(session);
  Status status = generator.bindAll();
  if (!status.ok())
    return status.withContext("the plan does not generate; compile with "
                              "--entry generate");
  return generator;
}

Status Generator::bindAll() {
  const Plan &plan = session->plan();
  TANDEM_ASSIGN(greedy, bind("decode"));
  batch_ = greedy.inputs[static_cast<size_t>(greedy.ids)].shape[0];
  for (const fb::Entry *entry : *plan.table().entries()) {
    std::string name = entry->name()->str();
    std::optional<int64_t> chunk = chunkOf(name);
    if (!chunk && name != "decode_sample")
      continue;
    TANDEM_ASSIGN(Stage stage, bind(name));
    if (stage.inputs[static_cast<size_t>(stage.ids)].shape[0] != batch_)
      return Status::refused("entry '" + name +
                             "' has another batch than "
                             "'decode'");
    (chunk ? prefills : sampling).push_back(std::move(stage));
  }
  std::sort(prefills.begin(), prefills.end(),
            [](const Stage &a, const Stage &b) { return a.chunk < b.chunk; });
  std::optional<int64_t> limit = plan.numberFact("max_seq");
  if (!limit)
    return Status::refused("it has no fact 'max_seq'");
  maxSequence_ = *limit;
  return Status();
}

Result<Generator::Stage> Generator::bind(const std::string &name) const {
  const Plan &plan = session->plan();
  Stage stage;
  TANDEM_ASSIGN(stage.entry, findEntry(plan, name));
  const fb::Entry &entry = *plan.table().entries()->Get(stage.entry);
  stage.inputs = emptyInputs(plan, stage.entry);
  stage.outputs = emptyOutputs(plan, stage.entry);
  stage.ids = portIndex(*entry.inputs(), "input_ids");
  stage.positions = portIndex(*entry.inputs(), "positions");
  stage.lengths = portIndex(*entry.inputs(), "lengths");
  stage.next = portIndex(*entry.outputs(), "next_ids");
  for (int port : {stage.ids, stage.positions})
    if (port < 0 || !holdsIds(stage.inputs[static_cast<size_t>(port)]))
      return Status::refused("entry '" + name +
                             "' needs integer inputs input_ids and positions");
  const std::vector<int64_t> &shape =
      stage.inputs[static_cast<size_t>(stage.ids)].shape;
  if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
    return Status::refused("entry '" + name +
                           "': input_ids is not [batch, chunk]");
  stage.chunk = shape[1];
  for (const char *setting : {"temperature", "top_p"})
    if (int port = portIndex(*entry.inputs(), setting);
        port >= 0 &&
        stage.inputs[static_cast<size_t>(port)].dtype != DType::F32)
      return Status::refused("entry '" + name + "': " + setting +
                             " is not f32");
  bool decodes = !chunkOf(name);
  if (decodes && (stage.next < 0 ||
                  !holdsIds(stage.outputs[static_cast<size_t>(stage.next)])))
    return Status::refused("entry '" + name + "' has no output next_ids");
  return stage;
}

std::vector<int64_t> Generator::chunks() const {
  std::vector<int64_t> sizes;
  for (const Stage &stage : prefills)
    sizes.push_back(stage.chunk);
  return sizes;
}

Status Generator::check(const std::vector<std::vector<int64_t>> &prompts,
                        const GenerateOptions &options) const {
  if (prompts.empty() || static_cast<int64_t>(prompts.size()) > batch_)
    return Status::refused(number(static_cast<int64_t>(prompts.size())) +
                           " prompts, the plan's batch is " + number(batch_));
  std::optional<int64_t> vocabulary = session->plan().numberFact("vocab_size");
  for (const std::vector<int64_t> &prompt : prompts) {
    int64_t n = static_cast<int64_t>(prompt.size());
    if (n == 0)
      return Status::refused("an empty prompt, and no id that begins a text");
    for (int64_t id : prompt)
      if (id < 0 || id > INT32_MAX || (vocabulary && id >= *vocabulary))
        return Status::refused(
            "prompt id " + number(id) + " is outside the vocabulary" +
            (vocabulary ? " of " + number(*vocabulary) : std::string()));
    if (n > maxSequence_)
      return Status::refused(
          "the prompt has " + number(n) + " ids, the plan has room for " +
          number(maxSequence_) + "; compile with a larger --max-seq");
    if (options.tokens > maxSequence_ - n + 1)
      return Status::refused(
          "a prompt of " + number(n) + " ids leaves room for " +
          number(maxSequence_ - n + 1) + " new ones, " +
          number(options.tokens) +
          " are wanted; ask for fewer --tokens or compile with --max-seq " +
          number(n + options.tokens - 1));
  }
  if (options.tokens < 0)
    return Status::usage("--tokens is " + number(options.tokens) +
                         ", it must be 0 or more");
  if (options.temperature > 0 && sampling.empty())
    return Status::refused("the plan has no entry 'decode_sample', which a "
                           "temperature above 0 needs");
  return Status();
}

/// The prefill for `remaining` ids where some row has reached `reached`, null
/// where a single decode does as well. A chunk larger than what remains is
/// padded when that saves more than it computes for nothing, as long as no
/// padded position lies outside of the plan's sequence.
Generator::Stage *Generator::chooseChunk(int64_t remaining, int64_t reached) {
  Stage *fits = nullptr, *covers = nullptr;
  for (Stage &stage : prefills) {
    if (stage.chunk <= remaining)
      fits = &stage;
    else if (!covers && reached + stage.chunk <= maxSequence_)
      covers = &stage;
  }
  if (fits && fits->chunk == remaining)
    return fits;
  if (covers && 2 * remaining >= covers->chunk)
    return covers;
  return fits;
}

/// Feeds `ids[row]` (at most the chunk) at `positions[row]`; rows without ids
/// write nothing.
Status Generator::stepRows(Stage &stage,
                           const std::vector<std::vector<int64_t>> &ids,
                           const std::vector<int64_t> &positions) {
  HostTensor &tokens = stage.inputs[static_cast<size_t>(stage.ids)];
  HostTensor &at = stage.inputs[static_cast<size_t>(stage.positions)];
  for (int64_t row = 0; row < batch_; ++row) {
    size_t r = static_cast<size_t>(row);
    int64_t count = r < ids.size() ? static_cast<int64_t>(ids[r].size()) : 0;
    for (int64_t i = 0; i < stage.chunk; ++i)
      setId(tokens, row * stage.chunk + i,
            i < count ? ids[r][static_cast<size_t>(i)] : 0);
    setId(at, row, count ? positions[r] : 0);
    if (stage.lengths >= 0)
      setId(stage.inputs[static_cast<size_t>(stage.lengths)], row, count);
  }
  return session->step(stage.entry, stage.inputs, stage.outputs);
}

Status Generator::prefill(const std::vector<std::vector<int64_t>> &prompts) {
  std::vector<int64_t> done(prompts.size(), 0);
  for (;;) {
    int64_t remaining = 0, reached = 0;
    for (size_t r = 0; r < prompts.size(); ++r) {
      int64_t left = static_cast<int64_t>(prompts[r].size()) - done[r];
      remaining = std::max(remaining, left);
      reached = std::max(reached, left ? done[r] : 0);
    }
    if (remaining == 0)
      return Status();
    Stage *chosen = chooseChunk(remaining, reached);
    Stage &stage = chosen ? *chosen : greedy;
    std::vector<std::vector<int64_t>> ids(prompts.size());
    std::vector<int64_t> positions = done;
    for (size_t r = 0; r < prompts.size(); ++r) {
      int64_t left = static_cast<int64_t>(prompts[r].size()) - done[r];
      auto begin = prompts[r].begin() + done[r];
      ids[r].assign(begin, begin + std::min(left, stage.chunk));
      done[r] += static_cast<int64_t>(ids[r].size());
    }
    TANDEM_TRY(stepRows(stage, ids, positions));
  }
}

Status Generator::decode(const std::vector<int64_t> &ids,
                         const std::vector<int64_t> &positions,
                         std::vector<int64_t> &next) {
  std::vector<std::vector<int64_t>> rows;
  for (int64_t id : ids)
    rows.push_back({id});
  TANDEM_TRY(stepRows(greedy, rows, positions));
  next.resize(ids.size());
  for (size_t r = 0; r < next.size(); ++r)
    next[r] = getId(greedy.outputs[static_cast<size_t>(greedy.next)],
                    static_cast<int64_t>(r));
  return Status();
}

/// The decoding entry, its settings filled in.
Generator::Stage &Generator::chooseDecode(const GenerateOptions &options) {
  if (options.temperature <= 0)
    return greedy;
  Stage &stage = sampling[0];
  const fb::Entry &entry = *session->plan().table().entries()->Get(stage.entry);
  for (uint32_t i = 0; i < entry.inputs()->size(); ++i) {
    std::string_view port = entry.inputs()->Get(i)->name()->string_view();
    HostTensor &tensor = stage.inputs[i];
    for (int64_t row = 0; row < tensor.elements(); ++row) {
      if (port == "temperature")
        tensor.as<float>()[row] = options.temperature;
      else if (port == "top_p")
        tensor.as<float>()[row] = options.topP;
      else if (port == "top_k" && holdsIds(tensor))
        setId(tensor, row, options.topK);
      else if (port == "seed" && holdsIds(tensor))
        setId(tensor, row, options.seed);
    }
  }
  return stage;
}

namespace {

/// The prompts without their last ids, which decode takes.
std::vector<std::vector<int64_t>>
allButLast(std::vector<std::vector<int64_t>> prompts) {
  for (std::vector<int64_t> &prompt : prompts)
    prompt.pop_back();
  return prompts;
}

bool contains(const std::vector<int64_t> &ids, int64_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

} // namespace

Result<std::vector<Generated>>
Generator::run(const std::vector<std::vector<int64_t>> &prompts,
               const GenerateOptions &options, const OnId &onId) {
  TANDEM_TRY(check(prompts, options));
  tokensPerSecond_ = 0;
  std::vector<Generated> texts(prompts.size());
  if (options.tokens == 0)
    return texts;
  TANDEM_TRY(prefill(allButLast(prompts)));
  Stage &stage = chooseDecode(options);
  const HostTensor &next = stage.outputs[static_cast<size_t>(stage.next)];
  // What each row feeds next; a row without is done.
  std::vector<std::vector<int64_t>> feed;
  std::vector<int64_t> positions;
  for (const std::vector<int64_t> &prompt : prompts) {
    feed.push_back({prompt.back()});
    positions.push_back(static_cast<int64_t>(prompt.size()) - 1);
  }
  auto start = std::chrono::steady_clock::now();
  size_t active = prompts.size(), made = 0;
  while (active > 0) {
    if (options.cancel && options.cancel->load()) {
      for (size_t r = 0; r < texts.size(); ++r)
        if (!feed[r].empty())
          texts[r].stop = StopReason::Cancelled;
      break;
    }
    TANDEM_TRY(stepRows(stage, feed, positions));
    for (size_t r = 0; r < texts.size(); ++r) {
      if (feed[r].empty())
        continue;
      int64_t id = getId(next, static_cast<int64_t>(r));
      texts[r].ids.push_back(id);
      ++made;
      ++positions[r];
      feed[r][0] = id;
      if (onId)
        onId(r, id);
      bool ends = contains(options.endIds, id);
      if (!ends && static_cast<int64_t>(texts[r].ids.size()) < options.tokens)
        continue;
      texts[r].stop = ends ? StopReason::End : StopReason::Length;
      feed[r].clear();
      --active;
    }
  }
  std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (made > 0)
    tokensPerSecond_ = static_cast<double>(made) / time.count();
  return texts;
}

} // namespace tandem

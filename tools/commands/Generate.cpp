#include "runtime/base/Log.h"
#include "runtime/session/Generator.h"
#include "tools/commands/Ids.h"
#include "tools/commands/Interrupt.h"
#include "tools/commands/PlanTokenizer.h"
#include "tools/commands/World.h"

#include <iostream>
#include <nlohmann/json.hpp>

namespace tandem {
namespace {

struct Options {
  PlanRequest request;
  WorldOptions world;
  GenerateOptions generate;
  std::string prompt, promptFile;
  std::optional<std::string> promptIds;
  bool ignoreEos = false, json = false;
};

std::vector<int64_t> wide(const std::vector<int32_t> &ids) {
  return {ids.begin(), ids.end()};
}

std::optional<int64_t> beginIdOf(const Plan &plan, const Tokenizer *tokenizer) {
  if (tokenizer && tokenizer->settings().bosId)
    return *tokenizer->settings().bosId;
  return plan.numberFact("bos_id");
}

Result<std::vector<int32_t>> parsePromptIds(const std::string &text) {
  TANDEM_ASSIGN(std::vector<int32_t> ids, parseIds(text));
  if (ids.empty())
    return Status::usage("--prompt-ids '" + text +
                         "' holds no id; expected at least one, such as 1,2,3");
  return ids;
}

Result<std::vector<int64_t>> promptIds(const Options &options, const Plan &plan,
                                       const Tokenizer *tokenizer) {
  if (options.promptIds) {
    TANDEM_ASSIGN(std::vector<int32_t> ids, parsePromptIds(*options.promptIds));
    return wide(ids);
  }
  if (!tokenizer)
    return Status::refused("the model has no tokenizer; give the prompt as "
                           "--prompt-ids 1,2,3");
  std::string text = options.prompt;
  if (!options.promptFile.empty()) {
    TANDEM_ASSIGN(text, readText(options.promptFile));
  }
  EncodeOptions encode;
  encode.addSpecial = true;
  TANDEM_ASSIGN(std::vector<int32_t> ids, tokenizer->encode(text, encode));
  if (ids.empty()) {
    std::optional<int64_t> begin = beginIdOf(plan, tokenizer);
    if (!begin)
      return Status::refused("the prompt is empty and the model names no id "
                             "that begins a text; give a prompt");
    return std::vector<int64_t>{*begin};
  }
  return wide(ids);
}

/// The ids that end a text: a fact of the plan, a comma-separated list.
Result<std::vector<int64_t>> endIdsOf(const Plan &plan) {
  std::optional<std::string> text = plan.fact("eos_ids");
  if (!text || text->empty())
    return std::vector<int64_t>{};
  TANDEM_ASSIGN(std::vector<int32_t> ids, parseIds(*text));
  return wide(ids);
}

void printJson(const Generated &result, const std::vector<int64_t> &prompt,
               const Tokenizer *tokenizer, const std::string &text,
               double tokensPerSecond) {
  nlohmann::json line;
  line["ids"] = result.ids;
  line["text"] = tokenizer ? nlohmann::json(text) : nlohmann::json();
  line["prompt_ids"] = prompt;
  line["stop"] = name(result.stop);
  line["tokens_per_s"] = tokensPerSecond;
  std::cout << line.dump(-1, ' ', false,
                         nlohmann::json::error_handler_t::replace)
            << std::endl;
}

Status generate(const Options &options, Session &session) {
  const Plan &plan = session.plan();
  std::shared_ptr<const Tokenizer> tokenizer =
      findTokenizer(plan, options.world.weights);
  if (tokenizer && tokenizer->settings().hasChatTemplate)
    logInfo("the model has a chat template; it is not applied");
  TANDEM_ASSIGN(std::vector<int64_t> prompt,
                promptIds(options, plan, tokenizer.get()));
  GenerateOptions settings = options.generate;
  settings.cancel = &handleInterrupts();
  TANDEM_ASSIGN(std::vector<int64_t> ends, endIdsOf(plan));
  if (!options.ignoreEos)
    settings.endIds = ends;
  TANDEM_ASSIGN(Generator generator, Generator::create(session));
  std::optional<StreamDecoder> decoder;
  if (tokenizer) {
    // The space that begins the first word belongs to the text unless it
    // begins the whole text.
    DecodeOptions decode;
    decode.continues =
        std::any_of(prompt.begin(), prompt.end(), [&](int64_t id) {
          return !tokenizer->isSpecial(static_cast<int32_t>(id));
        });
    decoder.emplace(*tokenizer, decode);
  }
  std::string text;
  auto onId = [&](size_t, int64_t id) {
    bool ends = std::find(settings.endIds.begin(), settings.endIds.end(), id) !=
                settings.endIds.end();
    if (ends || !decoder)
      return;
    std::string piece = decoder->push(static_cast<int32_t>(id));
    text += piece;
    if (!options.json)
      std::cout << piece << std::flush;
  };
  TANDEM_ASSIGN(std::vector<Generated> results,
                generator.run({prompt}, settings, onId));
  if (decoder) {
    std::string rest = decoder->finish();
    text += rest;
    if (!options.json)
      std::cout << rest << std::endl;
  } else if (!options.json) {
    std::cout << printIds(results[0].ids) << std::endl;
  }
  if (results[0].stop == StopReason::Cancelled)
    return Status::interrupted("interrupted after " +
                               std::to_string(results[0].ids.size()) +
                               " tokens");
  if (options.json)
    printJson(results[0], prompt, tokenizer.get(), text,
              generator.tokensPerSecond());
  return Status();
}

/// Room for the prompt and the new tokens, when a model is compiled for it.
Status chooseMaxSeq(Options &options) {
  if (PlanMaker::isPlan(options.request.path))
    return options.request.maxSeq == 0
               ? Status()
               : Status::usage("--max-seq is for models; the plan '" +
                               options.request.path + "' has its own");
  if (options.request.maxSeq > 0)
    return Status();
  int64_t prompt = 1;
  if (options.promptIds) {
    TANDEM_ASSIGN(std::vector<int32_t> ids, parsePromptIds(*options.promptIds));
    prompt = static_cast<int64_t>(ids.size());
  } else {
    // Standard input can be read once only.
    if (!options.promptFile.empty()) {
      TANDEM_ASSIGN(options.prompt, readText(options.promptFile));
      options.promptFile.clear();
    }
    Result<std::shared_ptr<const Tokenizer>> tokenizer =
        openTokenizer(options.request.path);
    if (!tokenizer.ok())
      return Status();
    EncodeOptions encode;
    encode.addSpecial = true;
    TANDEM_ASSIGN(std::vector<int32_t> ids,
                  (*tokenizer)->encode(options.prompt, encode));
    prompt = std::max<int64_t>(1, static_cast<int64_t>(ids.size()));
  }
  options.request.maxSeq = prompt + options.generate.tokens;
  return Status();
}

} // namespace

void addGenerate(Program &program) {
  CLI::App *command = program.command(
      "generate", "Continue a prompt",
      "tandem generate SmolLM2.gguf --mesh pp=2,tp=2 --prompt 'The capital of "
      "France is' --tokens 32");
  auto options = std::make_shared<Options>();
  command->add_option("PLAN|MODEL", options->request.path, "A plan or a model")
      ->required();
  command->add_option("--mesh", options->request.mesh,
                      "For a model: the mesh, such as pp=2,tp=2");
  command
      ->add_option("--dtype", options->request.dtype,
                   "For a model: stored type of weights at run time")
      ->check(CLI::IsMember({"f32", "bf16", "f16"}));
  command
      ->add_option("--max-seq", options->request.maxSeq,
                   "For a model: room for prompt and new tokens (default: "
                   "what they need)")
      ->check(atLeast(1));
  auto *prompt = command->add_option("--prompt", options->prompt, "The prompt");
  auto *file = command->add_option("--prompt-file", options->promptFile,
                                   "Read the prompt from a file, - for stdin");
  auto *ids = command->add_option("--prompt-ids", options->promptIds,
                                  "The prompt as ids, such as 1,2,3");
  prompt->excludes(file)->excludes(ids);
  file->excludes(ids);
  command
      ->add_option("--tokens", options->generate.tokens,
                   "New tokens at most (default 128)")
      ->check(atLeast(0));
  command->add_flag("--ignore-eos", options->ignoreEos,
                    "Go on after an id that ends the text");
  command
      ->add_option("--temperature", options->generate.temperature,
                   "0 takes the most likely id (default)")
      ->check(atLeast(0));
  command
      ->add_option("--top-k", options->generate.topK,
                   "Draw among the K most likely; 0: all")
      ->check(atLeast(0));
  command
      ->add_option("--top-p", options->generate.topP,
                   "Draw among the most likely of mass P")
      ->check(atLeast(0, 1));
  command->add_option("--seed", options->generate.seed, "Of the draws")
      ->check(atLeast(0, 0x1p63));
  command->add_flag("--json", options->json, "Print one JSON line");
  options->world.addTo(command);
  program.onRun(command, [&program, options]() -> Status {
    TANDEM_TRY(chooseMaxSeq(*options));
    return runInWorld(
        program, options->request, options->world,
        [&](Session &session) { return generate(*options, session); });
  });
}

} // namespace tandem

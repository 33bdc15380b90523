#include "runtime/base/LastWords.h"
#include "runtime/base/Log.h"
#include "runtime/files/NewFile.h"
#include "runtime/kernels/Peaks.h"
#include "runtime/session/TraceFile.h"
#include "runtime/session/TrainingLoop.h"
#include "tools/commands/Interrupt.h"
#include "tools/commands/PlanTokenizer.h"
#include "tools/commands/TrainProgress.h"
#include "tools/commands/World.h"

#include <filesystem>
#include <iostream>

namespace tandem {
namespace {

struct Options {
  PlanRequest request;
  WorldOptions world;
  TrainingOptions training;
  std::string data, dataType, evalData, schedule = "constant", log;
  std::string checkpoints, trace;
  int64_t keep = 2;
  bool resume = false;
  std::optional<uint64_t> seed;
  std::optional<uint64_t> init;
  /// Options of one optimizer alone, and the entry's input that takes them.
  std::vector<std::pair<CLI::Option *, const char *>> ofOptimizer;
};

/// The last ones of each stream that a trace holds: some steps of a large
/// model.
constexpr size_t kTracedInstructions = 100000;

/// One run, on the rank that leads.
class Training {
public:
  Training(const Options &options, Session &session)
      : options(options), session(session), training(options.training) {}

  Status run() {
    TANDEM_TRY(checkOptimizer());
    const std::atomic<bool> &interrupted = handleInterrupts();
    training.cancel = &interrupted;
    if (!options.trace.empty()) // Told before the first step, not the last.
      TANDEM_TRY(NewFile::create(options.trace).status());
    TANDEM_TRY(findPosition());
    TANDEM_TRY(openData());
    std::optional<TrainingLog> log;
    if (!options.log.empty()) {
      TANDEM_ASSIGN(log, TrainingLog::open(options.log, training.from.step));
      training.log = &*log;
    }
    if (!options.trace.empty())
      TANDEM_TRY(beginTrace(session, kTracedInstructions));
    Result<TrainingOutcome> outcome = runLoop();
    TANDEM_TRY(outcome.status());
    if (!options.trace.empty())
      TANDEM_TRY(writeTrace(session, options.trace));
    if (!outcome->cancelled)
      return sayEnd(outcome->position);
    return Status::interrupted("interrupted behind step " +
                               std::to_string(outcome->position.step) +
                               howToResume());
  }

private:
  /// Refuses settings of another optimizer than the plan's.
  Status checkOptimizer() const {
    const Plan &plan = session.plan();
    const fb::Entry *entry = plan.entry("train");
    if (!entry) // Which the loop says.
      return Status();
    const auto &inputs = *entry->inputs();
    for (auto [option, input] : options.ofOptimizer)
      if (option->count() > 0 &&
          std::none_of(inputs.begin(), inputs.end(),
                       [name = input](const fb::Port *port) {
                         return port->name()->str() == name;
                       }))
        return Status::usage(option->get_name() + " sets the '" + input +
                             "' of an optimizer that has one, which the "
                             "plan's does not; see --optimizer");
    return Status();
  }

  /// Where the run begins: at a checkpoint, or at nothing.
  Status findPosition() {
    training.from.seed = options.seed.value_or(0);
    if (options.checkpoints.empty())
      return Status();
    CheckpointOptions folder;
    folder.folder = options.checkpoints;
    folder.resume = options.resume;
    folder.keep = options.keep;
    folder.deadlineSeconds = options.world.deadlineSeconds;
    folder.onComplete = nameLast;
    TANDEM_ASSIGN(checkpoints, Checkpoints::open(session, folder));
    training.checkpoints = checkpoints.get();
    if (!options.resume)
      return Status();
    TANDEM_ASSIGN(CheckpointNote note, checkpoints->load());
    TANDEM_ASSIGN(training.from, positionOf(note));
    nameLast(checkpoints->last());
    if (options.seed && *options.seed != training.from.seed)
      logWarning("--seed " + std::to_string(*options.seed) +
                 " is not taken: the run goes on in the order that its "
                 "checkpoint was in, of seed " +
                 std::to_string(training.from.seed));
    logInfo("resuming behind step " + std::to_string(training.from.step) +
            " from '" + checkpoints->last() + "'");
    return Status();
  }

  Result<std::unique_ptr<TrainingData>> open(const std::string &path,
                                             const StepShape &shape) const {
    const Plan &plan = session.plan();
    DataRequest request;
    request.path = path;
    request.rows = shape.rows;
    request.sequence = shape.sequence;
    request.labelsBehind = shape.labelsBehind;
    request.seed = training.from.seed;
    request.stream.vocabulary = plan.numberFact("vocab_size").value_or(0);
    if (!options.dataType.empty())
      request.stream.type = parseDataType(options.dataType);
    if (mayHoldText(path))
      request.stream.tokenizer = findTokenizer(plan, options.world.weights);
    return openTrainingData(request);
  }

  bool mayHoldText(const std::string &path) const {
    std::string ending = std::filesystem::path(path).extension();
    return options.dataType.empty()
               ? ending != ".bin" && ending != ".safetensors"
               : options.dataType == "text";
  }

  Status openData() {
    TANDEM_ASSIGN(StepShape shape, stepShapeOf(session.plan()));
    training.rows = shape.rows;
    if (int64_t before = training.from.sequence;
        before != 0 && before != shape.sequence)
      logWarning("the checkpoint's windows were of " + std::to_string(before) +
                 " + 1 tokens, now they are of " +
                 std::to_string(shape.sequence) +
                 " + 1: the run goes on at window " +
                 std::to_string(training.from.window) + " of another order");
    TANDEM_ASSIGN(data, open(options.data, shape));
    logInfo("data: " + data->summary());
    if (options.evalData.empty()) {
      training.evalData = data.get();
      return Status();
    }
    TANDEM_ASSIGN(evalData, open(options.evalData, shape));
    training.evalData = evalData.get();
    return Status();
  }

  Result<TrainingOutcome> runLoop() {
    TrainProgress progress(training.steps);
    training.onStep = [&](const StepReport &report) { progress.show(report); };
    if (progress.isShown() || training.log)
      training.peakFlops = measurePeak();
    return TrainingLoop(session, *data, training).run();
  }

  /// What the machines of all ranks reach in a product, as each of them is
  /// taken to be like this one.
  double measurePeak() const {
    auto here = static_cast<int>(session.ranksHere());
    ThreadPool pool(session.threads() * here);
    return measureSgemmPeak(pool) * 1e9 *
           static_cast<double>(session.plan().numRanks()) / here;
  }

  Status sayEnd(const TrainingPosition &position) const {
    std::string text = "trained " + std::to_string(position.step) + " steps";
    if (checkpoints && !checkpoints->last().empty())
      text += "; the model is in '" + checkpoints->last() + "'";
    logInfo(text);
    return Status();
  }

  /// For when the launcher or a fault leaves no time for more.
  static void nameLast(const std::string &checkpoint) {
    setLastWords("the last complete checkpoint is '" + checkpoint +
                 "', the same command with --resume goes on from it. With "
                 "SIGUSR1 to mpirun, or OMPI_MCA_odls_base_sigkill_timeout=60 "
                 "in its environment, a run that is told to end writes one "
                 "first");
  }

  std::string howToResume() const {
    if (!checkpoints)
      return "; without --checkpoint-dir nothing was kept";
    return "; the checkpoint is '" + checkpoints->last() +
           "', the same command with --resume goes on from it";
  }

  const Options &options;
  Session &session;
  TrainingOptions training;
  std::unique_ptr<Checkpoints> checkpoints;
  std::unique_ptr<TrainingData> data, evalData;
};

Status checkFlags(Options &options) {
  if (options.resume && options.checkpoints.empty())
    return Status::usage("--resume needs the --checkpoint-dir to resume from");
  if (options.training.checkpointEvery > 0 && options.checkpoints.empty())
    return Status::usage("--checkpoint-every needs a --checkpoint-dir");
  if (!options.evalData.empty() && options.training.evalEvery == 0)
    return Status::usage("--eval-data needs --eval-every, how often it is "
                         "measured");
  if (options.training.beta1 >= 1 || options.training.beta2 >= 1)
    return Status::usage("--beta1 and --beta2: expected numbers from 0 to "
                         "below 1");
  if (options.resume && options.init)
    return Status::usage("--init begins a new model, --resume goes on with "
                         "one; give one of them");
  options.training.rate.schedule = *parseRateSchedule(options.schedule);
  options.training.rate.steps = options.training.steps;
  options.request.training = true;
  options.request.weights = options.world.weights;
  options.request.evaluation = options.training.evalEvery > 0;
  options.world.endsBehindStep = true;
  options.world.init = options.init;
  options.world.loadWeights = !options.resume;
  return Status();
}

void addDataFlags(CLI::App *command, Options &options) {
  command
      ->add_option("--data", options.data,
                   "A .txt or .bin file, a folder of them, or a .safetensors "
                   "file with one batch")
      ->required();
  command
      ->add_option("--data-type", options.dataType,
                   "What the files hold (default: by their ending, .bin "
                   "uint16 where the vocabulary fits)")
      ->check(CLI::IsMember({"text", "uint16", "uint32"}));
  command->add_option("--seed", options.seed, "Of the data's order (default 0)")
      ->check(atLeast(0, 0x1p63));
  command->add_option("--eval-data", options.evalData,
                      "What --eval-every measures (default: the data itself)");
  command
      ->add_option("--eval-every", options.training.evalEvery,
                   "Measure the loss without learning every N steps")
      ->check(atLeast(1));
  command
      ->add_option("--eval-batches", options.training.evalBatches,
                   "How many batches that takes (default 8)")
      ->check(atLeast(1));
}

void addOptimizerFlags(CLI::App *command, Options &options) {
  TrainingOptions &training = options.training;
  command->add_option("--steps", training.steps, "Steps of the whole run")
      ->required()
      ->check(atLeast(1, 0x1p62));
  command
      ->add_option("--lr", training.rate.peak,
                   "The largest learning rate (default 3e-4)")
      ->check(atLeast(0));
  command
      ->add_option("--lr-schedule", options.schedule,
                   "constant (default), linear or cosine, to 0 at the end")
      ->check(CLI::IsMember({"constant", "linear", "cosine"}));
  command
      ->add_option("--warmup", training.rate.warmup,
                   "Steps in which the rate grows to its largest (default 0)")
      ->check(atLeast(0, 0x1p62));
  command
      ->add_option("--weight-decay", training.weightDecay,
                   "Of tensors of two or more dimensions (default 0.1)")
      ->check(atLeast(0));
  command
      ->add_option("--clip", training.clipNorm,
                   "Largest norm of all gradients together; 0: none "
                   "(default 1)")
      ->check(atLeast(0));
  auto add = [&](const char *flag, double &value, const char *help,
                 const CLI::Validator &range, const char *input) {
    CLI::Option *option = command->add_option(flag, value, help)->check(range);
    options.ofOptimizer.push_back({option, input});
  };
  add("--beta1", training.beta1, "Of AdamW (default 0.9)", atLeast(0, 1),
      "beta1");
  add("--beta2", training.beta2, "Of AdamW (default 0.95)", atLeast(0, 1),
      "beta2");
  add("--eps", training.epsilon, "Of AdamW (default 1e-8)", atLeast(0),
      "epsilon");
  add("--momentum", training.momentum, "Of SGD (default 0.9)", atLeast(0, 1),
      "momentum");
}

void addRecordFlags(CLI::App *command, Options &options) {
  command->add_option("--log", options.log,
                      "Write a JSON object a step to this file");
  command->add_option("--trace", options.trace,
                      "Write the last instructions of all ranks as a timeline "
                      "(Chrome's format, for Perfetto)");
  command->add_option("--checkpoint-dir", options.checkpoints,
                      "Where checkpoints go; one is written at the end too");
  command
      ->add_option("--checkpoint-every", options.training.checkpointEvery,
                   "Write one every N steps")
      ->check(atLeast(1));
  command
      ->add_option("--keep", options.keep, "Checkpoints that stay (default 2)")
      ->check(atLeast(1));
  command->add_flag("--resume", options.resume,
                    "Go on from the newest checkpoint of --checkpoint-dir");
  command
      ->add_option("--init", options.init,
                   "Begin with a new model's weights, drawn with this seed")
      ->check(atLeast(0, 0x1p63));
}

} // namespace

void addTrain(Program &program) {
  CLI::App *command = program.command(
      "train", "Train a model on text, tokens or one batch",
      "tandem train gpt2/ --init 1 --data corpus.txt --batch 16 --seq 256 "
      "--steps 1000 --lr 3e-4 --warmup 100 --mesh dp=2,tp=2 "
      "--checkpoint-dir out --log out.jsonl");
  auto options = std::make_shared<Options>();
  command->add_option("MODEL|PLAN", options->request.path, "A plan or a model")
      ->required();
  program.plans->addTrainingFlags(command);
  addDataFlags(command, *options);
  addOptimizerFlags(command, *options);
  addRecordFlags(command, *options);
  options->world.addTo(command);
  program.onRun(command, [&program, options]() -> Status {
    TANDEM_TRY(checkFlags(*options));
    return runInWorld(
        program, options->request, options->world,
        [&](Session &session) { return Training(*options, session).run(); });
  });
}

} // namespace tandem

#include "runtime/session/TrainingLoop.h"

#include "runtime/base/Log.h"
#include "runtime/files/TensorStore.h"
#include "runtime/session/Inputs.h"

#include <chrono>
#include <cmath>

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char *kTrainEntry = "train";
constexpr const char *kLossEntry = "loss";

HostTensor scalar(double value) {
  HostTensor tensor(DType::F32, {});
  *tensor.as<float>() = static_cast<float>(value);
  return tensor;
}

HostTensor scalar(int64_t value) {
  HostTensor tensor(DType::I32, {});
  *tensor.as<int32_t>() = static_cast<int32_t>(value);
  return tensor;
}

template <typename Ports>
std::optional<uint32_t> portNumber(const Ports &ports, std::string_view name) {
  for (uint32_t i = 0; i < ports.size(); ++i)
    if (ports.Get(i)->name()->string_view() == name)
      return i;
  return std::nullopt;
}

/// The number that output `name` of `entry` holds.
Result<double> outputNumber(const fb::Entry &entry, const PortTensors &outputs,
                            std::string_view name) {
  std::optional<uint32_t> port = portNumber(*entry.outputs(), name);
  if (!port || outputs[*port].elements() != 1)
    return Status::refused("entry '" + entry.name()->str() +
                           "' has no output '" + std::string(name) +
                           "' of one number");
  TANDEM_ASSIGN(HostTensor wide, convertExactly(outputs[*port], DType::F64));
  return *wide.as<double>();
}

Status doesNotTrain(const std::string &why) {
  return Status::refused(why +
                         ": the plan does not train; compile with --entry "
                         "train");
}

} // namespace

CheckpointNote noteOf(const TrainingPosition &position) {
  CheckpointNote note;
  note.step = position.step;
  note.training = {{"window", static_cast<uint64_t>(position.window)},
                   {"seed", position.seed},
                   {"sequence", static_cast<uint64_t>(position.sequence)}};
  return note;
}

Result<TrainingPosition> positionOf(const CheckpointNote &note) {
  TrainingPosition position;
  position.step = note.step;
  auto window = note.training.find("window"), seed = note.training.find("seed");
  if (window == note.training.end() || !window->is_number_unsigned() ||
      seed == note.training.end() || !seed->is_number_unsigned())
    return Status::refused("the checkpoint of step " +
                           std::to_string(note.step) +
                           " does not say where in the data it was; expected "
                           "the numbers 'window' and 'seed' in its manifest");
  position.window = window->get<int64_t>();
  position.seed = seed->get<uint64_t>();
  auto sequence = note.training.find("sequence");
  if (sequence != note.training.end() && sequence->is_number_unsigned())
    position.sequence = sequence->get<int64_t>();
  return position;
}

Result<StepShape> stepShapeOf(const Plan &plan) {
  const fb::Entry *entry = plan.entry(kTrainEntry);
  if (!entry)
    return doesNotTrain("it has no entry 'train'");
  std::optional<uint32_t> ids = portNumber(*entry->inputs(), "input_ids");
  std::optional<uint32_t> labels = portNumber(*entry->inputs(), "labels");
  if (!ids || !labels)
    return doesNotTrain("its entry 'train' does not take input_ids and labels");
  auto shapeOf = [&](uint32_t port) -> const std::vector<int64_t> & {
    return plan.type(entry->inputs()->Get(port)->type()).shape;
  };
  const std::vector<int64_t> &shape = shapeOf(*ids);
  if (shape.size() != 2 && shape.size() != 3)
    return doesNotTrain("its input_ids are " + shapeToString(shape));
  StepShape result;
  result.sequence = shape.back();
  int64_t rows = shape.size() == 3 ? shape[0] * shape[1] : shape[0];
  result.rows = std::min(rows, plan.numberFact("batch").value_or(rows));
  result.labelsBehind = shapeOf(*labels).back() == shape.back() + 1;
  return result;
}

TrainingLoop::TrainingLoop(Session &session, const TrainingData &data,
                           TrainingOptions options)
    : session(session), data(data), options(std::move(options)),
      position(this->options.from) {}

Status TrainingLoop::bind() {
  const Plan &plan = session.plan();
  TANDEM_ASSIGN(StepShape shape, stepShapeOf(plan));
  position.sequence = shape.sequence;
  TANDEM_ASSIGN(entry, findEntry(plan, kTrainEntry));
  outputs = emptyOutputs(plan, entry);
  if (options.evalEvery == 0)
    return Status();
  if (!plan.entry(kLossEntry))
    return Status::refused("--eval-every needs an entry 'loss' beside 'train', "
                           "the plan has none; compile with --evaluation");
  TANDEM_ASSIGN(evalEntry, findEntry(plan, kLossEntry));
  evalOutputs = emptyOutputs(plan, evalEntry);
  return Status();
}

/// The optimizer's settings that the entry takes, of the next step.
HostTensors TrainingLoop::settings() const {
  HostTensors all = {{"learning_rate", scalar(options.rate.at(position.step))},
                     {"beta1", scalar(options.beta1)},
                     {"beta2", scalar(options.beta2)},
                     {"epsilon", scalar(options.epsilon)},
                     {"momentum", scalar(options.momentum)},
                     {"weight_decay", scalar(options.weightDecay)},
                     {"clip_norm", scalar(options.clipNorm)},
                     {"step", scalar(position.step + 1)}};
  HostTensors taken;
  for (const fb::Port *port :
       *session.plan().table().entries()->Get(entry)->inputs())
    if (auto found = all.find(port->name()->str()); found != all.end())
      taken.insert(*found);
  return taken;
}

Result<StepReport> TrainingLoop::step() {
  const Plan &plan = session.plan();
  Clock::time_point start = Clock::now();
  TANDEM_ASSIGN(HostTensors inputs, data.rowsFrom(position.window));
  auto tokens = static_cast<double>(inputs.at("input_ids").elements());
  inputs.merge(settings());
  TANDEM_ASSIGN(BoundInputs bound, bindInputs(plan, entry, inputs));
  TANDEM_TRY(session.step(entry, bound.tensors, outputs));
  StepReport report;
  const fb::Entry &table = *plan.table().entries()->Get(entry);
  TANDEM_ASSIGN(report.loss, outputNumber(table, outputs, "loss"));
  TANDEM_ASSIGN(report.gradNorm, outputNumber(table, outputs, "grad_norm"));
  report.rate = options.rate.at(position.step);
  report.window = position.window;
  report.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  report.tokensPerSecond = tokens / report.seconds;
  if (options.peakFlops > 0)
    report.utilisation = static_cast<double>(table.flops_unsharded()) /
                         report.seconds / options.peakFlops;
  position.step += 1;
  position.window += options.rows;
  report.step = position.step;
  return report;
}

/// The mean loss of the evaluation's first batches, without learning.
Result<double> TrainingLoop::evaluate() {
  const Plan &plan = session.plan();
  int64_t batches = options.evalBatches;
  if (int64_t windows = options.evalData->windows())
    batches = std::min(batches, std::max<int64_t>(1, windows / options.rows));
  double sum = 0;
  for (int64_t i = 0; i < batches; ++i) {
    TANDEM_ASSIGN(HostTensors rows,
                  options.evalData->rowsFrom(i * options.rows));
    TANDEM_ASSIGN(BoundInputs bound, bindInputs(plan, evalEntry, rows));
    TANDEM_TRY(session.step(evalEntry, bound.tensors, evalOutputs));
    TANDEM_ASSIGN(double loss,
                  outputNumber(*plan.table().entries()->Get(evalEntry),
                               evalOutputs, "loss"));
    sum += loss;
  }
  return sum / static_cast<double>(batches);
}

Status TrainingLoop::checkFinite(const StepReport &report) const {
  if (std::isfinite(report.loss) && std::isfinite(report.gradNorm))
    return Status();
  std::string last = options.checkpoints ? options.checkpoints->last() : "";
  return Status::refused(
      "step " + std::to_string(report.step) + ": the loss is " +
      std::to_string(report.loss) + " and the gradients' norm " +
      std::to_string(report.gradNorm) +
      ", which no further step can mend; expected a smaller --lr, or a longer "
      "--warmup" +
      (last.empty() ? "" : "; the last checkpoint is '" + last + "'"));
}

Status TrainingLoop::report(StepReport &report) {
  if (options.evalEvery > 0 && report.step % options.evalEvery == 0) {
    TANDEM_ASSIGN(report.evalLoss, evaluate());
  }
  if (options.log)
    TANDEM_TRY(options.log->add(report));
  if (options.onStep)
    options.onStep(report);
  return Status();
}

/// Begins a checkpoint where one is due and gives the one before its name
/// when it is written; `last` leaves with all done. A disk that fails costs a
/// checkpoint, not the run.
Status TrainingLoop::keep(bool last) {
  if (!options.checkpoints)
    return Status();
  auto survive = [&](const Status &status) {
    if (status.ok() || last || !session.fault().ok())
      return status;
    logWarning(status.toString() + "; the run goes on without this checkpoint");
    return Status();
  };
  bool due = options.checkpointEvery > 0 &&
             position.step % options.checkpointEvery == 0;
  // Else what became of the one before would be said of this one.
  TANDEM_TRY(survive(options.checkpoints->finish(/*wait=*/last || due)));
  bool written = position.step == options.from.step;
  if (!(due || last) || written || begun == position.step)
    return Status();
  begun = position.step;
  TANDEM_TRY(survive(options.checkpoints->begin(noteOf(position))));
  return last ? options.checkpoints->finish(/*wait=*/true) : Status();
}

Result<TrainingOutcome> TrainingLoop::run() {
  TANDEM_TRY(bind());
  TrainingOutcome outcome;
  while (position.step < options.steps && !outcome.cancelled) {
    TANDEM_ASSIGN(StepReport now, step());
    TANDEM_TRY(checkFinite(now));
    TANDEM_TRY(report(now));
    TANDEM_TRY(keep(/*last=*/false));
    outcome.cancelled = options.cancel && options.cancel->load();
  }
  TANDEM_TRY(keep(/*last=*/true));
  outcome.position = position;
  return outcome;
}

} // namespace tandem

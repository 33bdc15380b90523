//===- TrainingLoop.h - Steps of a plan that trains -------------*- C++ -*-===//
//
// Drives the entry `train` of a plan: each step takes the next rows of the
// data and the optimizer's settings of its number, and gives the loss before
// it and the gradients' norm before clipping.
//
//   TrainingLoop loop(*session, *data, options);
//   TANDEM_ASSIGN(TrainingOutcome outcome, loop.run());
//
// Whether to go on is decided here alone, on rank 0: the other ranks learn of
// it by the next order or its absence. A run that is cancelled ends behind its
// step; one that ends in either way leaves a checkpoint.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_TRAININGLOOP_H
#define TANDEM_RUNTIME_SESSION_TRAININGLOOP_H

#include "runtime/session/Checkpoints.h"
#include "runtime/session/LearningRate.h"
#include "runtime/session/TrainingData.h"
#include "runtime/session/TrainingLog.h"

#include <atomic>

namespace tandem {

/// Where a run is: what a checkpoint must know beside tensors.
struct TrainingPosition {
  int64_t step = 0;   ///< Optimizer steps that were done.
  int64_t window = 0; ///< The next window of the endless sequence.
  uint64_t seed = 0;  ///< Of the data's order.
  /// Of the windows that are counted; 0: not known, or one batch.
  int64_t sequence = 0;
};

CheckpointNote noteOf(const TrainingPosition &position);
/// Refuses a note that says no position.
Result<TrainingPosition> positionOf(const CheckpointNote &note);

struct TrainingOptions {
  int64_t steps = 1; ///< The step behind which the run ends.
  int64_t rows = 1;  ///< Of a step; windows that it takes.
  LearningRate rate;
  double beta1 = 0.9, beta2 = 0.95, epsilon = 1e-8, momentum = 0.9;
  double weightDecay = 0.1;
  double clipNorm = 1; ///< 0: no clipping.
  TrainingPosition from;

  TrainingLog *log = nullptr;
  Checkpoints *checkpoints = nullptr;
  int64_t checkpointEvery = 0; ///< 0: at the end only.
  int64_t evalEvery = 0;       ///< 0: never; else the plan has entry `loss`.
  const TrainingData *evalData = nullptr;
  int64_t evalBatches = 8;
  double peakFlops = 0; ///< Of all ranks' machines a second; 0: not known.

  /// Looked at behind each step, where given.
  const std::atomic<bool> *cancel = nullptr;
  std::function<void(const StepReport &)> onStep;
};

struct TrainingOutcome {
  TrainingPosition position;
  bool cancelled = false;
};

class TrainingLoop {
public:
  /// `session` leads; it, `data` and what `options` point to outlive this.
  TrainingLoop(Session &session, const TrainingData &data,
               TrainingOptions options);

  /// Refuses a plan that does not train. A loss that is no number ends the
  /// run without a new checkpoint.
  Result<TrainingOutcome> run();

private:
  Status bind();
  HostTensors settings() const;
  Result<StepReport> step();
  Result<double> evaluate();
  Status report(StepReport &report);
  Status keep(bool last);
  Status checkFinite(const StepReport &report) const;

  Session &session;
  const TrainingData &data;
  TrainingOptions options;
  TrainingPosition position;
  int64_t begun = -1; ///< The step of the last checkpoint that was begun.
  uint32_t entry = 0, evalEntry = 0;
  PortTensors outputs, evalOutputs;
};

/// The rows and the sequence of a step of entry `train`, and whether its
/// labels have a column more than its ids.
struct StepShape {
  int64_t rows = 0, sequence = 0;
  bool labelsBehind = false;
};
/// Refused where the plan does not train.
Result<StepShape> stepShapeOf(const Plan &plan);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_TRAININGLOOP_H

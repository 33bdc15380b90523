//===- Checkpoints.h - What a training run leaves on the disk ---*- C++ -*-===//
//
// What it is: the folder of a run's checkpoints, seen from the process that
// leads its session.
//
//   CheckpointOptions options{"out", /*resume=*/true};
//   TANDEM_ASSIGN(auto checkpoints, Checkpoints::open(session, options));
//   TANDEM_ASSIGN(CheckpointNote note, checkpoints->load());
//   for (step = note.step; step < steps;) {
//     TANDEM_TRY(session.step(...)), ++step;
//     TANDEM_TRY(checkpoints->finish(/*wait=*/false));
//     if (step % every == 0)
//       TANDEM_TRY(checkpoints->begin({step, {{"position", position}}}));
//   }
//   TANDEM_TRY(checkpoints->finish(/*wait=*/true));
//
// `begin` returns at once. On every rank a thread then reads the parameters
// and states that the rank is the first to hold, where they lie, and writes
// them; the next step runs meanwhile and waits before the first instruction
// that would change a parameter or a state (Executor::setGate), so nothing is
// copied. When all ranks' files are on the disk `finish` writes the manifest
// and gives the checkpoint its name; only then do older ones go.
//
// A disk that is full costs the new checkpoint and no other: `finish` says
// which file of which rank it was. A disk that hangs ends the session on all
// ranks with its name. All calls come from the leading process;
// the others serve() the session.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_CHECKPOINTS_H
#define TANDEM_RUNTIME_SESSION_CHECKPOINTS_H

#include "runtime/session/Session.h"

#include <nlohmann/json.hpp>

namespace tandem {

/// What a run wants back beside its tensors.
struct CheckpointNote {
  int64_t step = 0; ///< Optimizer steps that were done.
  /// An object, kept as it is: data position, seeds, settings.
  nlohmann::json training = nlohmann::json::object();
};

struct CheckpointOptions {
  std::string folder;
  bool resume = false;
  int64_t keep = 2; ///< Complete checkpoints that stay, at least 1.
  /// How long one operation on the disk may take.
  double deadlineSeconds = 60;
  /// Told the path of each one that is complete.
  std::function<void(const std::string &path)> onComplete = nullptr;
};

class Checkpoints {
public:
  /// Makes the folder where there is none, claims it for this process and
  /// removes what a crash left. Refuses a folder that is not empty unless
  /// `resume`, and to resume from one without a complete checkpoint. `session`
  /// leads and outlives this.
  static Result<std::unique_ptr<Checkpoints>>
  open(Session &session, const CheckpointOptions &options);
  /// Gives up what was begun and not finished.
  virtual ~Checkpoints() = default;

  /// Loads the newest checkpoint that is whole into the session, whatever
  /// layout wrote it. One that is not is named in a warning and set aside
  /// (`step-N.broken`); refused where none is left. To be called once, with
  /// `resume`, before the first step; the session needs no weights before.
  virtual Result<CheckpointNote> load() = 0;

  /// Begins a checkpoint, after waiting for the one before where that is not
  /// finished.
  virtual Status begin(const CheckpointNote &note) = 0;
  /// Whether one was begun and is not finished.
  virtual bool pending() const = 0;
  /// Finishes what was begun, if all ranks have written their files or `wait`
  /// says to wait for that. OK where nothing is pending. A failure of the
  /// disk ends this checkpoint only; one of the session ends the session.
  virtual Status finish(bool wait) = 0;

  /// The path of the last complete checkpoint, empty where there is none.
  virtual std::string last() const = 0;
};

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_CHECKPOINTS_H

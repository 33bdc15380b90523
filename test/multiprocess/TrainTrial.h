//===- TrainTrial.h - A small model that trains on two ranks ----*- C++ -*-===//

#ifndef TANDEM_TEST_MULTIPROCESS_TRAINTRIAL_H
#define TANDEM_TEST_MULTIPROCESS_TRAINTRIAL_H

#include "FaultTrial.h"

namespace tandem {

/// `tandem train` of SmallPlan's model on the two ranks of a mesh, and the
/// folder of its checkpoints, which is new for every trial and goes with it.
class TrainTrial {
public:
  static constexpr int ranks = 2;

  /// `layout` is what `tandem compile` takes behind --mesh.
  explicit TrainTrial(const std::string &layout);
  ~TrainTrial();

  /// On processes, or with an empty launcher on threads; `fault` may be empty.
  TrialOptions run(const std::string &fault, double deadline = 30,
                   int steps = 400) const;
  /// The same from the newest checkpoint on, to the end of `steps`.
  TrialOptions resume(int steps) const;

  const std::string &folder() const { return folder_; }
  /// The steps of the checkpoints that have their names, ascending.
  std::vector<int> saved() const;

private:
  std::string plan, folder_;
};

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_TRAINTRIAL_H

//===- SmallPlan.h - A plan that generates, made on the spot ----*- C++ -*-===//

#ifndef TANDEM_TEST_MULTIPROCESS_SMALLPLAN_H
#define TANDEM_TEST_MULTIPROCESS_SMALLPLAN_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace tandem {

/// What ranks do in a generation.
struct InstructionKind {
  std::string name;        ///< An opcode or a kernel.
  std::string entry;       ///< One that has it.
  std::vector<int> stages; ///< Where that entry has it.
};

/// A random llama of two layers in a folder of its own, and plans of it for
/// pp=2,tp=2: ranks 0 and 1 are stage 0. The folder goes with the object.
class SmallPlan {
public:
  static constexpr int ranks = 4;

  SmallPlan();
  ~SmallPlan();
  /// Made by the first that asks; a failure to make it fails the program.
  static SmallPlan &get();

  const std::string &folder() const { return folder_; }
  std::string model() const { return folder_ + "/model"; }
  /// Generates up to 512 ids.
  std::string plan() const { return folder_ + "/small.plan"; }
  /// Compiles another plan of the model and returns its path.
  std::string compile(const std::string &name, const std::string &flags,
                      const std::string &mesh = "pp=2,tp=2");
  /// Every kind of instruction that generating runs, greedily or with draws.
  const std::vector<InstructionKind> &kinds() const { return kinds_; }

private:
  std::string folder_;
  std::vector<InstructionKind> kinds_;
};

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_SMALLPLAN_H

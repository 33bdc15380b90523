//===- SmallPlan.h - A plan that generates, made on the spot ----*- C++ -*-===//

#ifndef TANDEM_TEST_MULTIPROCESS_SMALLPLAN_H
#define TANDEM_TEST_MULTIPROCESS_SMALLPLAN_H

#include "runtime/base/Status.h"

#include <map>
#include <string>
#include <vector>

namespace tandem {

/// What a rank of some stage does in a generation.
struct InstructionKind {
  std::string name; ///< An opcode or a kernel.
  std::string entry;
  uint32_t stage = 0;
};

/// Writes a random llama of two layers into the folder `model` and compiles it
/// by the tandem program into `plan`, for pp=2,tp=2.
Status makeSmallPlan(const std::string &model, const std::string &plan,
                     int64_t maxSeq);

/// Every kind of instruction that generating runs, greedily or with draws,
/// with the stages that have it.
Result<std::vector<InstructionKind>> kindsOf(const std::string &plan);

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_SMALLPLAN_H

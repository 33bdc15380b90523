//===- Isolation.h - Cases in processes of their own ------------*- C++ -*-===//
//
// What a case does to its process stays there: one that crashes is a verdict
// like another, and one that does not come back within the deadline is killed.
// No process starts a thread before it forks.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_ISOLATION_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_ISOLATION_H

#include "test/fuzz/equivalence/Check.h"

#include <cstdint>
#include <functional>

namespace tandem::test {

struct CaseResult {
  uint64_t number = 0;
  std::string text; ///< Empty where making it failed.
  Verdict verdict;
};

using MakeCase = std::function<std::string(uint64_t number)>;
using CheckCase = std::function<Verdict(const std::string &text)>;

/// Makes and checks cases `first` to `first + count - 1`, a run of them in
/// each process, and calls `report` with each in order. A case that takes more
/// than `deadlineSeconds` or ends its process is reported as `hang` or
/// `crash`; those behind it go on in a new process.
void runIsolated(uint64_t first, uint64_t count, double deadlineSeconds,
                 const MakeCase &make, const CheckCase &check,
                 const std::function<void(const CaseResult &)> &report);

/// The verdict on one text.
Verdict checkIsolated(const std::string &text, double deadlineSeconds,
                      const CheckCase &check);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_ISOLATION_H

//===- Check.h - One module compiled, run and compared ----------*- C++ -*-===//
//
// The proof of one case. A module of phase 1 says what is right, evaluated on
// one rank. The same module goes through all steps; behind the last that the
// evaluator understands all ranks are evaluated in lockstep, padding filled
// with NaN; then the plan is proved, and ranks that are threads run it. All in
// float64, all equal to 1e-10.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_FUZZ_EQUIVALENCE_CHECK_H
#define TANDEM_TEST_FUZZ_EQUIVALENCE_CHECK_H

#include <string>

namespace tandem::test {

struct Verdict {
  /// Where it went wrong: `invalid` (not a case at all), `compile`,
  /// `lockstep`, `plan`, `run`, `result`; of a process that did not come back
  /// `crash` or `hang`. Empty when all agree.
  std::string stage;
  std::string message;

  bool passed() const { return stage.empty(); }
};

/// Checks the module in `text`. Its inputs are drawn from the number in its
/// comment `// seed: N` (1), it runs on the device in `// device: NAME` (cpu),
/// two steps, so that memory is used again. An argument that is
/// unreduced cannot be given to a plan: such a module is not run, only
/// evaluated in lockstep.
Verdict checkCase(const std::string &text);

/// The first step behind which ranks in lockstep give other results than one
/// rank, empty where none does.
std::string guiltyStep(const std::string &text);

} // namespace tandem::test

#endif // TANDEM_TEST_FUZZ_EQUIVALENCE_CHECK_H

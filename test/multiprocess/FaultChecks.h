//===- FaultChecks.h - What must be true after a rank broke -----*- C++ -*-===//

#ifndef TANDEM_TEST_MULTIPROCESS_FAULTCHECKS_H
#define TANDEM_TEST_MULTIPROCESS_FAULTCHECKS_H

#include "FaultTrial.h"

#include <random>
#include <set>

namespace tandem {

/// An integer from the environment.
int setting(const char *name, int otherwise);

/// The draws of a run. The seed is TANDEM_FAULT_SEED or a new one, and stands
/// in the traces of failures.
class Draws {
public:
  Draws();
  int upTo(int limit) { return int(random() % unsigned(limit)); }
  std::string trace() const { return "TANDEM_FAULT_SEED=" + seedText; }

private:
  std::string seedText;
  std::mt19937 random;
};

/// The launcher has ended; all ranks but the victims have left with 3 within
/// `seconds` of the fault; each has said one line that names a victim (any
/// rank where there are none), where itself was, and, unless there were no
/// instructions yet, one of those with its location; no process is left.
void expectSurvivorsLeft(FaultTrial &trial, int ranks,
                         const std::set<int> &victims, double seconds,
                         bool places = true);

/// The lines of `text` that have `part`.
std::vector<std::string> linesWith(const std::string &text,
                                   const std::string &part);

/// Whether `line` names an instruction and its location:
/// `all_reduce #12 (layers.0.mlp)` or `instruction ... location ...`.
bool namesPlace(const std::string &line);

} // namespace tandem

#endif // TANDEM_TEST_MULTIPROCESS_FAULTCHECKS_H

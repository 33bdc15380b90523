//===- TrainingText.h - Small training steps as text ------------*- C++ -*-===//

#ifndef TANDEM_TEST_PASSES_TRAININGTEXT_H
#define TANDEM_TEST_PASSES_TRAININGTEXT_H

#include <cstdint>
#include <string>

namespace tandem::test {

/// A residual network of square layers, h + tanh(h w), whose loss is the sum
/// of its last activations' squares over all microbatches: forward, backward,
/// and momentum updates that depend on the norm of all gradients.
struct TrainingStep {
  std::string mesh = R"("pp"=1)";
  int64_t layers = 4;
  int64_t microbatches = 2;
  /// The last layer's weight is the first's.
  bool tied = false;

  /// The module of phase 1, annotations of `mesh` apart.
  std::string text() const;
};

} // namespace tandem::test

#endif // TANDEM_TEST_PASSES_TRAININGTEXT_H

//===- ReferenceModules.h - Small modules for the evaluator's tests -------===//

#ifndef TANDEM_TEST_IR_REFERENCEMODULES_H
#define TANDEM_TEST_IR_REFERENCEMODULES_H

#include "ir/reference/Interpreter.h"

#include "mlir/IR/OwningOpRef.h"

namespace tandem::test {

/// A context with what tests need, whose errors are collected.
class Fixture {
public:
  Fixture();
  ~Fixture();
  mlir::MLIRContext &context() { return context_; }

  /// Parses and verifies; null and an error where that fails.
  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text,
                                          bool verify = true);
  /// What evaluating the entry @f of a module says, which must fail.
  std::string errorOf(llvm::StringRef text, const NamedTensors &inputs,
                      bool verify = true);
  /// All errors and notes so far, one a line.
  const std::string &errors() const { return errors_; }

  /// Runs the function @f of a module on one rank.
  std::vector<Tensor> run(llvm::StringRef text,
                          const std::vector<Tensor> &inputs);

private:
  mlir::MLIRContext context_;
  mlir::DiagnosticEngine::HandlerID handler_;
  std::string errors_;
};

/// A tensor on one rank.
Tensor tensor(const std::vector<int64_t> &shape,
              const std::vector<double> &values);
/// Numbers in [-1, 1) that differ from lane to lane and from seed to seed.
Tensor random(const std::vector<int64_t> &shape, unsigned seed);
/// Integers from `low` up to `high`, both included.
Tensor randomIntegers(const std::vector<int64_t> &shape, int64_t low,
                      int64_t high, unsigned seed);

/// EXPECTs equal shapes and lanes equal within 1e-12 (1 + |x|).
void expectEqual(const Tensor &got, const Tensor &expected);

} // namespace tandem::test

#endif // TANDEM_TEST_IR_REFERENCEMODULES_H

#include "ir/reference/Compare.h"
#include "ir/reference/Distribution.h"
#include "ir/reference/RandomInputs.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;

namespace tandem {
namespace {

/// Runs an entry; what it reports as errors becomes the status.
Result<NamedTensors> run(ModuleOp module, StringRef entry,
                         const NamedTensors &inputs) {
  std::string messages;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        llvm::raw_string_ostream stream(messages);
        stream << (messages.empty() ? "" : "; ") << diagnostic.getLocation()
               << ": " << diagnostic.str();
        return success();
      });
  FailureOr<NamedTensors> results = evaluateEntry(module, entry, inputs);
  if (failed(results))
    return Status::refused(messages);
  return std::move(*results);
}

Status compareTensor(const std::string &name, const Tensor &before,
                     const Tensor &after, double tolerance) {
  if (before.data().size() != after.data().size())
    return Status::refused(
        name + " has " + std::to_string(after.data().size()) +
        " elements, expected " + std::to_string(before.data().size()));
  for (size_t i = 0; i < before.data().size(); ++i)
    if (!agree(before.data()[i], after.data()[i], tolerance))
      return Status::refused("element " + std::to_string(i) + " of " + name +
                             " is " + std::to_string(after.data()[i]) +
                             ", expected " + std::to_string(before.data()[i]));
  return Status();
}

} // namespace

Status compareEntry(ModuleOp before, ModuleOp after, StringRef entry,
                    const NamedTensors &inputs, double tolerance) {
  std::string context = "entry '" + entry.str() + "'";
  Result<NamedTensors> expected = run(before, entry, inputs);
  if (!expected.ok())
    return expected.status().withContext(context + " before");
  Result<NamedTensors> got = run(after, entry, inputs);
  if (!got.ok())
    return got.status().withContext(context + " after");
  for (const auto &[name, tensor] : *expected) {
    auto found = got->find(name);
    if (found == got->end())
      return Status::refused(context + " lost its result " + name);
    TANDEM_TRY(compareTensor(name, tensor, found->second, tolerance)
                   .withContext(context));
  }
  return Status();
}

Status compareModules(ModuleOp before, ModuleOp after, uint64_t seed,
                      double tolerance) {
  for (const std::string &entry : entriesOf(before)) {
    func::FuncOp function = functionsOf(before, entry).front();
    TANDEM_TRY(compareEntry(before, after, entry, randomInputs(function, seed),
                            tolerance));
  }
  return Status();
}

} // namespace tandem

//===- EvaluateMain.cpp - Runs a module in float64 for tests --------------===//
//
//   tandem-evaluate FILE.mlir [--entry NAME] [--seed N]
//     prints a hash of the inputs and each result's values
//   tandem-evaluate BEFORE.mlir --against AFTER.mlir [--tolerance T]
//     exits with 1 and says where, unless both give the same numbers
//
//===----------------------------------------------------------------------===//

#include "ir/reference/Compare.h"
#include "ir/reference/RandomInputs.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"

using namespace mlir;
using namespace tandem;

namespace {

llvm::cl::opt<std::string> file(llvm::cl::Positional, llvm::cl::Required,
                                llvm::cl::desc("FILE.mlir"));
llvm::cl::opt<std::string> entry("entry", llvm::cl::desc("only this entry"));
llvm::cl::opt<uint64_t> seed("seed", llvm::cl::init(1));
llvm::cl::opt<std::string> against("against",
                                   llvm::cl::desc("compare with this module"));
llvm::cl::opt<double> tolerance("tolerance", llvm::cl::init(1e-9));

uint64_t hashOf(const NamedTensors &tensors) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const auto &[name, tensor] : tensors)
    for (double value : tensor.data()) {
      uint64_t bits;
      std::memcpy(&bits, &value, sizeof bits);
      hash = (hash ^ bits) * 0x100000001b3u;
    }
  return hash;
}

void print(const std::string &name, const Tensor &tensor) {
  llvm::outs() << name << " [";
  for (size_t d = 0; d < tensor.rank(); ++d)
    llvm::outs() << (d ? ", " : "") << tensor.dim(d).global;
  llvm::outs() << "]:";
  for (double value : tensor.data())
    llvm::outs() << llvm::format(" %.9g", value);
  llvm::outs() << "\n";
}

bool printResults(ModuleOp module, const std::string &name) {
  std::vector<func::FuncOp> functions = functionsOf(module, name);
  if (functions.empty()) {
    llvm::errs() << "no entry '" << name << "' in " << file << "\n";
    return false;
  }
  NamedTensors inputs;
  for (func::FuncOp function : functions)
    for (auto &[key, tensor] : randomInputs(function, seed))
      inputs.emplace(key, tensor);
  FailureOr<NamedTensors> results = evaluateEntry(module, name, inputs);
  if (failed(results))
    return false;
  llvm::outs() << name << ": inputs "
               << llvm::format_hex_no_prefix(hashOf(inputs), 16) << "\n";
  for (const auto &[key, tensor] : *results)
    print(key, tensor);
  return true;
}

bool compare(ModuleOp module, MLIRContext &context) {
  auto other = parseSourceFile<ModuleOp>(against, &context);
  if (!other)
    return false;
  Status status = compareModules(module, *other, seed, tolerance);
  if (!status.ok())
    llvm::errs() << status.message() << "\n";
  return status.ok();
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::cl::ParseCommandLineOptions(argc, argv, "evaluates a module\n");
  MLIRContext context;
  context.loadDialect<TandemDialect, func::FuncDialect>();
  auto module = parseSourceFile<ModuleOp>(file, &context);
  if (!module)
    return 1;
  if (!against.empty())
    return compare(*module, context) ? 0 : 1;
  bool good = true;
  for (const std::string &name : entriesOf(*module))
    if (entry.empty() || entry == name)
      good = printResults(*module, name) && good;
  return good ? 0 : 1;
}

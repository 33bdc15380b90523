#include "test/fuzz/equivalence/Check.h"

#include "ir/reference/Compare.h"
#include "ir/reference/Distribution.h"
#include "ir/reference/RandomInputs.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "runtime/files/Safetensors.h"
#include "runtime/files/SafetensorsWriter.h"
#include "runtime/plan/Verify.h"
#include "runtime/session/Session.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <filesystem>
#include <unistd.h>

using namespace mlir;

namespace tandem::test {
namespace {

constexpr double kTolerance = 1e-10;
/// The last step whose modules the evaluator understands.
constexpr const char *kLastEvaluated = "verify-staged";

/// What follows `// KEYWORD: ` in a comment, `otherwise` without one.
StringRef commentOf(StringRef text, StringRef keyword, StringRef otherwise) {
  std::string start = "// " + keyword.str() + ": ";
  size_t at = text.find(start);
  return at == StringRef::npos
             ? otherwise
             : text.substr(at + start.size()).take_while(llvm::isAlnum);
}

uint64_t seedOf(StringRef text) {
  uint64_t seed = 1;
  commentOf(text, "seed", "1").getAsInteger(10, seed);
  return seed;
}

/// Numbers that the argument's type holds; a new session's states are zeros.
NamedTensors caseInputs(func::FuncOp function, uint64_t seed) {
  NamedTensors inputs = randomInputs(function, seed);
  for (BlockArgument argument : function.getArguments()) {
    std::string name = argumentName(function, argument.getArgNumber());
    Type element = cast<RankedTensorType>(argument.getType()).getElementType();
    for (double &value : inputs[name].data()) {
      if (element.isF32())
        value = static_cast<double>(static_cast<float>(value));
      if (StringRef(name).starts_with("state:"))
        value = 0;
    }
  }
  return inputs;
}

template <typename T> void copyAs(const Tensor &from, HostTensor &to) {
  std::transform(from.data().begin(), from.data().end(), to.as<T>(),
                 [](double value) { return static_cast<T>(value); });
}
template <typename T> std::vector<double> valuesAs(const HostTensor &from) {
  return std::vector<double>(from.as<T>(), from.as<T>() + from.elements());
}

HostTensor hostTensor(const Tensor &values, DType dtype,
                      std::vector<int64_t> shape) {
  HostTensor host(dtype, std::move(shape));
  switch (dtype) {
  case DType::F64:
    copyAs<double>(values, host);
    break;
  case DType::F32:
    copyAs<float>(values, host);
    break;
  case DType::I64:
    copyAs<int64_t>(values, host);
    break;
  case DType::I32:
    copyAs<int32_t>(values, host);
    break;
  default:
    copyAs<uint8_t>(values, host);
  }
  return host;
}

/// The inputs that the plan's entry has: what nothing uses is none of them.
HostTensors hostInputs(const Plan &plan, const NamedTensors &inputs) {
  HostTensors result;
  for (const fb::Port *port : *plan.table().entries()->Get(0)->inputs()) {
    std::string name = port->name()->str();
    const TensorType &type = plan.type(port->type());
    result.emplace(
        name, hostTensor(inputs.at("input:" + name), type.dtype, type.shape));
  }
  return result;
}

/// A file of the plan's parameters, as long as this lives.
class WeightsFile {
public:
  explicit WeightsFile(std::string path) : path(std::move(path)) {}
  ~WeightsFile() { std::filesystem::remove(path); }

  /// Writes them and makes the file the plan's source.
  Status write(fb::PlanT &plan, const NamedTensors &inputs) {
    std::vector<HostTensor> tensors;
    std::vector<TensorToWrite> entries;
    for (const auto &parameter : plan.parameters)
      tensors.push_back(hostTensor(
          inputs.at("parameter:#tandem.view<\"" + parameter->key + "\">"),
          static_cast<DType>(parameter->stored_dtype),
          parameter->stored_shape));
    for (size_t i = 0; i < tensors.size(); ++i)
      entries.push_back(
          {{plan.parameters[i]->key, tensors[i].dtype, tensors[i].shape},
           tensors[i].data.data()});
    TANDEM_TRY(writeSafetensors(path, entries));
    TANDEM_ASSIGN(TensorStore store, readSafetensors(path));
    auto source = std::make_unique<fb::SourceT>();
    source->path = path;
    source->size = store.files()[0].fingerprint.size;
    source->hash = store.files()[0].fingerprint.hash;
    plan.sources.push_back(std::move(source));
    return Status();
  }

private:
  std::string path;
};

std::vector<double> valuesOf(const HostTensor &tensor) {
  switch (tensor.dtype) {
  case DType::F64:
    return valuesAs<double>(tensor);
  case DType::F32:
    return valuesAs<float>(tensor);
  case DType::I64:
    return valuesAs<int64_t>(tensor);
  case DType::I32:
    return valuesAs<int32_t>(tensor);
  default:
    return valuesAs<uint8_t>(tensor);
  }
}

/// A module on its way, and what was said on it.
class Case {
public:
  explicit Case(const std::string &text)
      : handler(&context,
                [this](Diagnostic &diagnostic) {
                  if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
                    errors += diagnostic.str() + "\n";
                  return success();
                }),
        seed(seedOf(text)), device(commentOf(text, "device", "cpu").str()) {
    context.disableMultithreading();
    context.loadDialect<TandemDialect, func::FuncDialect>();
    before = parseSourceString<ModuleOp>(text, &context);
  }

  Verdict check() {
    if (Verdict verdict = evaluateBefore(); !verdict.passed())
      return verdict;
    if (failed(runSteps("", kLastEvaluated)))
      return {"compile", errors};
    if (Status status = compareNow(); !status.ok())
      return {"lockstep", status.message()};
    if (hasUnreducedArgument())
      return {};
    if (failed(runSteps(kLastEvaluated, "")))
      return {"compile", errors};
    return execute();
  }

  std::string guiltyStep() {
    if (!evaluateBefore().passed())
      return "";
    for (const CompileStep &step : compileSteps()) {
      PassManager passes(&context);
      step.add(passes);
      if (failed(passes.run(*after)) || !compareNow().ok())
        return step.name;
      if (step.name == kLastEvaluated)
        break;
    }
    return "";
  }

private:
  Verdict evaluateBefore() {
    if (!before || failed(verify(*before)))
      return {"invalid", errors};
    function = *before->getOps<func::FuncOp>().begin();
    inputs = caseInputs(function, seed);
    FailureOr<NamedTensors> results =
        evaluateEntry(*before, function.getName(), inputs);
    if (failed(results))
      return {"invalid", errors};
    expected = std::move(*results);
    after = before->clone();
    return {};
  }

  LogicalResult runSteps(const std::string &from, const std::string &to) {
    PassManager passes(&context);
    addCompileSteps(passes, from, to);
    return passes.run(*after);
  }

  Status compareNow() {
    return compareEntry(*before, *after, function.getName(), inputs,
                        kTolerance);
  }

  bool hasUnreducedArgument() {
    for (unsigned i = 0; i < function.getNumArguments(); ++i)
      if (auto sharding = function.getArgAttrOfType<ShardingAttr>(
              i, TandemDialect::kSharding))
        if (!sharding.getUnreduced().empty())
          return true;
    return false;
  }

  Verdict execute() {
    Result<fb::PlanT> native = emitPlan(*after, "random");
    if (!native.ok())
      return {"plan", native.status().message()};
    WeightsFile weights(std::filesystem::temp_directory_path() /
                        ("equivalence-" + std::to_string(getpid())));
    if (!native->parameters.empty())
      if (Status status = weights.write(*native, inputs); !status.ok())
        return {"plan", status.message()};
    Result<Plan> plan = Plan::fromNative(*native);
    if (!plan.ok())
      return {"plan", plan.status().message()};
    if (Status proof = tandem::verify(*plan, VerifyOptions()); !proof.ok())
      return {"plan", proof.message()};
    SessionOptions options;
    options.deadlineSeconds = 30;
    options.device = device;
    options.seed = seed;
    auto session = createLocalSession(
        std::make_shared<const Plan>(std::move(*plan)), options);
    if (!session.ok())
      return {"run", session.status().message()};
    Verdict verdict = step(**session);
    // Again, in memory that is not new, with the states as they are now.
    if (verdict.passed() && takeStates())
      verdict = step(**session);
    return verdict;
  }

  Verdict step(Session &session) {
    Result<HostTensors> results = session.run(
        function.getName().str(), hostInputs(session.plan(), inputs));
    if (!results.ok())
      return {"run", results.status().message()};
    return compareResults(*results);
  }

  /// Makes the states that are expected inputs, and expects what follows.
  bool takeStates() {
    for (auto &[name, tensor] : expected)
      if (StringRef(name).starts_with("state:"))
        inputs[name] = tensor;
    FailureOr<NamedTensors> results =
        evaluateEntry(*before, function.getName(), inputs);
    if (succeeded(results))
      expected = std::move(*results);
    return succeeded(results);
  }

  Verdict compareResults(const HostTensors &results) {
    for (const auto &[name, tensor] : expected) {
      StringRef port = name;
      if (!port.consume_front("output:"))
        continue;
      auto found = results.find(port.str());
      if (found == results.end())
        return {"result", name + " is lost"};
      std::vector<double> got = valuesOf(found->second);
      for (size_t i = 0; i < got.size(); ++i)
        if (!agree(tensor.data()[i], got[i], kTolerance))
          return {"result", "element " + std::to_string(i) + " of " + name +
                                " is " + std::to_string(got[i]) +
                                ", expected " +
                                std::to_string(tensor.data()[i])};
    }
    return {};
  }

  MLIRContext context;
  std::string errors;
  ScopedDiagnosticHandler handler;
  uint64_t seed;
  std::string device;
  OwningOpRef<ModuleOp> before, after;
  func::FuncOp function;
  NamedTensors inputs, expected;
};

} // namespace

Verdict checkCase(const std::string &text) { return Case(text).check(); }

std::string guiltyStep(const std::string &text) {
  return Case(text).guiltyStep();
}

} // namespace tandem::test

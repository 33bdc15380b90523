//===- PlansTest.cpp - Random shardings compiled, proved and run ----------===//
//
// A random module, mesh and sharding becomes a plan; the verifier proves it,
// ranks that are threads run it in float32, and one rank says in float64 what
// is right.
//
//===----------------------------------------------------------------------===//

#include "ir/reference/RandomInputs.h"
#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"
#include "runtime/plan/Verify.h"
#include "runtime/session/Session.h"
#include "test/passes/RandomModules.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

constexpr double kTolerance = 1e-4;

/// What both sides get: values that float32 holds, states of zeros.
NamedTensors exactInputs(func::FuncOp function, unsigned seed) {
  NamedTensors inputs = randomInputs(function, seed);
  for (auto &[name, tensor] : inputs) {
    bool state = StringRef(name).starts_with("state:");
    std::vector<double> values = tensor.data();
    std::vector<int64_t> shape;
    for (size_t d = 0; d < tensor.rank(); ++d)
      shape.push_back(tensor.dim(d).global);
    for (double &value : values)
      value = state ? 0 : static_cast<double>(static_cast<float>(value));
    tensor = Tensor::whole(shape, std::move(values));
  }
  return inputs;
}

HostTensors hostTensors(const NamedTensors &tensors) {
  HostTensors result;
  for (const auto &[name, tensor] : tensors) {
    StringRef port = name;
    if (!port.consume_front("input:"))
      continue;
    std::vector<int64_t> shape;
    for (size_t d = 0; d < tensor.rank(); ++d)
      shape.push_back(tensor.dim(d).global);
    HostTensor host(DType::F32, shape);
    std::copy(tensor.data().begin(), tensor.data().end(), host.as<float>());
    result.emplace(port.str(), std::move(host));
  }
  return result;
}

/// All steps, the plan, and its proof.
Result<std::shared_ptr<const Plan>> compile(ModuleOp module) {
  std::string errors;
  ScopedDiagnosticHandler handler(
      module.getContext(), [&](Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
          errors += diagnostic.str() + "\n";
        return success();
      });
  PassManager passes(module.getContext());
  addCompileSteps(passes, "", "");
  if (failed(passes.run(module)))
    return Status::refused(errors);
  TANDEM_ASSIGN(fb::PlanT native, emitPlan(module, "random"));
  TANDEM_ASSIGN(Plan plan, Plan::fromNative(native));
  TANDEM_TRY(verify(plan, VerifyOptions()));
  return std::shared_ptr<const Plan>(
      std::make_shared<const Plan>(std::move(plan)));
}

Result<HostTensors> run(ModuleOp module, const HostTensors &inputs) {
  TANDEM_ASSIGN(std::shared_ptr<const Plan> plan, compile(module));
  SessionOptions options;
  options.threads = 1;
  TANDEM_ASSIGN(std::unique_ptr<Session> session,
                createLocalSession(plan, options));
  return session->run("f", inputs);
}

double element(const HostTensor &tensor, size_t index) {
  return tensor.dtype == DType::F32
             ? static_cast<double>(tensor.as<float>()[index])
             : static_cast<double>(tensor.as<int32_t>()[index]);
}

void expectClose(const NamedTensors &expected, const HostTensors &got) {
  for (const auto &[name, tensor] : expected) {
    StringRef port = name;
    if (!port.consume_front("output:"))
      continue;
    auto found = got.find(port.str());
    ASSERT_NE(found, got.end()) << name << " is lost";
    ASSERT_EQ(found->second.elements(),
              static_cast<int64_t>(tensor.data().size()));
    for (size_t i = 0; i < tensor.data().size(); ++i) {
      double a = element(found->second, i), b = tensor.data()[i];
      ASSERT_LE(std::abs(a - b), kTolerance * (1 + std::abs(b)))
          << "element " << i << " of " << name;
    }
  }
}

class Plans : public testing::TestWithParam<Sample> {};

TEST_P(Plans, RunAsOneRankDoes) {
  MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<TandemDialect, func::FuncDialect>();
  auto before = parseSourceString<ModuleOp>(GetParam().text, &context);
  ASSERT_TRUE(before);
  setNames(*before, /*allInputs=*/true);
  func::FuncOp function = *before->getOps<func::FuncOp>().begin();
  // `--gtest_random_seed=N` draws others.
  unsigned seed = 1000 * GTEST_FLAG_GET(random_seed);
  for (const char *meshText : sampleMeshes()) {
    NamedTensors inputs = exactInputs(function, ++seed);
    auto expected = evaluateEntry(*before, "f", inputs);
    ASSERT_TRUE(succeeded(expected));
    Random random(seed);
    OwningOpRef<ModuleOp> module = before->clone();
    // Terms of an input have no one who could sum them.
    split(*module, *Mesh::parse(meshText), random, /*mayBeUnreduced=*/false);
    SCOPED_TRACE(std::string(meshText) + ", seed " + std::to_string(seed));
    Result<HostTensors> got = run(*module, hostTensors(inputs));
    ASSERT_TRUE(got.ok()) << got.status().message();
    expectClose(*expected, *got);
    if (HasFatalFailure())
      return;
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, Plans, testing::ValuesIn(samples()),
                         [](const auto &info) { return info.param.name; });

} // namespace

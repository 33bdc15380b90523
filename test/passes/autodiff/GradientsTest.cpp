// Every derivative is what the function's change says: random graphs of all
// operations, with and without microbatches, against central differences of
// the evaluator, in float64.

#include "passes/Pipelines.h"
#include "test/fuzz/equivalence/RandomGraph.h"
#include "test/fuzz/equivalence/RandomLoss.h"

#include "ir/reference/Compare.h"
#include "ir/reference/RandomInputs.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

/// Counts and checks over many losses.
class GradientCheck {
public:
  GradientCheck() {
    context.disableMultithreading();
    context.loadDialect<TandemDialect, func::FuncDialect>();
  }

  /// One random loss; its text where something is wrong.
  void checkCase(uint64_t seed, int64_t microbatches) {
    auto module = parseSourceString<ModuleOp>(randomCase(seed), &context);
    ASSERT_TRUE(module);
    if (makeLoss(*module, seed, microbatches))
      check(*module, seed);
  }

  void check(ModuleOp module, uint64_t seed) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    SCOPED_TRACE(text);
    auto loss = module.lookupSymbol<func::FuncOp>("f");
    countActive(loss);
    OwningOpRef<ModuleOp> differentiated(module.clone());
    PassManager passes(&context);
    ASSERT_EQ(addCompileSteps(passes, "", "verify-global"), "");
    ASSERT_TRUE(succeeded(passes.run(*differentiated)));
    auto gradients = differentiated->lookupSymbol<func::FuncOp>("f");
    NamedTensors named = randomInputs(loss, seed);
    std::vector<Tensor> inputs;
    for (unsigned i = 0; i < loss.getNumArguments(); ++i)
      inputs.push_back(named.find(argumentName(loss, i))->second);
    auto found = evaluate(gradients, inputs);
    ASSERT_TRUE(succeeded(found));
    compare(loss, gradients, inputs, *found, seed);
  }

  /// Operations through which a gradient went, by name.
  std::map<std::string, int> active;
  int compared = 0, skipped = 0;
  MLIRContext context;

private:
  void countActive(func::FuncOp function) {
    DenseSet<Value> changed;
    for (BlockArgument argument : function.getArguments())
      if (function.getArgAttr(argument.getArgNumber(),
                              TandemDialect::kParameter))
        changed.insert(argument);
    for (Operation &op : function.getBody().front()) {
      if (llvm::none_of(op.getOperands(),
                        [&](Value v) { return changed.contains(v); }))
        continue;
      for (Value result : op.getResults())
        if (isa<FloatType>(
                cast<RankedTensorType>(result.getType()).getElementType()))
          changed.insert(result);
      if (op.getNumResults() > 0 && changed.contains(op.getResult(0)))
        ++active[op.getName().getStringRef().str()];
    }
  }

  void compare(func::FuncOp loss, func::FuncOp gradients,
               const std::vector<Tensor> &inputs,
               const std::vector<Tensor> &found, uint64_t seed) {
    if (!std::isfinite(found[0].data()[0]))
      return;
    size_t next = 1;
    for (unsigned i = 0; i < loss.getNumArguments(); ++i) {
      Attribute view = loss.getArgAttr(i, TandemDialect::kParameter);
      if (!view)
        continue;
      ASSERT_LT(next, found.size());
      EXPECT_EQ(gradients.getResultAttr(next, TandemDialect::kGradient), view);
      for (uint64_t draw = 0; draw < 2; ++draw)
        compareAlong(loss, inputs, i, found[next],
                     direction(inputs[i], seed * 31 + i * 2 + draw));
      ++next;
    }
    EXPECT_EQ(next, found.size());
  }

  static std::vector<double> direction(const Tensor &like, uint64_t seed) {
    Random random(seed);
    std::vector<double> result(like.data().size());
    for (double &lane : result)
      lane = static_cast<double>(random.between(-64, 64)) / 64;
    return result;
  }

  double lossAt(func::FuncOp loss, const std::vector<Tensor> &inputs,
                unsigned index, const std::vector<double> &along, double step) {
    std::vector<Tensor> moved = inputs;
    for (size_t i = 0; i < along.size(); ++i)
      moved[index].data()[i] += step * along[i];
    auto result = evaluate(loss, moved);
    EXPECT_TRUE(succeeded(result));
    return succeeded(result) ? (*result)[0].data()[0] : NAN;
  }

  void compareAlong(func::FuncOp loss, const std::vector<Tensor> &inputs,
                    unsigned index, const Tensor &gradient,
                    const std::vector<double> &along) {
    constexpr double h = 1e-3;
    auto at = [&](double step) {
      return lossAt(loss, inputs, index, along, step);
    };
    double here = at(0), up = at(h), down = at(-h);
    double wide = (up - down) / (2 * h);
    double narrow = (at(h / 2) - at(-h / 2)) / h;
    // Richardson's: the error of both is h^2 times the same number.
    double expected = (4 * narrow - wide) / 3;
    double got = 0;
    for (size_t i = 0; i < along.size(); ++i)
      got += along[i] * gradient.data()[i];
    double size = 1 + std::fabs(expected);
    // Near a kink or a jump the two sides differ.
    double bend = std::fabs(up - 2 * here + down) / h;
    if (!(std::fabs(wide - narrow) < 1e-3 * size) || !(bend < 0.3 * size)) {
      ++skipped;
      return;
    }
    ++compared;
    EXPECT_NEAR(got, expected, 1e-6 * size + 1e-9 * std::fabs(here))
        << "argument " << index;
  }
};

TEST(Gradients, AreTheChangeOfTheLoss) {
  GradientCheck check;
  for (uint64_t seed = 1; seed <= 200 && !testing::Test::HasFailure(); ++seed)
    check.checkCase(seed, 0);
  EXPECT_GE(check.compared, 20 * check.skipped);
  EXPECT_GE(check.compared, 800);
  for (RegisteredOperationName name : check.context.getRegisteredOperations()) {
    std::string text = name.getStringRef().str();
    if (name.hasInterface<DifferentiableOpInterface>() &&
        text.find("microbatch") == std::string::npos &&
        text.find("accumulate") == std::string::npos) {
      EXPECT_GE(check.active[text], 5) << text;
    }
  }
}

TEST(Gradients, AreSummedOverMicrobatches) {
  GradientCheck check;
  for (uint64_t seed = 1; seed <= 200 && !testing::Test::HasFailure(); ++seed)
    check.checkCase(seed, seed % 2 ? 3 : 1);
  EXPECT_GE(check.compared, 20 * check.skipped);
  EXPECT_GE(check.compared, 400);
  EXPECT_GE(check.active["tandem.accumulate"], 100);
}

/// Differentiated, a random loss gives on all ranks what it gives on one.
void compareOnRanks(MLIRContext &context, uint64_t seed) {
  auto module = parseSourceString<ModuleOp>(randomCase(seed), &context);
  ASSERT_TRUE(module);
  // What goes to other stages is another pass's business.
  if (meshOf(*module).sizeOf("pp") > 1 ||
      !makeLoss(*module, seed, static_cast<int64_t>(seed % 4)))
    return;
  PassManager differentiate(&context), partition(&context);
  ASSERT_EQ(addCompileSteps(differentiate, "", "verify-global"), "");
  ASSERT_EQ(addCompileSteps(partition, "verify-global", "verify-local"), "");
  ASSERT_TRUE(succeeded(differentiate.run(*module)));
  OwningOpRef<ModuleOp> onRanks(module->clone());
  ASSERT_TRUE(succeeded(partition.run(*onRanks)));
  Status status = compareModules(*module, *onRanks, seed);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(Gradients, AreTheSameOnAllRanks) {
  MLIRContext context;
  context.disableMultithreading();
  context.loadDialect<TandemDialect, func::FuncDialect>();
  for (uint64_t seed = 1; seed <= 150 && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    compareOnRanks(context, seed);
  }
}

} // namespace

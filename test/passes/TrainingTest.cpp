//===- TrainingTest.cpp - A training step's numbers behind every pass -----===//

#include "test/passes/TrainingText.h"

#include "ir/reference/Compare.h"
#include "passes/Pipelines.h"

#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace tandem;
using namespace tandem::test;

namespace {

/// Compiles `text` step by step; behind each up to phase 3 it must give the
/// numbers that it gave at first.
void expectSameNumbers(const std::string &text) {
  DialectRegistry registry;
  registry.insert<TandemDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto before = parseSourceString<ModuleOp>(text, &context);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(before && module) << text;
  for (const CompileStep &step : compileSteps()) {
    PassManager passes(&context);
    step.add(passes);
    ASSERT_TRUE(succeeded(passes.run(*module))) << step.name << "\n" << text;
    if (step.name == "lower-to-exec")
      return;
    Status status = compareModules(*before, *module);
    std::string after;
    llvm::raw_string_ostream(after) << *module;
    ASSERT_TRUE(status.ok())
        << "behind " << step.name << ": " << status.message() << "\n"
        << after;
  }
}

struct Layout {
  const char *mesh;
  int64_t layers, microbatches;
  bool tied;
};

class TrainingSteps : public testing::TestWithParam<Layout> {};

TEST_P(TrainingSteps, GiveTheSameNumbersBehindEveryPass) {
  const Layout &layout = GetParam();
  expectSameNumbers(
      TrainingStep{layout.mesh, layout.layers, layout.microbatches, layout.tied}
          .text());
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, TrainingSteps,
    testing::Values(
        Layout{R"("pp"=1)", 2, 1, false}, Layout{R"("pp"=1)", 3, 4, true},
        Layout{R"("pp"=2)", 4, 1, false}, Layout{R"("pp"=2)", 3, 2, true},
        Layout{R"("pp"=3)", 4, 3, true}, Layout{R"("pp"=3)", 3, 4, false},
        Layout{R"("pp"=4)", 3, 2, true},
        Layout{R"("pp"=2, "tp"=2)", 3, 2, true}),
    [](const auto &info) { return std::to_string(info.index); });

} // namespace

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

struct Layout {
  const char *mesh;
  int64_t layers, microbatches;
  bool tied;
  const char *schedule = "gpipe";
  int64_t virtualStages = 0;
};

void ask(ModuleOp module, const Layout &layout) {
  Builder builder(module.getContext());
  module->setAttr(TandemDialect::kScheduleName,
                  builder.getStringAttr(layout.schedule));
  module->setAttr(TandemDialect::kVirtualStages,
                  builder.getI64IntegerAttr(layout.virtualStages));
}

/// Compiles `text` step by step; behind each up to phase 3 it must give the
/// numbers that it gave at first.
void expectSameNumbers(const std::string &text, const Layout &layout) {
  DialectRegistry registry;
  registry.insert<TandemDialect, func::FuncDialect>();
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  auto before = parseSourceString<ModuleOp>(text, &context);
  auto module = parseSourceString<ModuleOp>(text, &context);
  ASSERT_TRUE(before && module) << text;
  ask(*module, layout);
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

class TrainingSteps : public testing::TestWithParam<Layout> {};

TEST_P(TrainingSteps, GiveTheSameNumbersBehindEveryPass) {
  const Layout &layout = GetParam();
  TrainingStep step{layout.mesh, layout.layers, layout.microbatches,
                    layout.tied};
  expectSameNumbers(step.text(), layout);
}

INSTANTIATE_TEST_SUITE_P(
    Layouts, TrainingSteps,
    testing::Values(
        Layout{R"("pp"=1)", 2, 1, false}, Layout{R"("pp"=1)", 3, 4, true},
        Layout{R"("pp"=2)", 4, 1, false}, Layout{R"("pp"=2)", 3, 2, true},
        Layout{R"("pp"=3)", 4, 3, true}, Layout{R"("pp"=3)", 3, 4, false},
        Layout{R"("pp"=4)", 3, 2, true},
        Layout{R"("pp"=2, "tp"=2)", 3, 2, true},
        Layout{R"("pp"=2)", 3, 4, true, "1f1b"},
        Layout{R"("pp"=2)", 5, 4, true, "interleaved", 2},
        Layout{R"("pp"=3)", 4, 4, false, "zb-h1"},
        Layout{R"("pp"=2)", 4, 4, true, "zb-v"},
        Layout{R"("pp"=1)", 4, 2, false, "zb-v"}),
    [](const auto &info) { return std::to_string(info.index); });

} // namespace

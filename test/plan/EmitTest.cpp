// What does not fit into a plan's instructions is refused, not cut.

#include "passes/Pipelines.h"
#include "passes/emit/EmitPlan.h"

#include "frontend/ImportModel.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

namespace tandem {
namespace {

/// What emitting says of a phase-1 module.
std::string emitted(const std::string &text) {
  mlir::MLIRContext context;
  loadDialects(context);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(
      "tandem.mesh @mesh = <[\"tp\"=1]>\n" + text, &context);
  EXPECT_TRUE(module);
  mlir::PassManager passes(&context);
  addCompileSteps(passes, "", "");
  EXPECT_TRUE(module && mlir::succeeded(passes.run(*module)));
  Result<fb::PlanT> plan = emitPlan(*module, "test");
  return plan.ok() ? "fine" : plan.status().message();
}

std::string ofLayer(int64_t layer) {
  return emitted("func.func @f(%x: tensor<4xf32> {tandem.input = \"x\"}) -> "
                 "(tensor<4xf32> {tandem.output = \"y\"}) {\n"
                 "%0 = tandem.unary exp, %x {tandem.layer = " +
                 std::to_string(layer) +
                 " : i64} : tensor<4xf32>\nreturn %0 : tensor<4xf32>\n}");
}

TEST(EmitPlan, LayersFit) {
  EXPECT_EQ(ofLayer(32767), "fine");
  EXPECT_NE(ofLayer(40000).find("the layer of 'tandem.launch': got 40000, a "
                                "plan's instruction holds at most 32767"),
            std::string::npos)
      << ofLayer(40000);
}

} // namespace
} // namespace tandem

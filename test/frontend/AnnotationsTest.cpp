//===- AnnotationsTest.cpp - Lines, presets and where they go -----------===//

#include "frontend/Annotations.h"

#include "ir/Dialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "test/frontend/TinyModel.h"

using namespace tandem;
using namespace tandem::test;

namespace {

class Annotations : public testing::Test {
protected:
  void SetUp() override {
    Result<ImportedModel> result = model_.import();
    ASSERT_TRUE(result.ok()) << result.status().message();
    module_ = std::move(result->module);
  }

  /// Declares the mesh and applies `text`.
  Status apply(const std::string &text, const std::string &mesh = "dp=2,tp=2") {
    mesh_ = *Mesh::parse(mesh);
    setMesh(*module_, mesh_);
    TANDEM_ASSIGN(std::vector<Annotation> lines,
                  parseAnnotations(text, "a.txt", mesh_));
    return applyAnnotations(*module_, lines);
  }

  /// The sharding of the parameter that views `key`; empty for none.
  std::string shardingOf(const std::string &key) {
    auto function = module_->lookupSymbol<mlir::func::FuncOp>("logits");
    for (unsigned i = 0; i < function.getNumArguments(); ++i) {
      auto view =
          function.getArgAttrOfType<ViewAttr>(i, TandemDialect::kParameter);
      auto input =
          function.getArgAttrOfType<mlir::StringAttr>(i, TandemDialect::kInput);
      if ((view && view.getKey() == key) || (input && input.getValue() == key))
        if (auto attr = function.getArgAttrOfType<ShardingAttr>(
                i, TandemDialect::kSharding))
          return toString(attr.getValue(mesh_), mesh_);
    }
    return "";
  }

  /// Shardings of the activations called `name`, in order.
  std::vector<std::string> constraintsOf(const std::string &name) {
    std::vector<std::string> shardings;
    module_->walk([&](ShardingConstraintOp op) {
      if (op.getView() && op.getView()->getKey() == name)
        shardings.push_back(
            op.getSharding()
                ? toString(op.getSharding()->getValue(mesh_), mesh_)
                : "");
    });
    return shardings;
  }

  std::string preset(const std::string &mesh, PresetOptions options = {}) {
    mesh_ = *Mesh::parse(mesh);
    auto lines = presetAnnotations(*module_, mesh_, options);
    return lines.ok() ? printAnnotations(*lines, mesh_)
                      : lines.status().message();
  }

  TinyModel model_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  Mesh mesh_;
};

TEST_F(Annotations, GoThroughTheView) {
  ASSERT_OK(
      apply("# queries by heads\n"
            "model.layers.*.self_attn.q_proj.weight : [{\"tp\"}, {}]\n"
            "model.layers.*.self_attn.o_proj.weight : [{}, {\"tp\"}]\n"
            "model.layers.*.mlp.up_proj.weight : [{\"tp\"}, {\"dp\"}]\n"));
  // [kv heads, group, head_dim, hidden]: two KV heads over tp.
  EXPECT_EQ(shardingOf("model.layers.0.self_attn.q_proj.weight"),
            "[{\"tp\"}, {}, {}, {}]");
  EXPECT_EQ(shardingOf("model.layers.1.self_attn.o_proj.weight"),
            "[{}, {\"tp\"}, {}, {}]");
  EXPECT_EQ(shardingOf("model.layers.0.mlp.up_proj.weight"),
            "[{\"tp\"}, {\"dp\"}]");
  EXPECT_EQ(shardingOf("model.norm.weight"), "");
}

TEST_F(Annotations, LaterLinesWin) {
  ASSERT_OK(apply("lm_head.weight : [{\"tp\"}, {}]\n"
                  "lm_head.weight : [{}, {\"tp\"}] # rather so\n"));
  EXPECT_EQ(shardingOf("lm_head.weight"), "[{}, {\"tp\"}]");
}

TEST_F(Annotations, OneLayerCountsForAllThatHaveNone) {
  ASSERT_OK(apply("model.layers.0.mlp.up_proj.weight : [{\"tp\"}, {}]\n"));
  EXPECT_EQ(shardingOf("model.layers.1.mlp.up_proj.weight"), "[{\"tp\"}, {}]");
  ASSERT_OK(apply("model.layers.0.mlp.up_proj.weight : [{\"tp\"}, {}]\n"
                  "model.layers.1.mlp.up_proj.weight : [{}, {\"tp\"}]\n"));
  EXPECT_EQ(shardingOf("model.layers.1.mlp.up_proj.weight"), "[{}, {\"tp\"}]");
}

TEST_F(Annotations, NameActivationsAndInputs) {
  ASSERT_OK(apply("@ffn : [{\"dp\"}, {}, {\"tp\"}]\n"
                  "@heads : [{\"dp\"}, {}, {\"tp\"}]\n"
                  "input_ids : [{\"dp\"}, {}]\n"));
  EXPECT_EQ(constraintsOf("@ffn"),
            (std::vector<std::string>(2, "[{\"dp\"}, {}, {\"tp\"}]")));
  // Query, key, value and result of two layers.
  std::vector<std::string> heads = constraintsOf("@heads");
  ASSERT_EQ(heads.size(), 8u);
  EXPECT_EQ(heads[0], "[{\"dp\"}, {}, {\"tp\"}, {}, {}]");
  EXPECT_EQ(heads[1], "[{\"dp\"}, {}, {\"tp\"}, {}]");
  EXPECT_EQ(shardingOf("input_ids"), "[{\"dp\"}, {}]");
  EXPECT_EQ(constraintsOf("@residual"), std::vector<std::string>(5, ""));
}

TEST_F(Annotations, AreRefusedWithTheirLine) {
  expectRefusal(apply("\n# x\nmodel.layer.*.mlp.up_proj.weight : [{}, {}]"),
                "a.txt:3: unknown name 'model.layer.*.mlp.up_proj.weight'; did "
                "you mean 'model.layers.*.mlp.up_proj.weight'?");
  expectRefusal(apply("@residul : [{}, {}, {}]"),
                "unknown name '@residul'; did you mean '@residual'?");
  expectRefusal(apply("lm_head.weight : [{\"tp\"}]"),
                "a.txt:1: 'lm_head.weight': got a sharding of 1 dimensions, "
                "expected 2 as in shape [11, 8]");
  expectRefusal(apply("lm_head.weight : [{\"xy\"}, {}]"), "a.txt:1: ");
  expectRefusal(apply("lm_head.weight : [{\"tp\"}, {\"tp\"}]"), "a.txt:1: ");
  expectRefusal(
      apply("lm_head.weight"),
      "a.txt:1: expected NAME : SHARDING, got string \"lm_head.weight\"");
  expectRefusal(apply("lm_head.weight : [{\"pp\"}, {}]", "pp=2"),
                "axis \"pp\" holds stages and splits no tensor");
  expectRefusal(readAnnotations(model_.folder / "none.txt", mesh_),
                "cannot read annotations");
}

TEST_F(Annotations, MegatronsPreset) {
  EXPECT_EQ(preset("pp=2,tp=2"), R"(input_ids : [{}, {}]
model.embed_tokens.weight : [{"tp"}, {}]
model.layers.*.input_layernorm.weight : [{}]
model.layers.*.self_attn.q_proj.weight : [{"tp"}, {}]
model.layers.*.self_attn.k_proj.weight : [{"tp"}, {}]
model.layers.*.self_attn.v_proj.weight : [{"tp"}, {}]
model.layers.*.self_attn.o_proj.weight : [{}, {"tp"}]
model.layers.*.post_attention_layernorm.weight : [{}]
model.layers.*.mlp.gate_proj.weight : [{"tp"}, {}]
model.layers.*.mlp.up_proj.weight : [{"tp"}, {}]
model.layers.*.mlp.down_proj.weight : [{}, {"tp"}]
model.norm.weight : [{}]
lm_head.weight : [{"tp"}, {}]
@residual : [{}, {}, {}]
@heads : [{}, {}, {"tp"}]
@ffn : [{}, {}, {"tp"}]
)");
}

TEST_F(Annotations, PresetsCanBePassedBack) {
  std::string text = preset("dp=2,tp=2");
  EXPECT_NE(text.find("@residual : [{\"dp\"}, {}, {}]\n"), std::string::npos);
  EXPECT_NE(text.find("input_ids : [{\"dp\"}, {}]\n"), std::string::npos);
  ASSERT_OK(apply(text));
  mesh_ = *Mesh::parse("dp=2,tp=2");
  EXPECT_EQ(printAnnotations(*parseAnnotations(text, "", mesh_), mesh_), text);
}

TEST_F(Annotations, OtherAxesHaveTheirCustomsToo) {
  PresetOptions options;
  options.sequenceParallel = true;
  EXPECT_NE(preset("tp=2", options).find("@residual : [{}, {\"tp\"}, {}]\n"),
            std::string::npos);
  std::string text = preset("fsdp=2,tp=2");
  EXPECT_NE(text.find("q_proj.weight : [{\"tp\"}, {\"fsdp\"}]\n"),
            std::string::npos);
  EXPECT_NE(text.find("input_ids : [{\"fsdp\"}, {}]\n"), std::string::npos);
  EXPECT_NE(preset("cp=2").find("@residual : [{}, {\"cp\"}, {}]\n"),
            std::string::npos);
}

TEST_F(Annotations, NamesAreListedOnce) {
  std::string text = printNames(listNames(*module_));
  EXPECT_NE(text.find("model.layers.*.self_attn.k_proj.weight [4, 8]  # heads "
                      "model\n"),
            std::string::npos);
  EXPECT_NE(text.find("@heads [1, 32, 8]  # batch sequence heads\n"),
            std::string::npos);
  EXPECT_EQ(text.find("layers.1"), std::string::npos);
}

TEST(FusedAnnotations, SplitEachPart) {
  TANDEM_ASSET_OR_SKIP(path, "models/gpt2");
  mlir::MLIRContext context;
  Result<ImportedModel> model = importModel(path, {}, context);
  ASSERT_OK(model);
  Mesh mesh = *Mesh::parse("tp=4");
  setMesh(*model->module, mesh);
  auto lines = parseAnnotations(
      "transformer.h.*.attn.c_attn.weight : [{}, {\"tp\"}]", "", mesh);
  ASSERT_OK(applyAnnotations(*model->module, *lines));
  auto function = model->module->lookupSymbol<mlir::func::FuncOp>("logits");
  std::vector<std::string> shardings;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto attr = function.getArgAttrOfType<ShardingAttr>(
            i, TandemDialect::kSharding))
      shardings.push_back(toString(attr.getValue(mesh), mesh));
  // q [kv, group, head_dim, d], k and v [kv, head_dim, d], two layers.
  std::string q = "[{\"tp\"}, {}, {}, {}]", kv = "[{\"tp\"}, {}, {}]";
  EXPECT_EQ(shardings, (std::vector<std::string>{q, kv, kv, q, kv, kv}));
}

} // namespace

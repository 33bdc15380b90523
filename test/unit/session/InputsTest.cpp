#include "runtime/session/Inputs.h"
#include "test/unit/exec/PlanSketch.h"

#include <algorithm>

namespace tandem {
namespace {

/// An entry with all inputs that have defaults: 2 rows of up to 6 ids.
class InputsTest : public testing::Test {
protected:
  InputsTest() : plan(sketch()) {}

  static Plan sketch() {
    PlanSketch sketch("tp=1");
    sketch.builder.fact("vocab_size", "6");
    sketch.builder.fact("token_types", "2");
    sketch.entry("logits");
    TensorType tokens = sketch.type({2, 6}, "[{}, {}]", DType::I32);
    TensorType rows = sketch.type({2}, "[{}]", DType::I32);
    for (const char *name :
         {"input_ids", "attention_mask", "token_type_ids", "labels"})
      sketch.input(name, tokens);
    sketch.input("positions", rows);
    sketch.input("lengths", rows);
    TensorType logits = sketch.type({2, 6, 6}, "[{}, {}, {}]");
    TensorType next = sketch.type({2, 6}, "[{}, {}]");
    sketch.output("logits", logits, {sketch.value(0, logits)});
    sketch.output("next", next, {sketch.value(0, next)});
    return sketch.finish();
  }

  static HostTensor ids(const std::vector<int64_t> &shape,
                        std::vector<int64_t> values) {
    HostTensor tensor(DType::I64, shape);
    std::copy(values.begin(), values.end(), tensor.as<int64_t>());
    return tensor;
  }
  static std::vector<int32_t> list(const HostTensor &tensor) {
    return {tensor.as<int32_t>(), tensor.as<int32_t>() + tensor.elements()};
  }
  std::string refusal(const HostTensors &inputs) {
    return bindInputs(plan, 0, inputs).status().message();
  }

  Plan plan;
};

TEST_F(InputsTest, FillsInWhatIsNotGiven) {
  auto bound = bindInputs(
      plan, 0,
      {{"input_ids", ids({2, 6}, {1, 2, 3, 4, 5, 0, 5, 4, 3, 2, 1, 0})}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(list(bound->tensors[0])[6], 5);
  EXPECT_EQ(list(bound->tensors[1]), std::vector<int32_t>(12, 1));
  EXPECT_EQ(list(bound->tensors[2]), std::vector<int32_t>(12, 0));
  EXPECT_EQ(list(bound->tensors[3]), std::vector<int32_t>(12, -100));
  EXPECT_EQ(list(bound->tensors[4]), (std::vector<int32_t>{0, 0}));
  EXPECT_EQ(list(bound->tensors[5]), (std::vector<int32_t>{6, 6}));
}

TEST_F(InputsTest, ShorterSequencesArePadded) {
  auto bound = bindInputs(plan, 0,
                          {{"input_ids", ids({2, 3}, {1, 2, 3, 4, 5, 1})},
                           {"labels", ids({2, 3}, {2, 3, -100, 5, 1, -100})}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(list(bound->tensors[0]),
            (std::vector<int32_t>{1, 2, 3, 0, 0, 0, 4, 5, 1, 0, 0, 0}));
  EXPECT_EQ(list(bound->tensors[1]),
            (std::vector<int32_t>{1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(list(bound->tensors[3]),
            (std::vector<int32_t>{2, 3, -100, -100, -100, -100, 5, 1, -100,
                                  -100, -100, -100}));
  EXPECT_EQ(list(bound->tensors[5]), (std::vector<int32_t>{3, 3}));
}

TEST_F(InputsTest, OutputsAreCutAgain) {
  auto bound = bindInputs(plan, 0, {{"input_ids", ids({1, 3}, {1, 2, 3})}});
  ASSERT_TRUE(bound.ok());
  PortTensors outputs = emptyOutputs(plan, 0);
  for (HostTensor &output : outputs)
    for (int64_t i = 0; i < output.elements(); ++i)
      output.as<float>()[i] = static_cast<float>(i);
  HostTensors named = nameOutputs(plan, 0, bound->tokens, std::move(outputs));
  EXPECT_EQ(named.at("logits").shape, (std::vector<int64_t>{1, 3, 6}));
  EXPECT_EQ(named.at("logits").as<float>()[17], 17);
  // As wide as the sequence, but it is the vocabulary.
  EXPECT_EQ(named.at("next").shape, (std::vector<int64_t>{1, 6}));
}

TEST_F(InputsTest, RefusesWhatDoesNotFit) {
  EXPECT_EQ(refusal({{"input_ids", ids({2, 7}, {})}}),
            "input 'input_ids': the shape is [2, 7], expected at most [2, 6]; "
            "compile with a larger --batch or --max-seq");
  EXPECT_EQ(refusal({{"input_ids", ids({1, 2}, {1, 6})}}),
            "input 'input_ids': element 1 is 6, outside the vocabulary of 6");
  EXPECT_EQ(refusal({{"input_ids", ids({1, 2}, {1, 2})},
                     {"token_type_ids", ids({1, 2}, {2, 0})}}),
            "input 'token_type_ids': element 0 is 2, outside the token types "
            "of 2");
  EXPECT_EQ(refusal({{"input_ids", ids({1, 2}, {1, 2})},
                     {"labels", ids({1, 3}, {1, 2, 3})}}),
            "input 'labels' has the shape [1, 3], other token inputs have "
            "[1, 2]");
  EXPECT_EQ(refusal({{"inptu_ids", ids({1, 2}, {1, 2})}}),
            "entry 'logits' has no input 'inptu_ids'; its inputs are "
            "input_ids, attention_mask, token_type_ids, labels, positions, "
            "lengths; did you mean 'input_ids'?");
}

TEST(Inputs, AMissingMaskSaysHowToGetIt) {
  PlanSketch sketch("tp=1");
  sketch.entry("logits");
  TensorType tokens = sketch.type({1, 2}, "[{}, {}]", DType::I32);
  sketch.input("input_ids", tokens);
  sketch.output("logits", tokens, {sketch.value(0, tokens)});
  Plan plan = sketch.finish();
  HostTensor mask(DType::I64, {1, 2});
  EXPECT_EQ(bindInputs(plan, 0, {{"attention_mask", mask}}).status().message(),
            "entry 'logits' has no input 'attention_mask'; its inputs are "
            "input_ids; compile with --attention-mask");
}

/// An entry of 2 microbatches of 2 rows, of which 3 rows are true.
class MicrobatchInputs : public testing::Test {
protected:
  MicrobatchInputs() : plan(sketch()) {}

  static Plan sketch() {
    PlanSketch sketch("tp=1");
    sketch.builder.fact("vocab_size", "60");
    sketch.entry("gradients");
    TensorType ids = sketch.type({2, 2, 4}, "[{}, {}, {}]", DType::I32);
    TensorType behind = sketch.type({2, 2, 5}, "[{}, {}, {}]", DType::I32);
    sketch.input("labels", behind); // Before ids: the order does not matter.
    sketch.input("input_ids", ids);
    sketch.input("attention_mask", ids);
    TensorType number = sketch.type({}, "[]");
    sketch.input("learning_rate", number);
    sketch.output("loss", number, {sketch.value(0, number)});
    addGradients(sketch);
    return sketch.finish();
  }

  /// Of a stored [2, 6] tensor: columns 0 to 3 as [2, 2, 2], the others
  /// transposed, twice.
  static void addGradients(PlanSketch &sketch) {
    TensorType left = sketch.type({2, 2, 2}, "[{}, {}, {}]");
    TensorType right = sketch.type({2, 2}, "[{}, {}]");
    addView(sketch, "w", left, 0, {6, 2, 1});
    addView(sketch, "w#2", right, 4, {1, 6});
    addView(sketch, "w#3", right, 4, {1, 6});
  }

  static void addView(PlanSketch &sketch, const std::string &name,
                      const TensorType &type, uint64_t offset,
                      std::vector<int64_t> strides) {
    uint32_t parameter = sketch.parameter(name, type);
    fb::ParameterT &table = *sketch.builder.plan.parameters[parameter];
    table.key = "w";
    table.stored_shape = {2, 6};
    table.view_offset = offset;
    table.view_strides = std::move(strides);
    sketch.output("grad." + name, type, {sketch.value(0, type)});
    sketch.builder.plan.entries.back()->outputs.back()->parameter = parameter;
  }

  static HostTensor ids(const std::vector<int64_t> &shape, int64_t first) {
    HostTensor tensor(DType::I64, shape);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      tensor.as<int64_t>()[i] = first + i;
    return tensor;
  }
  static std::vector<int32_t> list(const HostTensor &tensor) {
    return {tensor.as<int32_t>(), tensor.as<int32_t>() + tensor.elements()};
  }

  Plan plan;
  HostTensor rate = HostTensor(DType::F32, {});
};

TEST_F(MicrobatchInputs, RowsAreSpreadAndMissingOnesFilled) {
  auto bound = bindInputs(plan, 0,
                          {{"input_ids", ids({3, 3}, 1)},
                           {"labels", ids({3, 3}, 11)},
                           {"learning_rate", rate}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(list(bound->tensors[1]),
            (std::vector<int32_t>{1, 2, 3, 0, 4, 5, 6, 0, //
                                  7, 8, 9, 0, 0, 0, 0, 0}));
  EXPECT_EQ(list(bound->tensors[0]),
            (std::vector<int32_t>{11,   12,   13,   -100, -100, //
                                  14,   15,   16,   -100, -100, //
                                  17,   18,   19,   -100, -100, //
                                  -100, -100, -100, -100, -100}));
  // Nothing is seen of the padding in true rows, all of a missing row.
  EXPECT_EQ(list(bound->tensors[2]),
            (std::vector<int32_t>{1, 1, 1, 0, 1, 1, 1, 0, //
                                  1, 1, 1, 0, 1, 1, 1, 1}));
  EXPECT_TRUE(bound->tensors[3].shape.empty());
}

TEST_F(MicrobatchInputs, LabelsMayHaveTheIdBehind) {
  auto bound = bindInputs(plan, 0,
                          {{"input_ids", ids({4, 4}, 1)},
                           {"labels", ids({4, 5}, 1)},
                           {"learning_rate", rate}});
  ASSERT_TRUE(bound.ok()) << bound.status().message();
  EXPECT_EQ(list(bound->tensors[0]).back(), 20);
  EXPECT_EQ(bindInputs(plan, 0,
                       {{"input_ids", ids({4, 3}, 1)},
                        {"labels", ids({4, 5}, 1)},
                        {"learning_rate", rate}})
                .status()
                .message(),
            "input 'labels' has the shape [4, 5], other token inputs have "
            "[4, 3]");
}

TEST_F(MicrobatchInputs, ALossNeedsLabels) {
  EXPECT_EQ(bindInputs(plan, 0,
                       {{"input_ids", ids({4, 4}, 1)}, {"learning_rate", rate}})
                .status()
                .message(),
            "input 'labels': missing; entry 'gradients' needs labels, "
            "input_ids, attention_mask, learning_rate");
  EXPECT_EQ(bindInputs(plan, 0,
                       {{"input_ids", ids({5, 4}, 1)},
                        {"labels", ids({5, 4}, 1)},
                        {"learning_rate", rate}})
                .status()
                .message(),
            "input 'labels': the shape is [5, 4], expected at most [4, 5]; "
            "compile with a larger --batch or --max-seq");
}

TEST_F(MicrobatchInputs, GradientsOfViewsBecomeStoredTensors) {
  PortTensors outputs = emptyOutputs(plan, 0);
  *outputs[0].as<float>() = 7;
  for (int64_t i = 0; i < 8; ++i)
    outputs[1].as<float>()[i] = static_cast<float>(i + 1);
  for (int64_t i = 0; i < 4; ++i) {
    outputs[2].as<float>()[i] = static_cast<float>(10 * (i + 1));
    outputs[3].as<float>()[i] = static_cast<float>(100 * (i + 1));
  }
  TokenShape tokens;
  tokens.rows = tokens.fullRows = 2;
  tokens.microbatches = true;
  HostTensors named = nameOutputs(plan, 0, tokens, std::move(outputs));
  ASSERT_EQ(named.size(), 2u);
  EXPECT_EQ(*named.at("loss").as<float>(), 7);
  const HostTensor &w = named.at("grad.w");
  ASSERT_EQ(w.shape, (std::vector<int64_t>{2, 6}));
  EXPECT_EQ(std::vector<float>(w.as<float>(), w.as<float>() + 12),
            (std::vector<float>{1, 2, 3, 4, 110, 330, //
                                5, 6, 7, 8, 220, 440}));
}

} // namespace
} // namespace tandem

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

} // namespace
} // namespace tandem

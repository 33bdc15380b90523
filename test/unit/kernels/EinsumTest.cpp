#include "TestTensor.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>

using namespace tandem;

namespace {

/// An einsum of random tensors: sizes and padding by letter.
struct EinsumCase {
  std::string equation;
  std::map<char, int64_t> sizes, padding;
  DType a = DType::F32, b = DType::F32, out = DType::F32;
  double tolerance = 1e-5;
  double low = -1, high = 1;
};

std::vector<std::string> operandsOf(const std::string &equation) {
  std::vector<std::string> parts(1);
  for (char c : equation.substr(0, equation.find("->")))
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

std::vector<TensorDim> dimsOf(const EinsumCase &test,
                              const std::string &letters) {
  std::vector<TensorDim> dims;
  for (char letter : letters)
    dims.push_back(extent(test.sizes.at(letter), test.padding.count(letter)
                                                     ? test.padding.at(letter)
                                                     : 0));
  return dims;
}

/// The einsum in float64 over copies of the valid lanes.
class Reference {
public:
  Reference(const EinsumCase &test, const std::vector<TestTensor *> &inputs,
            const std::string &result)
      : result(result) {
    std::vector<std::string> operands = operandsOf(test.equation);
    for (size_t t = 0; t < inputs.size(); ++t) {
      std::vector<double> copy;
      forEachIndex(inputs[t]->shape(), [&](const Index &index) {
        copy.push_back(inputs[t]->at(index));
      });
      values.push_back(std::move(copy));
      strides.emplace_back();
      int64_t stride = 1;
      for (size_t d = operands[t].size(); d-- > 0;) {
        char letter = operands[t][d];
        strides[t][letter] = stride;
        stride *= test.sizes.at(letter);
        if (result.find(letter) == std::string::npos)
          summed[letter] = test.sizes.at(letter);
      }
    }
  }

  double operator()(const Index &index) {
    std::vector<int64_t> at(values.size());
    for (size_t t = 0; t < values.size(); ++t)
      for (size_t d = 0; d < result.size(); ++d)
        at[t] += strides[t][result[d]] * index[d];
    return sum(summed.begin(), at);
  }

private:
  using Loops = std::map<char, int64_t>;
  double sum(Loops::const_iterator loop, std::vector<int64_t> at) {
    if (loop == summed.end()) {
      double product = 1;
      for (size_t t = 0; t < values.size(); ++t)
        product *= values[t][at[t]];
      return product;
    }
    double total = 0;
    auto next = loop;
    ++next;
    for (int64_t i = 0; i < loop->second; ++i) {
      total += sum(next, at);
      for (size_t t = 0; t < values.size(); ++t)
        at[t] += strides[t][loop->first];
    }
    return total;
  }

  std::string result;
  std::vector<std::vector<double>> values;
  std::vector<Loops> strides;
  Loops summed;
};

void runCase(const EinsumCase &test) {
  SCOPED_TRACE(test.equation);
  std::mt19937 generator(7);
  std::vector<std::string> operands = operandsOf(test.equation);
  std::string result = test.equation.substr(test.equation.find("->") + 2);
  TestTensor a(test.a, dimsOf(test, operands[0]));
  TestTensor b(test.b, dimsOf(test, operands.back()));
  TestTensor out(test.out, dimsOf(test, result));
  a.random(generator, test.low, test.high);
  b.random(generator, test.low, test.high);
  TestCall call{"einsum", {&a, &b}, {&out}, {}, test.equation};
  if (operands.size() == 1)
    call.inputs.pop_back();
  Status status = call.run();
  ASSERT_TRUE(status.ok()) << status.message();
  Reference reference(test, call.inputs, result);
  expectLanes(out, reference, test.tolerance);
}

TEST(Einsum, FewRowsStreamTheWeightInEitherOrder) {
  for (int64_t rows = 1; rows <= 7; ++rows) {
    runCase({"bd,fd->bf", {{'b', rows}, {'d', 67}, {'f', 35}}, {}});
    runCase({"bd,df->bf", {{'b', rows}, {'d', 67}, {'f', 35}}, {}});
  }
}

TEST(Einsum, ManyRowsAreTiled) {
  runCase({"bsd,fd->bsf", {{'b', 3}, {'s', 53}, {'d', 10}, {'f', 211}}, {}});
  runCase({"bsd,df->bsf", {{'b', 2}, {'s', 70}, {'d', 9}, {'f', 195}}, {}});
}

TEST(Einsum, ReadsValidLanesOnly) {
  for (int64_t rows : {1, 3, 12})
    for (const char *equation :
         {"bskd,kde->bse", "bskd,ekd->bse", "bsd,dkg->bskg", "bse,kde->bskd"})
      runCase({equation,
               {{'b', 1}, {'s', rows}, {'d', 5}, {'k', 3}, {'g', 2}, {'e', 21}},
               {{'b', 1}, {'s', 2}, {'d', 3}, {'k', 1}, {'g', 1}, {'e', 6}}});
}

TEST(Einsum, AnyOrderOfLetters) {
  std::map<char, int64_t> sizes = {{'a', 4}, {'b', 9}, {'c', 11}, {'d', 3}};
  for (const char *equation :
       {"ab,bc->ac", "ba,bc->ac", "ab,cb->ca", "ba,cb->ca", "abd,bcd->acd",
        "dab,dbc->dac", "abd,bcd->cad", "abcd,bd->ac", "dabc,cbd->a",
        "abd,cb->dca", "ab,cd->acbd", "ab,ab->ab", "ab,ab->", "a,b->ba"})
    runCase({equation, sizes, {{'a', 2}, {'b', 1}, {'c', 1}, {'d', 2}}});
}

TEST(Einsum, OneInputAndLoneLetters) {
  std::map<char, int64_t> sizes = {{'a', 4}, {'b', 9}, {'c', 5}};
  for (const char *equation :
       {"abc->ca", "abc->b", "abc->", "abc,bc->c", "ab,c->c"})
    runCase({equation, sizes, {{'b', 2}, {'c', 1}}});
}

TEST(Einsum, NarrowTypesInEveryPlace) {
  for (DType type : {DType::BF16, DType::F16})
    for (int64_t rows : {1, 5, 19}) {
      std::map<char, int64_t> sizes = {{'s', rows}, {'d', 21}, {'f', 38}};
      std::map<char, int64_t> padding = {{'d', 3}, {'s', 1}};
      for (const char *equation : {"sd,fd->sf", "sd,df->sf", "ds,fd->fs"}) {
        runCase({equation, sizes, padding, DType::F32, type, DType::F32});
        runCase({equation, sizes, padding, type, type, DType::F32});
        // Half an ulp of the output's type.
        runCase({equation, sizes, padding, type, type, type, 4e-3});
        runCase({equation, sizes, padding, type, DType::F32, DType::F32});
      }
    }
}

TEST(Einsum, DoublesAndIntegers) {
  std::map<char, int64_t> sizes = {{'a', 6}, {'b', 9}, {'c', 11}};
  runCase({"ab,bc->ac",
           sizes,
           {{'b', 2}},
           DType::F64,
           DType::F64,
           DType::F64,
           1e-14});
  runCase({"ab,cb->ac",
           sizes,
           {{'b', 2}},
           DType::I32,
           DType::I64,
           DType::I64,
           0,
           -1000,
           1000});
}

TEST(Einsum, AnEmptySumIsZeroAndAnEmptyOutputNothing) {
  for (int64_t rows : {1, 9}) {
    runCase({"ab,bc->ac", {{'a', rows}, {'b', 0}, {'c', 5}}, {{'b', 3}}});
    runCase({"ab,bc->ac", {{'a', 0}, {'b', rows}, {'c', 5}}, {{'a', 3}}});
  }
}

TEST(Einsum, RefusesWhatItsRuleDoesNotFit) {
  TestTensor a(DType::F32, {extent(2), extent(3)});
  TestTensor b(DType::F32, {extent(4), extent(5)});
  TestTensor out(DType::F32, {extent(2), extent(5)});
  TestCall call{"einsum", {&a, &b}, {&out}, {}, "ab,bc->ac"};
  EXPECT_EQ(call.check().message(),
            "einsum: a factor is 3 in one tensor and 4 in another");
  TestTensor ints(DType::I32, {extent(3), extent(5)});
  TestCall mixed{"einsum", {&a, &ints}, {&out}, {}, "ab,bc->ac"};
  EXPECT_EQ(mixed.check().message(), "einsum: integers and floats are mixed");
}

} // namespace

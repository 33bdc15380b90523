#include "TestTensor.h"

#include <gtest/gtest.h>

using namespace tandem;

namespace {

/// Rows [begin, begin + valid) of 23 words of d lanes on this rank.
void expectSums(DType type, DType sums, int64_t begin, int64_t valid,
                int64_t d) {
  std::mt19937 generator(5);
  TestTensor ids(DType::I32, {extent(3, 1), extent(15, 2)});
  TestTensor dy(type, {extent(3, 1), extent(15, 2), extent(d, 3)});
  TestTensor out(sums, {extent(valid, 23 - valid, begin, 23), extent(d, 3)});
  ids.fill([&](const Index &) { return generator() % 23; });
  dy.random(generator, -1, 1);
  TestCall call{"embedding_grad", {&ids, &dy}, {&out}, {}, ""};
  ASSERT_TRUE(call.run().ok());
  expectLanes(
      out,
      [&](const Index &o) {
        double total = 0;
        forEachIndex({3, 15}, [&](const Index &i) {
          if (ids.at(i) == begin + o[0])
            total += dy.at({i[0], i[1], o[1]});
        });
        return total;
      },
      sums == DType::F64 ? 1e-15 : 1e-6);
}

TEST(EmbeddingGrad, SumsRowsOfItsWords) {
  for (DType type : {DType::F32, DType::F64, DType::BF16, DType::F16})
    for (int64_t d : {1, 40, 700})
      expectSums(type, DType::F32, 0, 23, d);
  expectSums(DType::F64, DType::F64, 0, 23, 40);
  expectSums(DType::F32, DType::F64, 0, 23, 40);
}

TEST(EmbeddingGrad, OwnsAPartOfTheWords) {
  expectSums(DType::F32, DType::F32, 0, 8, 40);
  expectSums(DType::F32, DType::F32, 8, 8, 40);
  expectSums(DType::F32, DType::F32, 16, 7, 40);
  expectSums(DType::F32, DType::F32, 23, 0, 40);
}

TEST(EmbeddingGrad, Refusals) {
  TestTensor ids(DType::I32, {extent(2)});
  TestTensor dy(DType::F32, {extent(2), extent(4)});
  TestTensor out(DType::F32, {extent(9), extent(4)});
  ids.fill([](const Index &i) { return i[0] * 9; });
  dy.fill([](const Index &) { return 0; });
  TestCall call{"embedding_grad", {&ids, &dy}, {&out}, {}, ""};
  EXPECT_EQ(call.run().message(),
            "embedding_grad: id 9 is outside the vocabulary of 9");
  TestTensor narrow(DType::BF16, out.dims());
  call.outputs[0] = &narrow;
  EXPECT_EQ(call.check().message(),
            "embedding_grad: output 0 has type bf16, expected f32, f64");
  TestTensor wide(DType::F32, {extent(9), extent(5)});
  call.outputs[0] = &wide;
  EXPECT_EQ(call.check().message(),
            "embedding_grad: dimension -1 of input 1 is 4 but dimension 1 of "
            "output 0 is 5");
}

} // namespace

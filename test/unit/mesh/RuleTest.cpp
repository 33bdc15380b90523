#include "runtime/mesh/Rule.h"

#include <gtest/gtest.h>
#include <numeric>

namespace tandem {
namespace {

using Shape = std::vector<int64_t>;

TEST(RuleBuilder, NamesDimensionsByLetters) {
  RuleBuilder builder("bsd,df->bsf");
  builder.kind('d', FactorKind::Reduction).linear(0).linear(1);
  ShardingRule rule = builder.build({{2, 3, 4}, {4, 5}}, {{2, 3, 5}});
  EXPECT_EQ(rule.toString(), "(*[i, j, k], *[k, l]) -> ([i, j, l]) "
                             "{i=2, j=3, k=4 reduction, l=5}");
  EXPECT_FALSE(rule.additive);
  EXPECT_EQ(
      RuleBuilder("a,a->a").allLinear().build({{2}, {2}}, {{2}}).toString(),
      "(+[i], +[i]) -> ([i]) {i=2}");
  EXPECT_EQ(RuleBuilder("a,->a").build({{2}, {}}, {{2}}).toString(),
            "([i], []) -> ([i]) {i=2}");
}

TEST(ShardingRule, ReadsWhatItPrints) {
  ShardingRule embedding = RuleBuilder("vd,bs->bsd")
                               .kind('v', FactorKind::Reduction)
                               .build({{9, 4}, {2, 3}}, {{2, 3, 4}});
  ShardingRule maximum =
      RuleBuilder("ab->a")
          .kind('b', FactorKind::Reduction, ReductionKind::Max)
          .build({{2, 3}}, {{2}});
  ShardingRule slice = RuleBuilder("a->a")
                           .kind('a', FactorKind::Selection)
                           .allLinear()
                           .build({{5}}, {{3}});
  for (const ShardingRule &rule :
       {embedding, maximum, slice, reshapeRule({6, 8, 1}, {48}),
        reshapeRule({6, 4}, {4, 6})}) {
    Result<ShardingRule> read = ShardingRule::parse(rule.toString());
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(*read, rule) << rule.toString();
  }
  EXPECT_FALSE(ShardingRule::parse("([i]) -> ([j]) {i=2}").ok());
  EXPECT_FALSE(ShardingRule::parse("").ok());
}

TEST(ReshapeRule, SharesWhatBoundariesAllow) {
  EXPECT_EQ(reshapeRule({6, 8}, {48}).toString(),
            "(*[i, j]) -> ([ij]) {i=6, j=8}");
  EXPECT_EQ(reshapeRule({48}, {6, 8}).toString(),
            "(*[ij]) -> ([i, j]) {i=6, j=8}");
  EXPECT_EQ(reshapeRule({4, 6}, {8, 3}).toString(),
            "(*[i, jk]) -> ([ij, k]) {i=4, j=2, k=3}");
  EXPECT_EQ(reshapeRule({2, 12, 64}, {2, 768}).toString(),
            "(*[i, j, k]) -> ([i, jk]) {i=2, j=12, k=64}");
  EXPECT_EQ(reshapeRule({1, 5, 1}, {5}).toString(),
            "(*[1, i, 1]) -> ([i]) {i=5}");
  EXPECT_EQ(reshapeRule({}, {1, 1}).toString(), "(*[]) -> ([1, 1]) {}");
  // 2 x 3 rows of 4 and 2 x 2 rows of 6 agree on the 2 only.
  EXPECT_EQ(reshapeRule({6, 4}, {4, 6}).toString(),
            "(*[ij, m]) -> ([ik, l]) {i=2, j=3 must_replicate, k=2 "
            "must_replicate, l=6 must_replicate, m=4 must_replicate}");
}

TEST(ReshapeRule, NothingHangsOnEmptyTensors) {
  EXPECT_EQ(reshapeRule({0, 4}, {0}).toString(),
            "(*[i, j]) -> ([k]) {i=0 must_replicate, j=4 must_replicate, k=0 "
            "must_replicate}");
  EXPECT_EQ(reshapeRule({3, 0}, {0, 7}).factors.size(), 4u);
}

/// The coordinate of an element along each factor, as one tensor counts it.
std::vector<int64_t> coordinates(const ShardingRule &rule,
                                 const FactorMapping &tensor, int64_t element) {
  std::vector<int64_t> result(rule.factors.size(), -1);
  for (size_t d = tensor.dims.size(); d-- > 0;)
    for (size_t k = tensor.dims[d].size(); k-- > 0;) {
      int32_t factor = tensor.dims[d][k];
      result[factor] = element % rule.factors[factor].size;
      element /= rule.factors[factor].size;
    }
  return result;
}

void shapesOf(int64_t elements, Shape &prefix, std::vector<Shape> &all) {
  all.push_back(prefix);
  all.back().push_back(elements);
  if (prefix.size() == 3)
    return;
  for (int64_t size = 1; size <= elements; ++size)
    if (elements % size == 0 && size < elements) {
      prefix.push_back(size);
      shapesOf(elements / size, prefix, all);
      prefix.pop_back();
    }
}

/// The truth about a reshape: element n is element n, so a shared factor must
/// have the same coordinate in both tensors, for every element.
TEST(ReshapeRule, SharedFactorsMeanTheSameElements) {
  for (int64_t elements : {12, 24, 36, 30}) {
    std::vector<Shape> shapes;
    Shape prefix;
    shapesOf(elements, prefix, shapes);
    for (const Shape &from : shapes)
      for (const Shape &to : shapes) {
        ShardingRule rule = reshapeRule(from, to);
        std::vector<int> uses(rule.factors.size(), 0);
        auto check = [&](const FactorMapping &tensor, const Shape &shape) {
          for (size_t d = 0; d < shape.size(); ++d) {
            int64_t product = 1;
            for (int32_t factor : tensor.dims[d]) {
              product *= rule.factors[factor].size;
              ++uses[factor];
            }
            ASSERT_EQ(product, shape[d]) << rule.toString();
          }
        };
        check(rule.operands[0], from);
        check(rule.results[0], to);
        for (size_t f = 0; f < uses.size(); ++f)
          ASSERT_EQ(uses[f],
                    rule.factors[f].kind == FactorKind::PassThrough ? 2 : 1)
              << rule.toString();
        for (int64_t n = 0; n < elements; ++n) {
          std::vector<int64_t> left = coordinates(rule, rule.operands[0], n);
          std::vector<int64_t> right = coordinates(rule, rule.results[0], n);
          for (size_t f = 0; f < left.size(); ++f)
            ASSERT_TRUE(rule.factors[f].kind != FactorKind::PassThrough ||
                        left[f] == right[f])
                << rule.toString();
        }
      }
  }
}

/// Merging and splitting back must lose nothing: every dimension boundary
/// that both shapes have separates factors.
TEST(ReshapeRule, NeverSharesLessThanTheLeadingDivisor) {
  EXPECT_EQ(reshapeRule({8, 3}, {4, 6}).factors.size(), 3u);
  EXPECT_EQ(reshapeRule({3, 32}, {96}).factors.size(), 2u);
  EXPECT_EQ(reshapeRule({2, 3, 4, 5}, {6, 20}).toString(),
            "(*[i, j, k, l]) -> ([ij, kl]) {i=2, j=3, k=4, l=5}");
}

TEST(EinsumEquation, ParsesAndRefuses) {
  Result<EinsumEquation> good = EinsumEquation::parse("ab,bc->ac");
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good->operands, std::vector<std::string>({"ab", "bc"}));
  EXPECT_EQ(good->result, "ac");
  EXPECT_EQ(EinsumEquation::parse("ab->")->result, "");
  auto refusal = [](const char *text) {
    return EinsumEquation::parse(text).status().message();
  };
  EXPECT_EQ(refusal("ab"),
            "equation 'ab': expected '->' between operands and result");
  EXPECT_EQ(refusal("aa->a"), "equation 'aa->a': letter 'a' stands twice in "
                              "'aa'");
  EXPECT_EQ(refusal("a b->a"), "equation 'a b->a': ' ' is no letter");
  EXPECT_EQ(refusal("ab->ac"),
            "equation 'ab->ac': letter 'c' of the result is in no operand");
}

} // namespace
} // namespace tandem

#include "runtime/mesh/Rule.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
#include <functional>
#include <numeric>

namespace tandem {
namespace {

std::vector<std::string> splitList(std::string_view text) {
  std::vector<std::string> parts;
  if (text.empty())
    return parts;
  size_t begin = 0;
  while (true) {
    size_t comma = text.find(',', begin);
    parts.emplace_back(text.substr(begin, comma - begin));
    if (comma == std::string_view::npos)
      return parts;
    begin = comma + 1;
  }
}

constexpr std::string_view kLetters =
    "ijklmnopqrstuvwxyzabcdefghABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// `i`, `j`, ..., then `{52}`, `{53}`, ...
std::string letterOf(size_t factor) {
  return factor < kLetters.size() ? std::string(1, kLetters[factor])
                                  : "{" + std::to_string(factor) + "}";
}

std::string toText(const std::vector<FactorMapping> &tensors, bool additive) {
  std::string text = "(";
  for (size_t t = 0; t < tensors.size(); ++t) {
    text += t ? ", " : "";
    text += !tensors[t].linear ? "[" : additive ? "+[" : "*[";
    for (size_t d = 0; d < tensors[t].dims.size(); ++d) {
      text += d ? ", " : "";
      for (int32_t factor : tensors[t].dims[d])
        text += letterOf(factor);
      if (tensors[t].dims[d].empty())
        text += "1";
    }
    text += "]";
  }
  return text + ")";
}

struct KindRow {
  std::string_view text;
  FactorKind kind;
  ReductionKind reduction;
};
constexpr KindRow kindRows[] = {
    {" reduction", FactorKind::Reduction, ReductionKind::Sum},
    {" max_reduction", FactorKind::Reduction, ReductionKind::Max},
    {" min_reduction", FactorKind::Reduction, ReductionKind::Min},
    {" selection", FactorKind::Selection, ReductionKind::Sum},
    {" must_replicate", FactorKind::MustReplicate, ReductionKind::Sum},
    {"", FactorKind::PassThrough, ReductionKind::Sum},
};

std::string_view kindText(const Factor &factor) {
  for (const KindRow &row : kindRows)
    if (row.kind == factor.kind && (row.kind != FactorKind::Reduction ||
                                    row.reduction == factor.reduction))
      return row.text;
  return "";
}

/// Reads what ShardingRule::toString prints.
class RuleReader {
public:
  explicit RuleReader(std::string_view text) : text(text) {}

  Result<ShardingRule> rule() {
    ShardingRule rule;
    TANDEM_TRY(tensors(rule.operands));
    TANDEM_TRY(expect(" -> "));
    TANDEM_TRY(tensors(rule.results));
    rule.additive = additive;
    TANDEM_TRY(expect(" {"));
    while (!accept("}")) {
      if (!rule.factors.empty())
        TANDEM_TRY(expect(", "));
      int32_t index = 0;
      TANDEM_TRY(factor(index));
      if (index != static_cast<int32_t>(rule.factors.size()))
        return error("factors are not in order");
      TANDEM_TRY(expect("="));
      Factor next;
      TANDEM_TRY(number(next.size));
      for (const KindRow &row : kindRows)
        if (accept(row.text)) {
          next.kind = row.kind;
          next.reduction = row.reduction;
          break;
        }
      rule.factors.push_back(next);
    }
    return checked(std::move(rule));
  }

private:
  Result<ShardingRule> checked(ShardingRule rule) const {
    for (const auto *list : {&rule.operands, &rule.results})
      for (const FactorMapping &tensor : *list)
        for (const auto &dim : tensor.dims)
          for (int32_t index : dim)
            if (index >= static_cast<int32_t>(rule.factors.size()))
              return error("a dimension has an unknown factor");
    return rule;
  }

  Status tensors(std::vector<FactorMapping> &list) {
    TANDEM_TRY(expect("("));
    while (!accept(")")) {
      if (!list.empty())
        TANDEM_TRY(expect(", "));
      FactorMapping tensor;
      bool sums = accept("+");
      additive |= sums;
      tensor.linear = sums || accept("*");
      TANDEM_TRY(expect("["));
      while (!accept("]")) {
        if (!tensor.dims.empty())
          TANDEM_TRY(expect(", "));
        std::vector<int32_t> dim;
        if (!accept("1"))
          while (at < text.size() && text[at] != ',' && text[at] != ']')
            TANDEM_TRY(factor(dim.emplace_back()));
        tensor.dims.push_back(std::move(dim));
      }
      list.push_back(std::move(tensor));
    }
    return Status();
  }

  Status factor(int32_t &index) {
    if (accept("{")) {
      int64_t value = 0;
      TANDEM_TRY(number(value));
      index = static_cast<int32_t>(std::min<int64_t>(value, INT32_MAX));
      return expect("}");
    }
    size_t letter =
        at < text.size() ? kLetters.find(text[at]) : std::string_view::npos;
    if (letter == std::string_view::npos)
      return error("expected a factor");
    ++at;
    index = static_cast<int32_t>(letter);
    return Status();
  }

  Status number(int64_t &value) {
    auto [end, failed] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (failed != std::errc() || value < 0)
      return error("expected a number");
    at = end - text.data();
    return Status();
  }

  bool accept(std::string_view word) {
    if (text.substr(at, word.size()) != word)
      return false;
    at += word.size();
    return true;
  }
  Status expect(std::string_view word) {
    return accept(word) ? Status()
                        : error("expected '" + std::string(word) + "'");
  }
  Status error(const std::string &what) const {
    return Status::refused("rule '" + std::string(text) + "': " + what +
                           " at column " + std::to_string(at + 1));
  }

  std::string_view text;
  size_t at = 0;
  bool additive = false;
};

} // namespace

bool ShardingRule::leavesUnreduced(size_t factor, size_t result) const {
  auto has = [&](const FactorMapping &mapping) {
    for (const std::vector<int32_t> &dim : mapping.dims)
      for (int32_t own : dim)
        if (own == static_cast<int32_t>(factor))
          return true;
    return false;
  };
  if (factors[factor].kind == FactorKind::Reduction)
    return true;
  return factors[factor].kind == FactorKind::PassThrough &&
         !has(results[result]) &&
         std::any_of(operands.begin(), operands.end(), has);
}

std::string ShardingRule::toString() const {
  std::string text =
      toText(operands, additive) + " -> " + toText(results, false) + " {";
  for (size_t f = 0; f < factors.size(); ++f) {
    text += (f ? ", " : "") + letterOf(f) + "=";
    text += std::to_string(factors[f].size);
    text += kindText(factors[f]);
  }
  return text + "}";
}

Result<ShardingRule> ShardingRule::parse(std::string_view text) {
  return RuleReader(text).rule();
}

RuleBuilder::RuleBuilder(std::string_view equation) {
  size_t arrow = equation.find("->");
  assert(arrow != std::string_view::npos && "an equation has an arrow");
  // "->b" has no operand, ",b->b" a scalar first.
  operands = splitList(equation.substr(0, arrow));
  results = splitList(equation.substr(arrow + 2));
  if (results.empty())
    results.emplace_back();
  for (const auto *list : {&operands, &results})
    for (const std::string &tensor : *list)
      for (char letter : tensor)
        if (letters.find(letter) == std::string::npos)
          letters += letter;
  rule.factors.resize(letters.size());
  rule.operands.resize(operands.size());
  rule.results.resize(results.size());
}

int32_t RuleBuilder::factorOf(char letter) const {
  size_t index = letters.find(letter);
  assert(index != std::string::npos && "no such letter");
  return static_cast<int32_t>(index);
}

RuleBuilder &RuleBuilder::kind(char letter, FactorKind kind,
                               ReductionKind reduction) {
  rule.factors[factorOf(letter)].kind = kind;
  rule.factors[factorOf(letter)].reduction = reduction;
  return *this;
}

RuleBuilder &RuleBuilder::linear(size_t operand) {
  rule.operands[operand].linear = true;
  return *this;
}

RuleBuilder &RuleBuilder::allLinear() {
  for (FactorMapping &operand : rule.operands)
    operand.linear = true;
  return additive();
}

RuleBuilder &RuleBuilder::additive() {
  rule.additive = true;
  return *this;
}

ShardingRule
RuleBuilder::build(const std::vector<std::vector<int64_t>> &operandShapes,
                   const std::vector<std::vector<int64_t>> &resultShapes) {
  auto fill = [&](const std::vector<std::string> &texts,
                  const std::vector<std::vector<int64_t>> &shapes,
                  std::vector<FactorMapping> &mappings) {
    assert(texts.size() == shapes.size() && "one shape for each tensor");
    for (size_t t = 0; t < texts.size(); ++t) {
      assert(texts[t].size() == shapes[t].size() && "one letter a dimension");
      mappings[t].dims.clear();
      for (size_t d = 0; d < texts[t].size(); ++d) {
        int32_t factor = factorOf(texts[t][d]);
        rule.factors[factor].size = shapes[t][d];
        mappings[t].dims.push_back({factor});
      }
    }
  };
  fill(operands, operandShapes, rule.operands);
  fill(results, resultShapes, rule.results);
  return rule;
}

namespace {

/// Walks two shapes of as many elements from the left. `left` and `right` are
/// what is still unexplained of the dimensions i and j.
class ReshapeWalk {
public:
  ReshapeWalk(const std::vector<int64_t> &from, const std::vector<int64_t> &to)
      : from(from), to(to) {
    operand.dims.resize(from.size());
    result.dims.resize(to.size());
    operand.linear = true;
  }

  ShardingRule run() {
    skipExplained();
    while (i < from.size() && j < to.size()) {
      int64_t shared = std::gcd(left, right);
      if (shared > 1)
        share(shared);
      // Where neither side is used up, boundaries do not agree any more.
      if (left > 1 && right > 1)
        separate();
      skipExplained();
    }
    return finish();
  }

  /// Every dimension a factor of its own that is never split.
  ShardingRule keepApart() {
    for (size_t d = 0; d < from.size(); ++d)
      operand.dims[d].push_back(add(from[d], FactorKind::MustReplicate));
    for (size_t d = 0; d < to.size(); ++d)
      result.dims[d].push_back(add(to[d], FactorKind::MustReplicate));
    return finish();
  }

private:
  int32_t add(int64_t size, FactorKind kind) {
    rule.factors.push_back({size, kind, ReductionKind::Sum});
    return static_cast<int32_t>(rule.factors.size() - 1);
  }

  void skipExplained() {
    while (left == 1 && i < from.size())
      if (++i < from.size())
        left = from[i];
    while (right == 1 && j < to.size())
      if (++j < to.size())
        right = to[j];
  }

  void share(int64_t size) {
    int32_t factor = add(size, FactorKind::PassThrough);
    operand.dims[i].push_back(factor);
    result.dims[j].push_back(factor);
    left /= size;
    right /= size;
  }

  /// Explains everything up to the next common boundary by factors of one
  /// side that are never split.
  void separate() {
    int64_t leftProduct = left, rightProduct = right;
    operand.dims[i].push_back(add(left, FactorKind::MustReplicate));
    result.dims[j].push_back(add(right, FactorKind::MustReplicate));
    while (leftProduct != rightProduct) {
      if (leftProduct < rightProduct) {
        leftProduct *= from[++i];
        operand.dims[i].push_back(add(from[i], FactorKind::MustReplicate));
      } else {
        rightProduct *= to[++j];
        result.dims[j].push_back(add(to[j], FactorKind::MustReplicate));
      }
    }
    left = right = 1;
  }

  ShardingRule finish() {
    rule.operands.push_back(std::move(operand));
    rule.results.push_back(std::move(result));
    return std::move(rule);
  }

  const std::vector<int64_t> &from, &to;
  ShardingRule rule;
  FactorMapping operand, result;
  size_t i = 0, j = 0;
  int64_t left = from.empty() ? 1 : from[0], right = to.empty() ? 1 : to[0];
};

} // namespace

ShardingRule reshapeRule(const std::vector<int64_t> &from,
                         const std::vector<int64_t> &to) {
  auto product = [](const std::vector<int64_t> &shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t(1),
                           std::multiplies<>());
  };
  int64_t elements = product(from);
  assert(elements == product(to) && "a reshape keeps the number of elements");
  if (elements == 0) // Nothing to split, and no boundaries to compare.
    return ReshapeWalk(from, to).keepApart();
  return ReshapeWalk(from, to).run();
}

Result<EinsumEquation> EinsumEquation::parse(std::string_view text) {
  auto bad = [&](const std::string &why) {
    return Status::refused("equation '" + std::string(text) + "': " + why);
  };
  size_t arrow = text.find("->");
  if (arrow == std::string_view::npos)
    return bad("expected '->' between operands and result");
  EinsumEquation equation;
  equation.operands = splitList(text.substr(0, arrow));
  if (equation.operands.empty())
    equation.operands.emplace_back();
  equation.result = std::string(text.substr(arrow + 2));
  auto check = [&](const std::string &letters) -> Status {
    for (size_t i = 0; i < letters.size(); ++i) {
      char c = letters[i];
      if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')))
        return bad(std::string("'") + c + "' is no letter");
      if (letters.find(c, i + 1) != std::string::npos)
        return bad(std::string("letter '") + c + "' stands twice in '" +
                   letters + "'");
    }
    return Status();
  };
  for (const std::string &operand : equation.operands)
    TANDEM_TRY(check(operand));
  TANDEM_TRY(check(equation.result));
  for (char c : equation.result)
    if (std::none_of(equation.operands.begin(), equation.operands.end(),
                     [&](const std::string &operand) {
                       return operand.find(c) != std::string::npos;
                     }))
      return bad(std::string("letter '") + c +
                 "' of the result is in no operand");
  return equation;
}

} // namespace tandem

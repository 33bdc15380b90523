#include "runtime/mesh/Rule.h"

#include <algorithm>
#include <cassert>
#include <cctype>
#include <charconv>
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

ShardingRule reshapeRule(const std::vector<int64_t> &from,
                         const std::vector<int64_t> &to) {
  ShardingRule rule;
  FactorMapping operand, result;
  operand.dims.resize(from.size());
  result.dims.resize(to.size());
  operand.linear = true;
  auto add = [&](int64_t size, FactorKind kind) {
    rule.factors.push_back({size, kind, ReductionKind::Sum});
    return static_cast<int32_t>(rule.factors.size() - 1);
  };
  // Walks both shapes from the left; `left` and `right` are what is still
  // unexplained of the current dimensions. A factor that divides both is
  // shared; what does not is a factor of one side that is never split.
  size_t i = 0, j = 0;
  int64_t left = from.empty() ? 1 : from[0], right = to.empty() ? 1 : to[0];
  bool agree = true; // whether everything to the left in the group is shared
  while (i < from.size() || j < to.size()) {
    if (left == 1 || i == from.size()) {
      if (i < from.size()) {
        left = ++i < from.size() ? from[i] : 1;
        continue;
      }
    }
    if (right == 1 || j == to.size()) {
      if (j < to.size()) {
        right = ++j < to.size() ? to[j] : 1;
        continue;
      }
      continue;
    }
    int64_t shared = std::gcd(left, right);
    if (left == right)
      shared = left;
    if (shared > 1 && (shared == left || shared == right) && agree) {
      int32_t factor = add(shared, FactorKind::PassThrough);
      operand.dims[i].push_back(factor);
      result.dims[j].push_back(factor);
      left /= shared;
      right /= shared;
      continue;
    }
    // Boundaries no longer agree: share the leading common divisor, then
    // leave the rest of this group to factors that are never split.
    if (shared > 1 && agree) {
      int32_t factor = add(shared, FactorKind::PassThrough);
      operand.dims[i].push_back(factor);
      result.dims[j].push_back(factor);
      left /= shared;
      right /= shared;
    }
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
  rule.operands.push_back(std::move(operand));
  rule.results.push_back(std::move(result));
  return rule;
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

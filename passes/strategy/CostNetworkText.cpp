#include "passes/strategy/CostNetwork.h"

#include <cctype>
#include <charconv>

namespace tandem {
namespace {

std::string quoted(const std::string &name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\')
      text += '\\';
    text += c == '\n' ? "\\n" : std::string(1, c);
  }
  return text + '"';
}

std::string textOf(int64_t cost) {
  return cost == kForbidden ? "forbidden" : std::to_string(cost);
}

/// Reads one line.
class Line {
public:
  Line(const std::string &text, size_t number) : text(text), number(number) {
    skipSpace();
  }

  bool atEnd() const { return at == text.size(); }

  bool take(const std::string &word) {
    if (text.compare(at, word.size(), word) != 0)
      return false;
    at += word.size();
    skipSpace();
    return true;
  }

  Status expect(const std::string &word) {
    return take(word) ? Status() : expected("'" + word + "'");
  }

  template <typename Integer> Result<Integer> integer(const char *what) {
    Integer value;
    auto [end, error] =
        std::from_chars(text.data() + at, text.data() + text.size(), value);
    if (error != std::errc())
      return expected(what);
    at = end - text.data();
    skipSpace();
    return value;
  }

  Result<int64_t> cost() {
    if (take("forbidden"))
      return kForbidden;
    return integer<int64_t>("a cost or 'forbidden'");
  }

  Result<std::string> name() {
    if (atEnd() || text[at] != '"')
      return expected("a name in quotes");
    std::string name;
    for (++at; at < text.size() && text[at] != '"'; ++at) {
      bool escaped = text[at] == '\\' && at + 1 < text.size();
      at += escaped;
      name += escaped && text[at] == 'n' ? '\n' : text[at];
    }
    TANDEM_TRY(expect("\""));
    return name;
  }

  Status expected(const std::string &what) const {
    std::string got = atEnd() ? "its end" : "'" + text.substr(at, 20) + "'";
    return Status::refused("cost network: line " + std::to_string(number) +
                           ": expected " + what + ", got " + got);
  }

private:
  void skipSpace() {
    while (!atEnd() && std::isspace(static_cast<unsigned char>(text[at])))
      ++at;
  }

  const std::string &text;
  size_t number, at = 0;
};

Status parseVariable(Line &line, CostNetwork &network) {
  TANDEM_TRY(line.expect(std::to_string(network.variables.size())));
  CostVariable variable;
  TANDEM_ASSIGN(variable.name, line.name());
  TANDEM_TRY(line.expect(":"));
  do {
    CostAlternative alternative;
    TANDEM_ASSIGN(alternative.name, line.name());
    TANDEM_ASSIGN(alternative.cost, line.cost());
    variable.alternatives.push_back(std::move(alternative));
  } while (line.take(","));
  network.variables.push_back(std::move(variable));
  return Status();
}

Status parseTerm(Line &line, CostNetwork &network) {
  CostTerm term;
  while (!line.take(":")) {
    TANDEM_ASSIGN(int variable, line.integer<int>("a variable's number"));
    term.variables.push_back(variable);
  }
  do {
    TANDEM_ASSIGN(int64_t cost, line.cost());
    term.costs.push_back(cost);
  } while (line.take(","));
  network.terms.push_back(std::move(term));
  return Status();
}

Status parseLine(Line line, CostNetwork &network) {
  if (line.atEnd() || line.take("#"))
    return Status();
  if (line.take("variable"))
    TANDEM_TRY(parseVariable(line, network));
  else if (line.take("term"))
    TANDEM_TRY(parseTerm(line, network));
  else
    return line.expected("'variable' or 'term'");
  return line.atEnd() ? Status() : line.expected("',' or the line's end");
}

} // namespace

std::string CostNetwork::toString() const {
  std::string text;
  for (size_t v = 0; v < variables.size(); ++v) {
    text += "variable " + std::to_string(v) + " " + quoted(variables[v].name);
    const char *separator = ": ";
    for (const CostAlternative &alternative : variables[v].alternatives) {
      text +=
          separator + quoted(alternative.name) + " " + textOf(alternative.cost);
      separator = ", ";
    }
    text += "\n";
  }
  for (const CostTerm &term : terms) {
    text += "term";
    for (int v : term.variables)
      text += " " + std::to_string(v);
    const char *separator = ": ";
    for (int64_t cost : term.costs) {
      text += separator + textOf(cost);
      separator = ", ";
    }
    text += "\n";
  }
  return text;
}

Result<CostNetwork> CostNetwork::parse(const std::string &text) {
  CostNetwork network;
  size_t number = 0;
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    TANDEM_TRY(parseLine(Line(line, ++number), network));
    start = end + 1;
  }
  TANDEM_TRY(network.check());
  return network;
}

} // namespace tandem

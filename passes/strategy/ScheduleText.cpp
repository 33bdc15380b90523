#include "passes/strategy/ScheduleText.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace tandem {
namespace {

/// Numbers beyond it are slips of the hand.
constexpr int64_t kMostStages = 1 << 16;
constexpr int64_t kMostMicrobatches = 1 << 20;

/// An action as it stands in the text.
struct Written {
  ScheduleAction action;
  int64_t line = 0;
};

class TableReader {
public:
  TableReader(const std::string &text, const std::string &name)
      : text(text), name(name) {}

  Result<PipelineSchedule> read();

private:
  Status readLine(std::string line);
  Status readWord(const std::string &word);
  Status readCoordinate(const std::string &word);
  std::optional<Written> actionOf(const std::string &word) const;
  Status place();
  ScheduleProblem problem() const;
  Status complaint(int64_t line, const std::string &message) const {
    return Status::refused(name + ":" + std::to_string(line) + ": " + message);
  }

  const std::string &text;
  const std::string &name;
  int64_t line = 0;
  std::vector<int64_t> lineOf; ///< Of each coordinate.
  std::vector<std::vector<Written>> written;
  std::vector<int64_t> coordinateOf; ///< Of each stage, -1 while unknown.
};

/// Takes a number from 0 to `most` off the front of `word`.
std::optional<int64_t> takeNumber(std::string_view &word, int64_t most) {
  int64_t value = 0;
  const char *begin = word.data(), *end = begin + word.size();
  if (word.empty() || word[0] < '0' || word[0] > '9')
    return std::nullopt;
  auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || value > most)
    return std::nullopt;
  word.remove_prefix(rest - begin);
  return value;
}

/// A word of a file that may be anything, fit for a line.
std::string quoted(const std::string &word) {
  static const char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned char c : word.substr(0, 32))
    if (c > 0x20 && c < 0x7f)
      text += static_cast<char>(c);
    else
      text += {'\\', 'x', digits[c >> 4], digits[c & 15]};
  return "'" + text + (word.size() > 32 ? "'..." : "'");
}

std::optional<ActionKind> kindOf(char letter) {
  for (int k = 0; k < kActionKinds; ++k)
    if (letter == letterOf(static_cast<ActionKind>(k)))
      return static_cast<ActionKind>(k);
  return std::nullopt;
}

/// An action of the current coordinate.
std::optional<Written> TableReader::actionOf(const std::string &word) const {
  std::string_view rest = word;
  std::optional<ActionKind> kind = kindOf(rest[0]);
  rest.remove_prefix(1);
  std::optional<int64_t> microbatch = takeNumber(rest, kMostMicrobatches);
  std::optional<int64_t> stage = static_cast<int64_t>(written.size()) - 1;
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    stage = takeNumber(rest, kMostStages);
  }
  if (!kind || !microbatch || !stage || !rest.empty())
    return std::nullopt;
  return Written{{*kind, *stage, *microbatch, 0}, line};
}

Status TableReader::readCoordinate(const std::string &word) {
  std::string expected = std::to_string(written.size()) + ":";
  if (word != expected)
    return complaint(line, "expected coordinate '" + expected + "', got " +
                               quoted(word) +
                               "; coordinates stand in their order, a "
                               "line that begins with a blank goes on with the "
                               "one above");
  written.emplace_back();
  lineOf.push_back(line);
  return Status();
}

Status TableReader::readWord(const std::string &word) {
  std::optional<Written> action = actionOf(word);
  if (!action)
    return complaint(line,
                     "expected an action such as F0, B2 or W1.3 (forward, "
                     "backward or weight, the microbatch, the stage), got " +
                         quoted(word));
  written.back().push_back(*action);
  return Status();
}

Status TableReader::readLine(std::string content) {
  content = content.substr(0, content.find('#'));
  size_t first = content.find_first_not_of(" \t\r");
  if (first == std::string::npos)
    return Status();
  if (first == 0 || written.empty()) {
    size_t end =
        std::min(content.find_first_of(": \t\r", first), content.size());
    end += end < content.size() && content[end] == ':';
    TANDEM_TRY(readCoordinate(content.substr(first, end - first)));
    content = content.substr(end);
  }
  std::istringstream words(content);
  for (std::string word; words >> word;)
    TANDEM_TRY(readWord(word));
  return Status();
}

/// Says of each stage which coordinate holds it.
Status TableReader::place() {
  for (size_t c = 0; c < written.size(); ++c)
    for (const Written &w : written[c]) {
      size_t stage = static_cast<size_t>(w.action.stage);
      if (stage >= coordinateOf.size())
        coordinateOf.resize(stage + 1, -1);
      int64_t &holder = coordinateOf[stage];
      if (holder >= 0 && holder != static_cast<int64_t>(c))
        return complaint(w.line, "stage " + std::to_string(stage) +
                                     " is on coordinate " + std::to_string(c) +
                                     " and on coordinate " +
                                     std::to_string(holder));
      holder = static_cast<int64_t>(c);
    }
  for (size_t c = 0; c < written.size(); ++c)
    if (written[c].empty())
      return complaint(lineOf[c],
                       "coordinate " + std::to_string(c) + " has no actions");
  for (size_t stage = 0; stage < coordinateOf.size(); ++stage)
    if (coordinateOf[stage] < 0)
      return complaint(lineOf.back(),
                       "stage " + std::to_string(stage) +
                           " has no actions, but stage " +
                           std::to_string(coordinateOf.size() - 1) + " has");
  return Status();
}

ScheduleProblem TableReader::problem() const {
  ScheduleProblem problem;
  problem.coordinates = static_cast<int64_t>(written.size());
  problem.coordinateOf = coordinateOf;
  for (const std::vector<Written> &list : written)
    for (const Written &w : list) {
      problem.microbatches =
          std::max(problem.microbatches, w.action.microbatch + 1);
      problem.split |= w.action.kind == ActionKind::Weight;
    }
  return problem;
}

Result<PipelineSchedule> TableReader::read() {
  for (size_t start = 0; start < text.size();) {
    size_t end = std::min(text.find('\n', start), text.size());
    ++line;
    TANDEM_TRY(readLine(text.substr(start, end - start)));
    start = end + 1;
  }
  if (written.empty())
    return complaint(std::max<int64_t>(line, 1),
                     "no coordinate; expected lines such as '0: F0 B0'");
  TANDEM_TRY(place());
  PipelineSchedule made;
  made.problem = problem();
  TANDEM_TRY(made.problem.check().withContext(name));
  std::vector<ActionList> lists;
  for (const std::vector<Written> &list : written) {
    lists.emplace_back();
    for (const Written &w : list)
      lists.back().push_back(w.action);
  }
  made.schedule = assignSlots(made.problem, std::move(lists));
  ScheduleFault fault = findFault(made.problem, made.schedule);
  if (fault.message.empty())
    return made;
  int64_t c = std::max<int64_t>(fault.coordinate, 0);
  return complaint(fault.place < 0 ? lineOf[c] : written[c][fault.place].line,
                   fault.message);
}

} // namespace

Result<PipelineSchedule> parseSchedule(const std::string &text,
                                       const std::string &name) {
  return TableReader(text, name).read();
}

std::string printSchedule(const PipelineSchedule &pipeline) {
  std::string text;
  for (size_t c = 0; c < pipeline.schedule.actions.size(); ++c) {
    text += std::to_string(c) + ":";
    for (const ScheduleAction &action : pipeline.schedule.actions[c])
      text += " " + pipeline.problem.nameOf(action);
    text += "\n";
  }
  return text;
}

} // namespace tandem

#include "tools/commands/SchedulePicture.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tandem {
namespace {

/// All times that an action may take and that are not 0.
std::vector<double> timesOf(const ScheduleProblem &problem) {
  std::set<double> times;
  for (int64_t stage = 0; stage < problem.stages(); ++stage)
    for (int k = 0; k <= static_cast<int>(problem.lastKind()); ++k)
      times.insert(problem.timeOf(static_cast<ActionKind>(k), stage));
  times.insert(problem.transfer);
  times.erase(0);
  return {times.begin(), times.end()};
}

/// A time that all are a multiple of, or a fourth of the shortest.
double gridOf(const std::vector<double> &times, double shortest) {
  double grid = shortest;
  for (double time : times)
    for (double rest = time; rest > 1e-6 * shortest;) {
      double next = std::fmod(grid, rest);
      grid = rest;
      rest = rest - next < 1e-6 * shortest ? 0 : next;
    }
  return shortest / grid > 8 ? shortest / 4 : grid;
}

/// Turns time into columns, wide enough for the labels of all actions.
class Columns {
public:
  explicit Columns(const ScheduleScene &scene) {
    size_t label = 0;
    for (const ActionList &list : scene.pipeline.schedule.actions)
      for (const ScheduleAction &action : list)
        label = std::max(label, scene.labelOf(action).size());
    double shortest = scene.shortest();
    grid = gridOf(timesOf(scene.pipeline.problem), shortest);
    perGrid = static_cast<int64_t>(std::ceil(static_cast<double>(label + 1) /
                                             std::round(shortest / grid)));
  }
  int64_t at(double time) const {
    return static_cast<int64_t>(std::llround(time / grid)) * perGrid;
  }

private:
  double grid = 1;
  int64_t perGrid = 1;
};

struct Span {
  std::string text; ///< Ends with a blank.
  int colour = 0;   ///< Of the terminal, 0 for none.
};

std::string padded(std::string text, int64_t width, char fill) {
  if (width < 1)
    return "";
  text.resize(std::max<size_t>(text.size(), width - 1), fill);
  text.resize(width - 1);
  return text + " ";
}

std::vector<Span> rowOf(const ScheduleScene &scene, const Columns &columns,
                        int64_t coordinate) {
  static constexpr char fills[] = {'-', '=', '+'};
  static constexpr int colours[] = {46, 42, 43}; // cyan, green, yellow
  std::vector<Span> row;
  int64_t at = 0;
  const ActionList &list = scene.pipeline.schedule.actions[coordinate];
  for (size_t i = 0; i < list.size(); ++i) {
    const TimedAction &time = scene.timeline.actions[coordinate][i];
    int64_t start = columns.at(time.start), end = columns.at(time.end);
    row.push_back({padded("", start - at, '.'), 0});
    int kind = static_cast<int>(list[i].kind);
    row.push_back({padded(scene.labelOf(list[i]), end - start, fills[kind]),
                   colours[kind]});
    at = end;
  }
  int64_t end = columns.at(scene.timeline.makespan);
  row.push_back({padded("", end - at, '.'), 0});
  return row;
}

/// Columns `from` to `to` of a row.
std::string cut(const std::vector<Span> &row, int64_t from, int64_t to,
                bool colour) {
  std::string text;
  int64_t at = 0;
  for (const Span &span : row) {
    auto size = static_cast<int64_t>(span.text.size());
    int64_t begin = std::max(from, at), end = std::min(to, at + size);
    if (begin < end) {
      std::string part = span.text.substr(begin - at, end - begin);
      bool blank = part.back() == ' ';
      if (colour && span.colour)
        part = "\033[30;" + std::to_string(span.colour) + "m" +
               part.substr(0, part.size() - blank) + "\033[0m" +
               (blank ? " " : "");
      text += part;
    }
    at += size;
  }
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

} // namespace

int64_t ScheduleScene::turnOf(int64_t stage) const {
  const std::vector<int64_t> &holders = pipeline.problem.coordinateOf;
  return std::count(holders.begin(), holders.begin() + stage, holders[stage]);
}

std::string ScheduleScene::labelOf(const ScheduleAction &action) const {
  std::string label = letterOf(action.kind) + std::to_string(action.microbatch);
  const ScheduleProblem &problem = pipeline.problem;
  if (problem.stages() == problem.coordinates)
    return label;
  int64_t turn = turnOf(action.stage);
  return turn < 26 ? label + static_cast<char>('a' + turn)
                   : label + "." + std::to_string(action.stage);
}

double ScheduleScene::shortest() const {
  double shortest = 0;
  for (const std::vector<TimedAction> &list : timeline.actions)
    for (const TimedAction &action : list) {
      double time = action.end - action.start;
      if (time > 0 && (shortest == 0 || time < shortest))
        shortest = time;
    }
  return shortest > 0 ? shortest : 1;
}

std::string textPicture(const ScheduleScene &scene, const PictureStyle &style) {
  Columns columns(scene);
  int64_t coordinates = scene.pipeline.problem.coordinates;
  size_t margin = std::to_string(coordinates - 1).size() + 2;
  int64_t end = columns.at(scene.timeline.makespan), step = end;
  if (style.width > 0)
    step = std::max<int64_t>(style.width - static_cast<int64_t>(margin), 16);
  std::vector<std::vector<Span>> rows;
  for (int64_t c = 0; c < coordinates; ++c)
    rows.push_back(rowOf(scene, columns, c));
  std::string text;
  for (int64_t from = 0; from < end; from += step) {
    text += from ? "\n" : "";
    for (int64_t c = 0; c < coordinates; ++c) {
      std::string name = std::to_string(c);
      name.resize(margin, ' ');
      text += name + cut(rows[c], from, from + step, style.colour) + "\n";
    }
  }
  return text;
}

} // namespace tandem

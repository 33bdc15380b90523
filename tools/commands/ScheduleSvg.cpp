#include "tools/commands/SchedulePicture.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tandem {
namespace {

// Pixels.
constexpr double kRow = 26, kBox = 22, kLeft = 34, kTop = 34, kRight = 8;
constexpr double kLetter = 6.7, kWidest = 1600;

/// Colours of the kinds, and of a coordinate's later stages in a second tone.
constexpr const char *kStyle =
    "text{font:11px ui-monospace,monospace;fill:#1f2328}"
    ".t{font-size:13px}"
    "rect{stroke:#ffffff;stroke-width:1}.p{fill:#ffffff}"
    ".w{fill:#eef0f2}.F{fill:#9ecbff}.B{fill:#a7dba1}.W{fill:#f5d77e}"
    ".F2{fill:#5aa7f5}.B2{fill:#67bd67}.W2{fill:#dfb23a}"
    "@media(prefers-color-scheme:dark){"
    "text{fill:#e6edf3}rect{stroke:#0d1117}.p{fill:#0d1117}"
    ".w{fill:#21262d}.F{fill:#1f4f86}.B{fill:#22602f}.W{fill:#7a5b0c}"
    ".F2{fill:#2f6fb8}.B2{fill:#2f8442}.W2{fill:#9c7716}}";

class SvgWriter {
public:
  explicit SvgWriter(const ScheduleScene &scene) : scene(scene) {
    size_t label = 0;
    for (const ActionList &list : scene.pipeline.schedule.actions)
      for (const ScheduleAction &action : list)
        label = std::max(label, scene.labelOf(action).size());
    double span = scene.timeline.makespan;
    scale = (static_cast<double>(label) * kLetter + 6) / scene.shortest();
    if (span > 0)
      scale = std::min(scale, kWidest / span);
    // Hundredths, so that the text does not depend on the last bits.
    scale = std::round(scale * 100) / 100;
  }

  std::string write() {
    const ScheduleProblem &problem = scene.pipeline.problem;
    double width = kLeft + scene.timeline.makespan * scale + kRight;
    double height = kTop + kRow * static_cast<double>(problem.coordinates) + 26;
    width = std::max(width, kLeft + 440);
    out << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width
        << "\" height=\"" << height << "\" viewBox=\"0 0 " << width << " "
        << height << "\">\n<title>" << scene.title << "</title>\n<style>"
        << kStyle << "</style>\n"
        << "<rect width=\"100%\" height=\"100%\" class=\"p\"/>\n";
    text(kLeft, 20, scene.title, "t");
    for (int64_t c = 0; c < problem.coordinates; ++c)
      row(c);
    legend(height - 12);
    out << "</svg>\n";
    return out.str();
  }

private:
  void text(double x, double y, const std::string &words,
            const char *kind = nullptr) {
    out << "<text x=\"" << x << "\" y=\"" << y << "\"";
    if (kind)
      out << " class=\"" << kind << "\"";
    out << ">" << words << "</text>\n";
  }

  void box(double x, double y, double width, const std::string &kind) {
    out << "<rect x=\"" << x << "\" y=\"" << y << "\" width=\"" << width
        << "\" height=\"" << kBox << "\" class=\"" << kind << "\"";
  }

  void row(int64_t coordinate);
  void action(const ScheduleAction &action, const TimedAction &time, double y);
  void legend(double y);

  const ScheduleScene &scene;
  std::ostringstream out;
  double scale = 1; ///< Pixels a unit of time.
};

void SvgWriter::row(int64_t coordinate) {
  double y = kTop + kRow * static_cast<double>(coordinate);
  text(8, y + 15, std::to_string(coordinate));
  box(kLeft, y, scene.timeline.makespan * scale, "w");
  out << "/>\n";
  const ActionList &list = scene.pipeline.schedule.actions[coordinate];
  for (size_t i = 0; i < list.size(); ++i)
    action(list[i], scene.timeline.actions[coordinate][i], y);
}

void SvgWriter::action(const ScheduleAction &action, const TimedAction &time,
                       double y) {
  double x = kLeft + time.start * scale;
  double width = (time.end - time.start) * scale;
  std::string kind(1, letterOf(action.kind));
  box(x, y, width, scene.turnOf(action.stage) % 2 ? kind + "2" : kind);
  std::string label = scene.labelOf(action);
  out << "><title>" << label << ", stage " << action.stage << ", slot "
      << action.slot << ", " << time.start << " to " << time.end
      << "</title></rect>\n";
  // The letter is the colour's where there is room for the number alone.
  for (const std::string &words : {label, label.substr(1)})
    if (static_cast<double>(words.size()) * kLetter + 2 <= width)
      return text(x + 3, y + 15, words);
}

void SvgWriter::legend(double y) {
  double x = kLeft;
  std::vector<std::pair<std::string, std::string>> entries = {
      {"F", "forward"}, {"B", "backward"}};
  if (scene.pipeline.problem.split)
    entries.push_back({"W", "weight gradients"});
  entries.push_back({"w", "waits"});
  for (const auto &[kind, words] : entries) {
    out << "<rect x=\"" << x << "\" y=\"" << y - 10
        << "\" width=\"14\" height=\"12\" class=\"" << kind << "\"/>\n";
    text(x + 19, y, words);
    x += 40 + static_cast<double>(words.size()) * kLetter;
  }
}

} // namespace

std::string svgPicture(const ScheduleScene &scene) {
  return SvgWriter(scene).write();
}

} // namespace tandem

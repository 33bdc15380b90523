#include "tools/commands/TrainProgress.h"

#include "runtime/base/Log.h"

#include <cstdio>
#include <unistd.h>

namespace tandem {
namespace {

/// `1234` as `1234`, more as `12.3k`, `1.2M`.
std::string rounded(double number) {
  char text[32];
  const char *unit = number >= 1e6 ? "M" : number >= 1e4 ? "k" : "";
  double divided = number >= 1e6   ? number / 1e6
                   : number >= 1e4 ? number / 1e3
                                   : number;
  std::snprintf(text, sizeof text, *unit ? "%.1f%s" : "%.0f%s", divided, unit);
  return text;
}

std::string duration(double seconds) {
  auto whole = static_cast<int64_t>(seconds + 0.5);
  if (whole < 60)
    return std::to_string(whole) + " s";
  if (whole < 3600)
    return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) +
           " s";
  return std::to_string(whole / 3600) + " h " +
         std::to_string(whole % 3600 / 60) + " min";
}

} // namespace

std::string progressText(const StepReport &report, int64_t steps,
                         double secondsPerStep) {
  char loss[32], share[32] = "";
  std::snprintf(loss, sizeof loss, "%.4f", report.loss);
  if (report.utilisation >= 0)
    std::snprintf(share, sizeof share, "  MFU %.1f %%",
                  report.utilisation * 100);
  std::string text = "step " + std::to_string(report.step) + "/" +
                     std::to_string(steps) + "  loss " + loss + "  " +
                     rounded(report.tokensPerSecond) + " tokens/s" + share;
  if (report.evalLoss >= 0) {
    std::snprintf(loss, sizeof loss, "  eval %.4f", report.evalLoss);
    text += loss;
  }
  if (report.step < steps)
    text +=
        "  " +
        duration(secondsPerStep * static_cast<double>(steps - report.step)) +
        " left";
  return text;
}

TrainProgress::TrainProgress(int64_t steps)
    : steps(steps), shown(logLevel() >= LogLevel::Info), terminal(isatty(2)) {}

TrainProgress::~TrainProgress() {
  if (written)
    std::fputs("\n", stderr);
}

void TrainProgress::show(const StepReport &report) {
  // The first step also touches memory for the first time.
  bool settled = secondsPerStep > 0 && report.step > 2;
  secondsPerStep =
      settled ? 0.9 * secondsPerStep + 0.1 * report.seconds : report.seconds;
  if (!shown)
    return;
  std::string text = progressText(report, steps, secondsPerStep);
  Clock::time_point now = Clock::now();
  if (terminal) {
    std::fprintf(stderr, "\r\033[K%s", text.c_str());
    std::fflush(stderr);
    written = true;
  } else if (last == Clock::time_point() || report.step == steps ||
             now - last >= std::chrono::seconds(10)) {
    logInfo(text);
    last = now;
  }
}

} // namespace tandem

#include "runtime/session/TrainingLog.h"

#include "runtime/files/Json.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace tandem {
namespace {

Status failed(const std::string &what, const std::string &path) {
  return Status::refused("cannot " + what + " the log '" + path +
                         "': " + std::strerror(errno));
}

/// The text of the lines up to step `last`.
std::string linesUpTo(const std::string &path, int64_t last) {
  std::ifstream file(path);
  std::string kept;
  for (std::string line; std::getline(file, line);) {
    Result<nlohmann::json> json = parseJson(line, path);
    if (!json.ok() || !json->is_object())
      break;
    auto step = json->find("step");
    if (step == json->end() || !step->is_number_integer() ||
        step->get<int64_t>() > last)
      break;
    kept += line + "\n";
  }
  return kept;
}

} // namespace

std::string logLine(const StepReport &report) {
  nlohmann::ordered_json line;
  line["step"] = report.step;
  line["loss"] = report.loss;
  line["grad_norm"] = report.gradNorm;
  line["lr"] = report.rate;
  line["tokens_per_s"] = report.tokensPerSecond;
  line["seconds"] = report.seconds;
  if (report.utilisation >= 0)
    line["mfu"] = report.utilisation;
  line["window"] = report.window;
  if (report.evalLoss >= 0)
    line["eval_loss"] = report.evalLoss;
  return line.dump();
}

Result<TrainingLog> TrainingLog::open(const std::string &path,
                                      int64_t keepSteps) {
  std::string kept = keepSteps > 0 ? linesUpTo(path, keepSteps) : "";
  TrainingLog log;
  log.path = path;
  log.file.reset(std::fopen(path.c_str(), "w"));
  if (!log.file)
    return failed("open", path);
  if (std::fputs(kept.c_str(), log.file.get()) < 0 ||
      std::fflush(log.file.get()) != 0)
    return failed("write", path);
  return log;
}

Status TrainingLog::add(const StepReport &report) {
  std::string line = logLine(report) + "\n";
  if (std::fputs(line.c_str(), file.get()) < 0 || std::fflush(file.get()) != 0)
    return failed("write", path);
  return Status();
}

} // namespace tandem

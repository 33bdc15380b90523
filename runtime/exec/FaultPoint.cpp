#include "runtime/exec/FaultPoint.h"

#include <charconv>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tandem {
namespace {

std::vector<std::string_view> splitAtColons(std::string_view text) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t colon = text.find(':');
    parts.push_back(text.substr(0, colon));
    if (colon == std::string_view::npos)
      return parts;
    text.remove_prefix(colon + 1);
  }
}

bool parseNumber(std::string_view text, int64_t &number) {
  auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

} // namespace

Result<FaultPoint> FaultPoint::fromEnvironment() {
  const char *text = std::getenv("TANDEM_FAULT");
  if (!text || !*text)
    return FaultPoint();
  return parse(text);
}

Result<FaultPoint> FaultPoint::parse(std::string_view text) {
  FaultPoint point;
  int64_t count = 0;
  std::vector<std::string_view> parts = splitAtColons(text);
  bool good = parts.size() == 4 && parseNumber(parts[0], point.rank) &&
              parseNumber(parts[2], count) && count >= 1 && !parts[1].empty();
  if (good && parts[3] == "fail")
    point.action = Action::Fail;
  else if (good && parts[3] == "hang")
    point.action = Action::Hang;
  else if (good && parts[3] == "exit")
    point.action = Action::Exit;
  else
    return Status::usage("TANDEM_FAULT is '" + std::string(text) +
                         "', expected RANK:KIND:N:fail|hang|exit");
  point.kind = parts[1];
  point.countdown = std::make_shared<std::atomic<int64_t>>(count);
  return point;
}

bool FaultPoint::concerns(int64_t onRank,
                          std::string_view instructionKind) const {
  return action != Action::None && rank == onRank &&
         (kind == "any" || kind == instructionKind);
}

Status FaultPoint::reach() {
  if (--*countdown != 0)
    return Status();
  if (action == Action::Exit)
    _exit(9);
  while (action == Action::Hang)
    std::this_thread::sleep_for(std::chrono::hours(1));
  return Status::rankFailed("a fault planted by TANDEM_FAULT");
}

} // namespace tandem

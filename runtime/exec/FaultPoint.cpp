#include "runtime/exec/FaultPoint.h"

#include "runtime/base/Log.h"

#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <new>
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

bool FaultPoint::parseAction(std::string_view text) {
  static constexpr struct {
    std::string_view name;
    Action action;
    int signal;
  } known[] = {
      {"fail", Action::Fail, 0},         {"hang", Action::Hang, 0},
      {"allocate", Action::Allocate, 0}, {"exit", Action::Exit, 0},
      {"kill", Action::Signal, SIGKILL}, {"stop", Action::Signal, SIGSTOP},
      {"crash", Action::Signal, SIGSEGV}};
  for (const auto &entry : known)
    if (text == entry.name) {
      action = entry.action;
      signal = entry.signal;
      return true;
    }
  constexpr std::string_view delay = "delay=";
  if (text.substr(0, delay.size()) != delay)
    return false;
  action = Action::Delay;
  std::string number(text.substr(delay.size()));
  char *end = nullptr;
  seconds = std::strtod(number.c_str(), &end);
  return !number.empty() && *end == 0 && seconds >= 0 && seconds <= 3600;
}

Result<FaultPoint> FaultPoint::parse(std::string_view text) {
  FaultPoint point;
  int64_t count = 0;
  std::vector<std::string_view> parts = splitAtColons(text);
  bool good = parts.size() == 4 && parseNumber(parts[0], point.rank) &&
              parseNumber(parts[2], count) && count >= 1 && !parts[1].empty() &&
              point.parseAction(parts[3]);
  if (!good)
    return Status::usage("TANDEM_FAULT is '" + std::string(text) +
                         "', expected RANK:KIND:N:ACTION with an action of "
                         "fail, allocate, hang, delay=SECONDS, exit, kill, "
                         "stop or crash");
  point.kind = parts[1];
  point.countdown = std::make_shared<std::atomic<int64_t>>(count);
  return point;
}

bool FaultPoint::concerns(int64_t onRank,
                          std::string_view instructionKind) const {
  return action != Action::None && rank == onRank &&
         (kind == "any" || kind == instructionKind);
}

Status FaultPoint::reach(int64_t onRank, std::string_view instructionKind) {
  return concerns(onRank, instructionKind) ? reach() : Status();
}

Status FaultPoint::reach() {
  if (--*countdown != 0)
    return Status();
  logWarning("rank " + std::to_string(rank) + ": TANDEM_FAULT acts now");
  switch (action) {
  case Action::Allocate:
    throw std::bad_alloc();
  case Action::Exit:
    _exit(9);
  case Action::Signal:
    raise(signal); // In this thread, whose instruction it is.
    return Status();
  case Action::Delay:
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return Status();
  case Action::Hang:
    for (;;)
      std::this_thread::sleep_for(std::chrono::hours(1));
  default:
    return Status::rankFailed("a fault planted by TANDEM_FAULT");
  }
}

} // namespace tandem

#include "tools/commands/Interrupt.h"

#include <csignal>
#include <cstdlib>
#include <unistd.h>

namespace tandem {
namespace {

std::atomic<bool> interrupted{false};

void onInterrupt(int) {
  if (interrupted.exchange(true))
    _exit(130);
}

void onRequest(int) { interrupted.store(true); }

/// Whether the launcher leaves time for a checkpoint between SIGTERM and the
/// end.
bool launcherWaits() {
  const char *seconds = std::getenv("OMPI_MCA_odls_base_sigkill_timeout");
  return seconds && std::atof(seconds) >= 10;
}

} // namespace

const std::atomic<bool> &handleInterrupts() {
  std::signal(SIGINT, onInterrupt);
  struct sigaction before{};
  sigaction(SIGTERM, nullptr, &before);
  if (before.sa_handler == SIG_DFL)
    std::signal(SIGTERM, onInterrupt);
  return interrupted;
}

void handleInterruptsAsRank(bool leads) {
  std::signal(SIGINT, leads ? onInterrupt : SIG_IGN);
  std::signal(SIGUSR1, leads ? onRequest : SIG_IGN);
  if (launcherWaits())
    std::signal(SIGTERM, leads ? onRequest : SIG_IGN);
}

} // namespace tandem

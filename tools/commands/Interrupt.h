//===- Interrupt.h - Ctrl-C ends a command behind its step ------*- C++ -*-===//
//
// Alone, a process ends behind its step on Ctrl-C or SIGTERM, and at once on a
// second Ctrl-C. Under a launcher rank 0 decides and the others follow:
//
//   SIGUSR1, SIGINT   rank 0 ends behind its step
//   SIGTERM           all leave at once, for mpirun kills them two seconds
//                     later; where its environment gives ten seconds or more
//                     (OMPI_MCA_odls_base_sigkill_timeout) as SIGUSR1
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TOOLS_COMMANDS_INTERRUPT_H
#define TANDEM_TOOLS_COMMANDS_INTERRUPT_H

#include <atomic>

namespace tandem {

/// Whether somebody asked to end; from now on signals only say so here.
const std::atomic<bool> &handleInterrupts();

/// The same for a process of several, called on each; those that do not lead
/// ignore what rank 0 answers.
void handleInterruptsAsRank(bool leads);

} // namespace tandem

#endif // TANDEM_TOOLS_COMMANDS_INTERRUPT_H

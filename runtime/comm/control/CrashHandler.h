//===- CrashHandler.h - A last line when memory cannot be read --*- C++ -*-===//
//
// What it is: a handler for the signals of a program that cannot go on
// (SIGSEGV, SIGABRT, SIGFPE, SIGILL, and SIGBUS, which a weight file brings
// that was cut while it is mapped). It prints one line with the rank, its
// instruction and location, and leaves by `_exit(3)`:
//
//   tandem: error: SIGBUS at address 0x7f..: a mapped file was cut or cannot
//   be read (rank 1, instruction load, location mlp.up)
//
// The thread that begins an instruction says so by `setCrashActivity`; a
// thread that never did (a kernel's helper) prints the last that was said.
// Everything the handler does is safe in a signal handler.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_COMM_CONTROL_CRASHHANDLER_H
#define TANDEM_RUNTIME_COMM_CONTROL_CRASHHANDLER_H

#include <cstdint>

namespace tandem {

/// Handles those signals for the whole process; does nothing under
/// AddressSanitizer or ThreadSanitizer, which have handlers of their own.
void installCrashHandler();

/// Notes what the calling thread does, for `rank`. The strings outlive the
/// process's last instruction. Costs a few stores.
void setCrashActivity(int64_t rank, const char *instruction,
                      const char *location);

struct CrashReport {
  const char *cause, *instruction, *location;
};

/// Called by the handler before it leaves: tells the peers. Must be safe in a
/// signal handler; null takes it back.
using CrashListener = void (*)(const CrashReport &report);
void setCrashListener(CrashListener listener);

} // namespace tandem

#endif // TANDEM_RUNTIME_COMM_CONTROL_CRASHHANDLER_H

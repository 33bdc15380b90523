//===- TraceFile.h - A run as a timeline ------------------------*- C++ -*-===//
//
// Chrome's trace format, which Perfetto opens: ranks are processes, streams
// threads, every instruction a slice with its location, microbatch and bytes.
//
//   TANDEM_TRY(beginTrace(*session, 100000));
//   ... steps
//   TANDEM_TRY(writeTrace(*session, "trace.json"));
//
// Each rank keeps the last instructions of each of its streams in memory that
// is there before they run; what is older is gone. Clocks are those of the
// machines: slices of ranks on different machines do not line up.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_TRACEFILE_H
#define TANDEM_RUNTIME_SESSION_TRACEFILE_H

#include "runtime/session/Session.h"

namespace tandem {

class Executor;

/// Has all ranks keep their last `eventsPerStream` instructions of each stream
/// from now on; 0: nothing any more. Of the process that leads.
Status beginTrace(Session &session, size_t eventsPerStream);
/// Writes what all ranks have kept. Of the process that leads.
Status writeTrace(Session &session, const std::string &path);

/// One rank's part of the file: objects with a comma behind each but the last.
std::string traceText(const Executor &executor);
/// All parts, by rank, as one file.
Status writeTraceFile(const std::vector<std::string> &parts,
                      const std::string &path);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_TRACEFILE_H

//===- RankTask.h - What all ranks do between steps -------------*- C++ -*-===//
//
// Steps run a plan's entries. Everything else that each rank has to do itself,
// with its own piece of memory or its share of the files, is a task: the
// process that leads asks all ranks at once, by a number and a text, and gets
// a reply from each. A rank that refuses says so in its reply; the session
// goes on.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_SESSION_RANKTASK_H
#define TANDEM_RUNTIME_SESSION_RANKTASK_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace tandem {

enum class RankTask : uint32_t {
  WriteShard,  ///< Begin to write what this rank owns (CheckpointShards.h).
  AwaitShard,  ///< Say whether that is done, with its record.
  CheckShards, ///< Compare this rank's share of a checkpoint's files.
  LoadShards,  ///< Read this rank's pieces from a checkpoint.
  BeginTrace,  ///< Keep the last instructions, as many as the text says.
  TakeTrace,   ///< Give what was kept, as TraceFile.h has it.
};

using RankReply = Result<std::string>;

/// The reply as bytes that travel, and back.
std::string packReply(const RankReply &reply);
RankReply unpackReply(const std::string &bytes);

/// The first refusal among `replies`, which names its rank where not all
/// refuse; OK where there is none.
Status firstRefusal(const std::vector<RankReply> &replies);

} // namespace tandem

#endif // TANDEM_RUNTIME_SESSION_RANKTASK_H

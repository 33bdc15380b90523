#include "runtime/session/RankTask.h"

#include <algorithm>

namespace tandem {

std::string packReply(const RankReply &reply) {
  char code = static_cast<char>(reply.status().code());
  return code + (reply.ok() ? *reply : reply.status().toString());
}

RankReply unpackReply(const std::string &bytes) {
  if (bytes.empty())
    return Status::rankFailed("a rank gave no reply");
  auto code = static_cast<StatusCode>(static_cast<unsigned char>(bytes[0]));
  if (code == StatusCode::Ok)
    return bytes.substr(1);
  return Status(code, bytes.substr(1));
}

Status firstRefusal(const std::vector<RankReply> &replies) {
  auto refuses = [](const RankReply &reply) { return !reply.ok(); };
  auto first = std::find_if(replies.begin(), replies.end(), refuses);
  if (first == replies.end())
    return Status();
  if (std::all_of(replies.begin(), replies.end(), refuses))
    return first->status();
  return first->status().withContext("rank " +
                                     std::to_string(first - replies.begin()));
}

} // namespace tandem

#include "runtime/session/TraceFile.h"

#include "runtime/exec/Executor.h"
#include "runtime/files/NewFile.h"

#include <cinttypes>
#include <nlohmann/json.hpp>
#include <set>

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

/// `rank 5 (pp 1, tp 1)`
std::string nameOf(const Mesh &mesh, int64_t rank) {
  std::string text;
  for (const Axis &axis : mesh.axes())
    text += (text.empty() ? "" : ", ") + axis.name + " " +
            std::to_string(mesh.coordinate(rank, mesh.whole(axis.name)));
  return "rank " + std::to_string(rank) +
         (text.empty() ? "" : " (" + text + ")");
}

std::string streamName(int stream, bool launches) {
  return "stream " + std::to_string(stream) +
         (launches ? "" : ", communication");
}

Json named(const char *what, int64_t rank, int thread,
           const std::string &name) {
  return {{"ph", "M"},
          {"name", what},
          {"pid", rank},
          {"tid", thread},
          {"args", {{"name", name}}}};
}

Json slice(int64_t rank, const TraceEvent &event) {
  Json args = {{"location", event.location},
               {"instruction", event.instruction},
               {"bytes", event.bytes},
               {"step", event.step}};
  if (event.microbatch != kNone)
    args["microbatch"] = event.microbatch;
  return {{"ph", "X"},
          {"name", event.op},
          {"cat", event.launch ? "launch" : "communication"},
          {"pid", rank},
          {"tid", event.stream},
          {"ts", static_cast<double>(event.begin) / 1000},
          {"dur", static_cast<double>(event.end - event.begin) / 1000},
          {"args", std::move(args)}};
}

} // namespace

std::string traceText(const Executor &executor) {
  std::vector<TraceEvent> events = executor.traced();
  int64_t rank = executor.rank();
  std::vector<Json> objects = {
      named("process_name", rank, 0, nameOf(executor.layout().mesh, rank))};
  std::set<int> all, launching;
  for (const TraceEvent &event : events) {
    all.insert(event.stream);
    if (event.launch)
      launching.insert(event.stream);
    objects.push_back(slice(rank, event));
  }
  for (int stream : all)
    objects.push_back(named("thread_name", rank, stream,
                            streamName(stream, launching.count(stream) > 0)));
  std::string text;
  for (const Json &object : objects)
    text += (text.empty() ? "" : ",\n") +
            object.dump(-1, ' ', false, Json::error_handler_t::replace);
  return text;
}

Status writeTraceFile(const std::vector<std::string> &parts,
                      const std::string &path) {
  TANDEM_ASSIGN(NewFile file, NewFile::create(path));
  TANDEM_TRY(file.write("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n"));
  for (size_t i = 0; i < parts.size(); ++i) {
    TANDEM_TRY(file.write(i ? ",\n" : ""));
    TANDEM_TRY(file.write(parts[i]));
  }
  TANDEM_TRY(file.write("\n]}\n"));
  return file.commit();
}

Status beginTrace(Session &session, size_t eventsPerStream) {
  TANDEM_ASSIGN(
      std::vector<RankReply> replies,
      session.ask(RankTask::BeginTrace, std::to_string(eventsPerStream)));
  return firstRefusal(replies);
}

Status writeTrace(Session &session, const std::string &path) {
  TANDEM_ASSIGN(std::vector<RankReply> replies,
                session.ask(RankTask::TakeTrace, ""));
  TANDEM_TRY(firstRefusal(replies));
  std::vector<std::string> parts;
  for (RankReply &reply : replies)
    parts.push_back(std::move(*reply));
  return writeTraceFile(parts, path);
}

} // namespace tandem

#include "runtime/session/Checkpoints.h"

#include "runtime/base/Log.h"
#include "runtime/files/ConfigNode.h"
#include "runtime/files/checkpoint/Checkpoint.h"
#include "runtime/files/checkpoint/CheckpointFolder.h"
#include "runtime/session/CheckpointShards.h"
#include "runtime/session/DiskThread.h"
#include "runtime/session/ShardWriter.h"

#include <filesystem>
#include <unistd.h>

namespace tandem {
namespace {

std::string absolutePath(const std::string &path) {
  std::error_code error;
  std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

template <typename Sources>
std::vector<CheckpointSource> describeSources(const Sources &sources) {
  std::vector<CheckpointSource> result;
  for (const fb::Source *source : sources)
    result.push_back({absolutePath(source->path()->str()),
                      {source->size(), source->hash()}});
  return result;
}

/// Looks for the model's settings where it was, as the plan was made
/// elsewhere perhaps, and beside its other files. A GGUF file has none.
void findConfig(CheckpointManifest &manifest) {
  std::vector<std::string> folders = {manifest.model};
  for (const auto *files : {&manifest.sources, &manifest.tokenizer})
    for (const CheckpointSource &source : *files)
      folders.push_back(parentFolder(source.path));
  for (const std::string &folder : folders) {
    std::string path = folder + "/config.json";
    if (::access(path.c_str(), R_OK) != 0)
      continue;
    if (Result<ConfigNode> node = ConfigNode::read(path); node.ok()) {
      manifest.config = node->value();
      manifest.model = folder;
      return;
    }
  }
}

/// What is the same in all checkpoints of a session.
CheckpointManifest describeSession(const Plan &plan) {
  CheckpointManifest manifest;
  manifest.producer = plan.table().producer()->str();
  manifest.mesh = plan.mesh().toString();
  manifest.model = absolutePath(plan.table().model()->str());
  manifest.sources = describeSources(*plan.table().sources());
  manifest.tokenizer = describeSources(*plan.table().tokenizer());
  manifest.tensors = checkpointTensors(plan);
  findConfig(manifest);
  return manifest;
}

class SessionCheckpoints final : public Checkpoints {
public:
  SessionCheckpoints(Session &session, std::unique_ptr<DiskThread> thread,
                     CheckpointFolder folder, const CheckpointOptions &options)
      : session(session), thread(std::move(thread)),
        folder(std::make_shared<CheckpointFolder>(std::move(folder))),
        options(options), manifest(describeSession(session.plan())) {}

  Result<CheckpointNote> load() override {
    std::map<int64_t, std::string> found = folder->list();
    for (auto it = found.rbegin(); it != found.rend(); ++it) {
      TANDEM_ASSIGN(std::string damage, damageOf(it->second));
      if (damage.empty())
        return take(it->second);
      logWarning("'" + it->second + "' is damaged and set aside as step-" +
                 std::to_string(it->first) + ".broken: " + damage);
      TANDEM_TRY(folder->setAside(it->first));
    }
    return Status::refused("'" + folder->path() +
                           "' holds no checkpoint that is whole; what was "
                           "found damaged is named above");
  }

  Status begin(const CheckpointNote &note) override {
    TANDEM_TRY(finish(true));
    manifest.step = note.step;
    manifest.training = note.training;
    TANDEM_ASSIGN(path, onDisk([step = note.step](CheckpointFolder &folder) {
                    return folder.begin(step);
                  }));
    begun = true;
    TANDEM_ASSIGN(std::vector<RankReply> replies,
                  session.ask(RankTask::WriteShard, path));
    if (Status refused = firstRefusal(replies); !refused.ok()) {
      TANDEM_TRY(session.ask(RankTask::AwaitShard, kWaitForShard).status());
      return giveUp(refused);
    }
    return Status();
  }

  bool pending() const override { return begun; }

  Status finish(bool wait) override {
    if (!begun)
      return Status();
    TANDEM_ASSIGN(std::vector<RankReply> replies,
                  session.ask(RankTask::AwaitShard, wait ? kWaitForShard : ""));
    for (const RankReply &reply : replies)
      if (reply.ok() && reply->empty())
        return Status();
    Status status = complete(replies);
    return status.ok() ? status : giveUp(status);
  }

  std::string last() const override { return last_; }

private:
  /// What is wrong with a checkpoint, empty where it is whole.
  Result<std::string> damageOf(const std::string &path) {
    TANDEM_ASSIGN(std::vector<RankReply> replies,
                  session.ask(RankTask::CheckShards, path));
    return firstRefusal(replies).message();
  }

  Result<CheckpointNote> take(const std::string &path) {
    TANDEM_ASSIGN(std::vector<RankReply> replies,
                  session.ask(RankTask::LoadShards, path));
    TANDEM_TRY(firstRefusal(replies));
    TANDEM_ASSIGN(CheckpointManifest loaded, CheckpointManifest::read(path));
    last_ = path;
    // Where the model is gone meanwhile its settings stay.
    if (manifest.config.is_null()) {
      manifest.config = loaded.config;
      manifest.model = loaded.model;
    }
    return CheckpointNote{loaded.step, loaded.training};
  }

  Status complete(const std::vector<RankReply> &replies) {
    TANDEM_TRY(firstRefusal(replies));
    manifest.shards.clear();
    for (const RankReply &reply : replies) {
      if (*reply == "null")
        continue;
      TANDEM_ASSIGN(ConfigNode node, ConfigNode::parse(*reply, "shard"));
      TANDEM_ASSIGN(CheckpointShard shard, readShard(node));
      TANDEM_TRY(checkVisible(shard));
      manifest.shards.push_back(std::move(shard));
    }
    TANDEM_ASSIGN(last_, onDisk([manifest = manifest](CheckpointFolder &to) {
                    return to.commit(manifest);
                  }));
    begun = false;
    // Those before are about to go.
    if (options.onComplete)
      options.onComplete(last_);
    int64_t keep = std::max<int64_t>(1, options.keep);
    return onDisk([keep](CheckpointFolder &folder) -> Result<std::string> {
             TANDEM_TRY(folder.prune(keep));
             return std::string();
           })
        .status();
  }

  /// Has `work` done by the thread. It owns all that it needs, for where the
  /// disk hangs it outlives this.
  template <typename Work> Result<std::string> onDisk(Work work) {
    TANDEM_TRY(thread->begin(
        folder->path(), [folder = folder, work](WatchedDisk &) -> RankReply {
          return work(*folder);
        }));
    RankReply reply = thread->reply(/*wait=*/true);
    if (thread->stuck())
      session.giveUp(reply.status());
    return reply;
  }

  /// Ranks on other machines write to the same folder only if it is one.
  Status checkVisible(const CheckpointShard &shard) const {
    std::error_code error;
    std::string file = path + "/" + shard.file;
    if (std::filesystem::file_size(file, error) == shard.bytes && !error)
      return Status();
    return Status::refused("'" + file +
                           "' was written but is not here; all ranks need the "
                           "same --checkpoint-dir, on a file system that "
                           "their machines share");
  }

  Status giveUp(const Status &cause) {
    if (begun && session.fault().ok())
      (void)folder->abandon(manifest.step).ok();
    begun = false;
    if (!session.fault().ok())
      return session.fault();
    return Status(
        cause.code(),
        "the checkpoint of step " + std::to_string(manifest.step) +
            " was not written: " + cause.message() +
            (last_.empty() ? std::string() : "; '" + last_ + "' is whole"));
  }

  Session &session;
  std::unique_ptr<DiskThread> thread;
  std::shared_ptr<CheckpointFolder> folder; ///< Uses the thread's disk.
  CheckpointOptions options;
  CheckpointManifest manifest; ///< Of the next one.
  std::string path;            ///< Where it is being written.
  bool begun = false;
  std::string last_;
};

} // namespace

Result<std::unique_ptr<Checkpoints>>
Checkpoints::open(Session &session, const CheckpointOptions &options) {
  TANDEM_ASSIGN(FaultPoint fault, FaultPoint::fromEnvironment());
  auto thread = std::make_unique<DiskThread>(0, "manifest", fault,
                                             options.deadlineSeconds);
  auto folder = std::make_shared<std::optional<CheckpointFolder>>();
  TANDEM_TRY(
      thread->begin(options.folder,
                    [folder, path = options.folder,
                     resume = options.resume](WatchedDisk &disk) -> RankReply {
                      TANDEM_ASSIGN(CheckpointFolder opened,
                                    CheckpointFolder::open(path, resume, disk));
                      folder->emplace(std::move(opened));
                      return std::string();
                    }));
  RankReply opened = thread->reply(/*wait=*/true);
  if (thread->stuck())
    session.giveUp(opened.status());
  TANDEM_TRY(opened.status());
  return std::unique_ptr<Checkpoints>(std::make_unique<SessionCheckpoints>(
      session, std::move(thread), std::move(**folder), options));
}

} // namespace tandem

#include "runtime/files/checkpoint/CheckpointFolder.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace tandem {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kUnfinished = ".tmp";
constexpr std::string_view kBroken = ".broken";

/// The names in a folder; none where it cannot be read.
std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end;
       !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

bool endsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         text.substr(text.size() - end.size()) == end;
}

/// `step-20` -> 20; -1 for what is no checkpoint's name.
int64_t stepOf(const std::string &name) {
  if (name.compare(0, kPrefix.size(), kPrefix) != 0)
    return -1;
  std::string digits = name.substr(kPrefix.size());
  if (digits.empty() || digits.size() > 18 ||
      digits.find_first_not_of("0123456789") != std::string::npos ||
      (digits.size() > 1 && digits[0] == '0'))
    return -1;
  return std::atoll(digits.c_str());
}

/// Makes the folders above `path` and `path` itself.
Status makeFolders(const std::string &path, Disk &disk) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Status();
  std::string parent = parentFolder(path);
  if (parent != path && parent != ".")
    TANDEM_TRY(makeFolders(parent, disk));
  TANDEM_TRY(disk.makeFolder(path));
  return disk.syncFolder(parent);
}

/// Without the slashes at its end.
std::string trimmed(std::string path) {
  while (path.size() > 1 && path.back() == '/')
    path.pop_back();
  return path;
}

} // namespace

std::map<int64_t, std::string> listCheckpoints(const std::string &folder) {
  std::map<int64_t, std::string> found;
  for (const std::string &name : namesIn(folder)) {
    std::error_code error;
    std::string path = folder + "/" + name;
    if (stepOf(name) >= 0 && std::filesystem::is_directory(path, error))
      found[stepOf(name)] = path;
  }
  return found;
}

Result<CheckpointFolder> CheckpointFolder::open(const std::string &path,
                                                bool resume, Disk &disk) {
  CheckpointFolder folder(trimmed(path), disk);
  if (resume && listCheckpoints(folder.path_).empty())
    return Status::refused("'" + path +
                           "' holds no checkpoint to resume from; start "
                           "without --resume");
  TANDEM_TRY(makeFolders(folder.path_, disk));
  TANDEM_TRY(folder.claim());
  TANDEM_TRY(folder.removeLeftovers());
  std::vector<std::string> names = namesIn(folder.path_);
  if (!resume && !names.empty())
    return Status::refused("'" + path + "' is not empty (it holds '" +
                           names.back() +
                           "'); --resume goes on from its newest checkpoint, "
                           "another --checkpoint-dir starts anew");
  return folder;
}

CheckpointFolder::CheckpointFolder(CheckpointFolder &&other) noexcept
    : path_(std::move(other.path_)), disk(other.disk),
      claimed(std::exchange(other.claimed, -1)) {}

CheckpointFolder::~CheckpointFolder() {
  if (claimed >= 0)
    ::close(claimed);
}

/// Two runs in one folder would remove each other's checkpoints. The kernel
/// lets go of the lock when the process ends, however it does.
Status CheckpointFolder::claim() {
  claimed = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (claimed < 0)
    return Status::refused("cannot open '" + path_ +
                           "': " + std::strerror(errno));
  if (::flock(claimed, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
    return Status(); // Some file systems have no locks.
  return Status::refused("another run writes its checkpoints to '" + path_ +
                         "'; stop it or name another --checkpoint-dir");
}

Status CheckpointFolder::removeLeftovers() {
  for (const std::string &name : namesIn(path_))
    if (name.compare(0, kPrefix.size(), kPrefix) == 0 &&
        endsWith(name, kUnfinished))
      TANDEM_TRY(disk->remove(path_ + "/" + name));
  return Status();
}

std::string CheckpointFolder::nameOf(int64_t step) const {
  return path_ + "/" + std::string(kPrefix) + std::to_string(step);
}

Result<std::string> CheckpointFolder::begin(int64_t step) {
  std::string path = nameOf(step) + std::string(kUnfinished);
  TANDEM_TRY(disk->remove(path));
  TANDEM_TRY(disk->makeFolder(path));
  return path;
}

Result<std::string>
CheckpointFolder::commit(const CheckpointManifest &manifest) {
  std::string path = nameOf(manifest.step);
  std::string unfinished = path + std::string(kUnfinished);
  std::string text = manifest.toText();
  TANDEM_ASSIGN(std::unique_ptr<DiskFile> file,
                disk->create(unfinished + "/" + CheckpointManifest::kFile));
  TANDEM_TRY(file->write(text.data(), text.size()));
  TANDEM_TRY(file->sync());
  TANDEM_TRY(disk->syncFolder(unfinished));
  // One of the same step, that was not resumed from.
  std::error_code error;
  if (std::filesystem::exists(path, error))
    TANDEM_TRY(removeNamed(path));
  TANDEM_TRY(disk->rename(unfinished, path));
  TANDEM_TRY(disk->syncFolder(path_));
  return path;
}

Status CheckpointFolder::abandon(int64_t step) {
  return disk->remove(nameOf(step) + std::string(kUnfinished));
}

/// A checkpoint that lost its name first is never taken for a whole one.
Status CheckpointFolder::removeNamed(const std::string &checkpoint) {
  std::string going = checkpoint + ".old" + std::string(kUnfinished);
  TANDEM_TRY(disk->remove(going));
  TANDEM_TRY(disk->rename(checkpoint, going));
  TANDEM_TRY(disk->syncFolder(path_));
  return disk->remove(going);
}

Status CheckpointFolder::prune(int64_t keep) {
  std::map<int64_t, std::string> found = list();
  auto it = found.begin();
  for (auto count = static_cast<int64_t>(found.size()); count > keep; --count)
    TANDEM_TRY(removeNamed((it++)->second));
  return Status();
}

Status CheckpointFolder::setAside(int64_t step) {
  std::string broken = nameOf(step) + std::string(kBroken);
  TANDEM_TRY(disk->remove(broken));
  TANDEM_TRY(disk->rename(nameOf(step), broken));
  return disk->syncFolder(path_);
}

} // namespace tandem

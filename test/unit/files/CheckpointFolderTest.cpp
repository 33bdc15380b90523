#include "runtime/files/checkpoint/CheckpointFolder.h"

#include "runtime/files/checkpoint/Checkpoint.h"
#include "test/unit/files/CheckpointSketch.h"
#include "test/unit/files/TestFiles.h"

#include <random>
#include <set>

namespace tandem {
namespace {

namespace fs = std::filesystem;
using test::Folder;

/// A disk that stops at its N-th operation, in the middle of a write, and can
/// then lose what was not synced: bytes of files, names of folders, renames.
class CrashingDisk final : public Disk {
public:
  explicit CrashingDisk(int64_t operations) : left(operations) {}

  Result<std::unique_ptr<DiskFile>> create(const std::string &path) override {
    TANDEM_TRY(reach());
    TANDEM_ASSIGN(auto file, realDisk().create(path));
    names.insert(path);
    return std::unique_ptr<DiskFile>(
        std::make_unique<File>(*this, path, std::move(file)));
  }
  Status makeFolder(const std::string &path) override {
    TANDEM_TRY(reach());
    if (!fs::exists(path))
      names.insert(path);
    return realDisk().makeFolder(path);
  }
  Status syncFolder(const std::string &path) override {
    TANDEM_TRY(reach());
    if (forgetful)
      return Status();
    for (auto it = names.begin(); it != names.end();)
      it = parentFolder(*it) == path ? names.erase(it) : std::next(it);
    for (auto it = renames.begin(); it != renames.end();)
      it = parentFolder(it->second) == path ? renames.erase(it) : std::next(it);
    return Status();
  }
  Status rename(const std::string &from, const std::string &to) override {
    TANDEM_TRY(reach());
    renames.push_back({from, to});
    names = moved(names, from, to);
    dirty = moved(dirty, from, to);
    return realDisk().rename(from, to);
  }
  Status remove(const std::string &path) override {
    TANDEM_TRY(reach());
    return realDisk().remove(path);
  }

  bool crashed() const { return dead; }
  /// Does not sync from now on.
  void forget() { forgetful = true; }

  void losePower(std::mt19937 &random) {
    for (const std::string &path : dirty)
      if (fs::exists(path))
        fs::resize_file(path, random() % (fs::file_size(path) + 1));
    for (const std::string &path : names)
      if (random() % 2)
        fs::remove_all(path);
    // Renames reach the disk in their order, or not at all.
    size_t kept = random() % (renames.size() + 1);
    for (size_t i = renames.size(); i > kept; --i) {
      const auto &[from, to] = renames[i - 1];
      if (fs::exists(to) && !fs::exists(from))
        fs::rename(to, from);
    }
  }

private:
  class File final : public DiskFile {
  public:
    File(CrashingDisk &disk, std::string path, std::unique_ptr<DiskFile> inner)
        : disk(disk), path(std::move(path)), inner(std::move(inner)) {}
    Status write(const void *data, uint64_t size) override {
      disk.dirty.insert(path);
      Status status = disk.reach();
      TANDEM_TRY(inner->write(data, status.ok() ? size : size / 2));
      return status;
    }
    Status sync() override {
      TANDEM_TRY(disk.reach());
      if (!disk.forgetful)
        disk.dirty.erase(path);
      return Status();
    }

  private:
    CrashingDisk &disk;
    std::string path;
    std::unique_ptr<DiskFile> inner;
  };

  Status reach() {
    dead |= left-- == 0;
    return dead ? Status::refused("the machine stopped") : Status();
  }

  static std::set<std::string> moved(const std::set<std::string> &paths,
                                     const std::string &from,
                                     const std::string &to) {
    std::set<std::string> result;
    for (const std::string &path : paths)
      result.insert(path.compare(0, from.size() + 1, from + "/") == 0
                        ? to + path.substr(from.size())
                        : path);
    return result;
  }

  int64_t left;
  bool dead = false, forgetful = false;
  std::set<std::string> dirty, names;
  std::vector<std::pair<std::string, std::string>> renames;
};

/// Writes checkpoints of steps `from` to `to`; `done` is the last that was
/// committed.
Status writeRun(Disk &disk, const std::string &path, bool resume, int64_t from,
                int64_t to, int64_t &done) {
  TANDEM_ASSIGN(CheckpointFolder folder,
                CheckpointFolder::open(path, resume, disk));
  for (int64_t step = from; step <= to; ++step) {
    TANDEM_ASSIGN(std::string unfinished, folder.begin(step));
    CheckpointManifest manifest = test::sketchManifest(step);
    TANDEM_ASSIGN(manifest.shards, test::writeShards(disk, unfinished, step));
    TANDEM_TRY(folder.commit(manifest).status());
    done = step;
    TANDEM_TRY(folder.prune(2));
  }
  return Status();
}

/// The newest checkpoint's step, -1 where there is none; -2 where it is not
/// whole.
int64_t newestWhole(const std::string &path) {
  std::map<int64_t, std::string> found = listCheckpoints(path);
  if (found.empty())
    return -1;
  auto checkpoint = Checkpoint::open(found.rbegin()->second);
  bool whole = checkpoint.ok() && (*checkpoint)->checkAll().ok() &&
               (*checkpoint)->manifest().step == found.rbegin()->first;
  return whole ? found.rbegin()->first : -2;
}

/// Stops a run of four checkpoints at operation `crash`; the newest step
/// afterwards. `done` is what the run was sure of, `ended` that it was not
/// stopped.
int64_t stopAt(int64_t crash, unsigned seed, bool losePower, bool forgetful,
               int64_t &done, bool &ended, const std::string &path) {
  CrashingDisk disk(crash);
  if (forgetful)
    disk.forget();
  done = -1;
  ended = writeRun(disk, path, false, 1, 4, done).ok();
  std::mt19937 random(seed);
  if (losePower)
    disk.losePower(random);
  return newestWhole(path);
}

TEST(CheckpointFolderTest, SurvivesACrashAtEveryOperation) {
  bool ended = false;
  for (int64_t crash = 0; !ended; ++crash)
    for (unsigned seed = 0; seed < 6; ++seed) {
      Folder scratch;
      std::string path = scratch / "out";
      int64_t done = -1;
      int64_t newest = stopAt(crash, seed, seed > 0, false, done, ended, path);
      // What was committed is there, and what is there is whole.
      EXPECT_GE(newest, done) << crash << " " << seed;
      EXPECT_NE(newest, -2) << crash << " " << seed;
      // The next run starts from there, or anew, and leaves nothing over.
      int64_t again = -1;
      CrashingDisk calm(1'000'000); // The machine's takes time to sync.
      ASSERT_OK(writeRun(calm, path, newest > 0,
                         std::max<int64_t>(newest, 0) + 1, 6, again));
      EXPECT_EQ(newestWhole(path), 6);
      EXPECT_EQ(listCheckpoints(path).size(), 2u);
      size_t names = 0;
      for ([[maybe_unused]] const auto &entry : fs::directory_iterator(path))
        ++names;
      EXPECT_EQ(names, 2u) << crash << " " << seed;
    }
}

/// That the test before would notice: without syncs it does not hold.
TEST(CheckpointFolderTest, WithoutSyncsCheckpointsAreLost) {
  int64_t lost = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    Folder scratch;
    int64_t done = -1;
    bool ended = false;
    int64_t newest =
        stopAt(1000, seed, true, true, done, ended, scratch / "out");
    EXPECT_TRUE(ended);
    lost += newest < done;
  }
  EXPECT_GT(lost, 0);
}

TEST(CheckpointFolderTest, StartsOnlyWhereNothingIsLost) {
  Folder scratch;
  std::string path = scratch / "a/b";
  test::expectRefusal(CheckpointFolder::open(path, true, realDisk()),
                      "holds no checkpoint to resume from");
  EXPECT_FALSE(fs::exists(scratch / "a"));
  int64_t done = -1;
  ASSERT_OK(writeRun(realDisk(), path + "/", false, 3, 4, done));
  test::expectRefusal(CheckpointFolder::open(path, false, realDisk()),
                      "is not empty (it holds 'step-4'); --resume goes on");
  ASSERT_OK(writeRun(realDisk(), path, true, 5, 5, done));
  EXPECT_EQ(listCheckpoints(path).begin()->first, 4);
  Folder other;
  other.write("notes.txt", "hello");
  test::expectRefusal(CheckpointFolder::open(other.path(), false, realDisk()),
                      "it holds 'notes.txt'");
  test::expectRefusal(CheckpointFolder::open(other.path(), true, realDisk()),
                      "holds no checkpoint");
}

TEST(CheckpointFolderTest, OneRunAtATime) {
  Folder scratch;
  auto first = CheckpointFolder::open(scratch / "out", false, realDisk());
  ASSERT_OK(first);
  test::expectRefusal(
      CheckpointFolder::open(scratch / "out", false, realDisk()),
      "another run writes its checkpoints to");
}

TEST(CheckpointFolderTest, NamesThatAreNoCheckpoints) {
  Folder scratch;
  for (const char *name : {"step-3", "step-03", "step-", "step-4.tmp", "step-x",
                           "step-9999999999999999999", "step-5.broken"})
    fs::create_directories(scratch / name);
  scratch.write("step-7", "a file");
  EXPECT_EQ(listCheckpoints(scratch.path()).size(), 1u);
  EXPECT_TRUE(listCheckpoints(scratch / "none").empty());
}

TEST(CheckpointFolderTest, SetAsideIsNotCounted) {
  Folder scratch;
  int64_t done = -1;
  ASSERT_OK(writeRun(realDisk(), scratch / "out", false, 1, 2, done));
  auto folder = CheckpointFolder::open(scratch / "out", true, realDisk());
  ASSERT_OK(folder);
  ASSERT_OK(folder->setAside(2));
  EXPECT_EQ(folder->list().size(), 1u);
  EXPECT_TRUE(fs::exists(scratch / "out/step-2.broken/manifest.json"));
}

TEST(CheckpointFolderTest, MessagesNameThePath) {
  Folder scratch;
  scratch.write("file", "");
  test::expectRefusal(
      CheckpointFolder::open(scratch / "file/out", false, realDisk()),
      "cannot make the folder");
  test::expectRefusal(
      CheckpointFolder::open(scratch / "file", false, realDisk()),
      "cannot make the folder");
}

} // namespace
} // namespace tandem

#include "runtime/session/Checkpoints.h"

#include "runtime/files/checkpoint/Checkpoint.h"
#include "runtime/files/checkpoint/CheckpointFolder.h"
#include "test/unit/files/TestFiles.h"
#include "test/unit/session/SumModel.h"

#include <cstdlib>
#include <sys/wait.h>

namespace tandem {
namespace {

namespace fs = std::filesystem;
using test::Folder;

/// A fault of the environment for as long as it lives.
class PlantedFault {
public:
  explicit PlantedFault(const std::string &text) {
    ::setenv("TANDEM_FAULT", text.c_str(), 1);
  }
  ~PlantedFault() { ::unsetenv("TANDEM_FAULT"); }
};

std::shared_ptr<const Plan> planOn(const char *mesh) {
  SumModel model;
  model.mesh = mesh;
  return std::make_shared<const Plan>(model.plan());
}

/// A session of the model of sums, whose state is the ids so far, and the
/// checkpoints of its folder.
struct Run {
  std::unique_ptr<Session> session;
  std::unique_ptr<Checkpoints> checkpoints;
  int32_t position = 0;

  static Result<Run> start(const char *mesh, const std::string &folder,
                           bool resume = false) {
    Run run;
    TANDEM_ASSIGN(run.session,
                  createLocalSession(planOn(mesh), SessionOptions()));
    TANDEM_ASSIGN(run.checkpoints,
                  Checkpoints::open(*run.session, {folder, resume}));
    return run;
  }
  Status load() {
    TANDEM_ASSIGN(CheckpointNote note, checkpoints->load());
    position = note.training.at("position").get<int32_t>();
    return Status();
  }
  /// Adds `id`; the sum of all so far.
  int32_t add(int32_t id) {
    HostTensor ids(DType::I32, {1, 1});
    ids.fill(id);
    auto outputs =
        session->run("decode", {{"input_ids", ids},
                                {"positions", hostVector({position})},
                                {"lengths", hostVector({1})}});
    EXPECT_TRUE(outputs.ok()) << outputs.status().toString();
    ++position;
    return outputs.ok() ? outputs->at("next_ids").as<int32_t>()[0] : -1;
  }
  CheckpointNote note() const {
    return {position, {{"position", position}, {"seed", 0x123456789abcdef0}}};
  }
  Status save() {
    TANDEM_TRY(checkpoints->begin(note()));
    return checkpoints->finish(true);
  }
};

/// The steps of the complete checkpoints.
std::vector<int64_t> stepsIn(const std::string &folder) {
  std::vector<int64_t> steps;
  for (const auto &[step, path] : listCheckpoints(folder))
    steps.push_back(step);
  return steps;
}

TEST(CheckpointsTest, GoesOnOnOtherLayouts) {
  Folder scratch;
  std::string folder = scratch / "out";
  {
    auto run = Run::start("tp=2", folder);
    ASSERT_OK(run);
    EXPECT_EQ(run->add(3), 3);
    EXPECT_EQ(run->add(5), 8);
    ASSERT_OK(run->save());
    EXPECT_EQ(run->checkpoints->last(), folder + "/step-2");
  }
  int32_t sum = 8;
  for (const char *mesh : {"tp=3", "tp=1", "tp=7", "dp=2,tp=2"}) {
    auto run = Run::start(mesh, folder, true);
    ASSERT_OK(run);
    ASSERT_OK(run->load());
    sum = (sum + 4) % 17;
    EXPECT_EQ(run->add(4), sum) << mesh;
    ASSERT_OK(run->save());
  }
  EXPECT_EQ(stepsIn(folder), (std::vector<int64_t>{5, 6}));
  auto manifest = CheckpointManifest::read(folder + "/step-6");
  ASSERT_OK(manifest);
  EXPECT_EQ(manifest->mesh, "dp=2,tp=2");
  EXPECT_EQ(manifest->training["seed"], 0x123456789abcdef0);
  // The ranks of dp=1 hold what those of dp=0 do.
  EXPECT_EQ(manifest->shards.size(), 2u);
}

TEST(CheckpointsTest, StepsGoOnWhileItIsWritten) {
  Folder scratch;
  std::string folder = scratch / "out";
  // Rank 1 takes its time before it writes.
  PlantedFault fault("1:shard:2:delay=0.3");
  auto run = Run::start("tp=2", folder);
  ASSERT_OK(run);
  run->add(3);
  ASSERT_OK(run->checkpoints->begin(run->note()));
  EXPECT_TRUE(run->checkpoints->pending());
  ASSERT_OK(run->checkpoints->finish(false));
  EXPECT_TRUE(run->checkpoints->pending());
  EXPECT_EQ(run->checkpoints->last(), "");
  // The next step changes the state, once it has been read.
  EXPECT_EQ(run->add(5), 8);
  ASSERT_OK(run->checkpoints->finish(true));
  EXPECT_FALSE(run->checkpoints->pending());

  auto before = Checkpoint::open(folder + "/step-1");
  ASSERT_OK(before);
  int32_t ids[2] = {};
  ASSERT_OK((*before)->read(*(*before)->manifest().find("cache"),
                            {{0, 0}, {1, 2}}, DType::I32,
                            reinterpret_cast<std::byte *>(ids), {2, 1}));
  EXPECT_EQ(ids[0], 3);
  EXPECT_EQ(ids[1], 0);
}

TEST(CheckpointsTest, ADamagedOneIsNamedAndTheOneBeforeTaken) {
  Folder scratch;
  std::string folder = scratch / "out";
  {
    auto run = Run::start("tp=2", folder);
    ASSERT_OK(run);
    for (int32_t id : {3, 5}) {
      run->add(id);
      ASSERT_OK(run->save());
    }
  }
  std::string shard = "out/step-2/rank-1.safetensors";
  std::string bytes = test::readWhole(scratch / shard);
  bytes.back() = static_cast<char>(bytes.back() ^ 8);
  scratch.write(shard, bytes);
  {
    auto run = Run::start("tp=3", folder, true);
    ASSERT_OK(run);
    testing::internal::CaptureStderr();
    ASSERT_OK(run->load());
    std::string warned = testing::internal::GetCapturedStderr();
    EXPECT_NE(warned.find("step-2' is damaged and set aside as "
                          "step-2.broken: "),
              std::string::npos)
        << warned;
    EXPECT_NE(warned.find("rank-1.safetensors: tensor 'cache'"),
              std::string::npos)
        << warned;
    EXPECT_EQ(run->add(6), 9); // After 3, not 8.
    ASSERT_OK(run->save());
  }
  EXPECT_EQ(stepsIn(folder), (std::vector<int64_t>{1, 2}));
  for (const char *step : {"step-1", "step-2"})
    fs::remove(folder + "/" + step + "/manifest.json");
  auto run = Run::start("tp=2", folder, true);
  ASSERT_OK(run);
  testing::internal::CaptureStderr();
  Status none = run->load();
  std::string warned = testing::internal::GetCapturedStderr();
  test::expectRefusal(none, "holds no checkpoint that is whole");
  EXPECT_NE(warned.find("step-1/manifest.json"), std::string::npos) << warned;
}

TEST(CheckpointsTest, AFullDiskLosesNothing) {
  Folder scratch;
  std::string folder = scratch / "out";
  {
    auto run = Run::start("tp=2", folder);
    ASSERT_OK(run);
    run->add(3);
    ASSERT_OK(run->save());
  }
  // What a write fails with, it fails with as a disk that is full.
  for (const char *text : {"1:shard:1:fail", "1:shard:2:fail", "0:shard:3:fail",
                           "0:manifest:3:fail", "0:manifest:5:fail"}) {
    PlantedFault fault(text);
    auto run = Run::start("tp=2", folder, true);
    ASSERT_OK(run);
    ASSERT_OK(run->load());
    run->add(5);
    Status status = run->save();
    test::expectRefusal(status, "the checkpoint of step 2 was not written: ");
    test::expectRefusal(status, "; '" + folder + "/step-1' is whole");
    if (text[0] == '1')
      test::expectRefusal(status, "rank 1: ");
    EXPECT_FALSE(run->checkpoints->pending());
    EXPECT_EQ(stepsIn(folder), (std::vector<int64_t>{1})) << text;
    // The session is as it was, and tries again at the next step.
    EXPECT_EQ(run->add(6), 14) << text;
  }
  auto run = Run::start("tp=2", folder, true);
  ASSERT_OK(run);
  ASSERT_OK(run->load());
  EXPECT_EQ(run->add(5), 8);
}

TEST(CheckpointsTest, MissingFoldersAreNamed) {
  Folder scratch;
  auto run = Run::start("tp=2", scratch / "out");
  ASSERT_OK(run);
  run->add(3);
  fs::remove_all(scratch / "out");
  test::expectRefusal(run->save(), "cannot make the folder '" +
                                       (scratch / "out") + "/step-1.tmp'");
}

/// What a process does that is ended at some operation: two steps with a
/// checkpoint behind each, from where it finds itself.
int writeAndEnd(const std::string &folder, const std::string &fault) {
  ::setenv("TANDEM_FAULT", fault.c_str(), 1);
  bool resume = !stepsIn(folder).empty();
  auto run = Run::start("tp=2", folder, resume);
  if (!run.ok() || (resume && !run->load().ok()))
    return 1;
  for (int step = 0; step < 2; ++step) {
    run->add(1);
    if (!run->save().ok())
      return 1;
  }
  return 0;
}

/// The process ends at each operation of each rank in turn; what follows goes
/// on from a whole checkpoint, and the sum says which.
TEST(CheckpointsTest, EndingAtAnyOperationLeavesAWholeOne) {
  for (const char *kind : {"0:shard:", "1:shard:", "0:manifest:"}) {
    Folder scratch;
    std::string folder = scratch / "out";
    bool ended = false;
    for (int at = 1; !ended; ++at) {
      std::string fault = kind + std::to_string(at) + ":exit";
      pid_t child = ::fork();
      if (child == 0) {
        ::close(2);
        ::_exit(writeAndEnd(folder, fault) == 0 ? 0 : 7);
      }
      int state = 0;
      ASSERT_EQ(::waitpid(child, &state, 0), child);
      ASSERT_TRUE(WIFEXITED(state));
      ASSERT_NE(WEXITSTATUS(state), 7) << fault;
      ended = WEXITSTATUS(state) == 0;
      std::vector<int64_t> steps = stepsIn(folder);
      if (steps.empty())
        continue;
      auto run = Run::start("tp=3", folder, true);
      ASSERT_OK(run);
      ASSERT_OK(run->load());
      EXPECT_EQ(run->position, steps.back()) << fault;
      EXPECT_EQ(run->add(0), steps.back() % 17) << fault;
    }
  }
}

} // namespace
} // namespace tandem

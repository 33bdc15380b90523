#include "runtime/session/FreeMemory.h"

#include "test/unit/files/TestFiles.h"

using namespace tandem;

namespace {

/// A machine as /proc and /sys describe it.
struct Machine {
  test::Folder folder;

  void write(const std::string &path, const std::string &text) {
    std::filesystem::create_directories(
        std::filesystem::path(folder / path).parent_path());
    folder.write(path, text);
  }
  uint64_t free() const { return freeMemory(folder.path()); }
};

TEST(FreeMemory, IsWhatTheKernelSays) {
  Machine machine;
  machine.write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:  8000 kB\n");
  EXPECT_EQ(machine.free(), 8000u * 1024);
}

TEST(FreeMemory, IsUnboundedWhereNothingSays) {
  EXPECT_EQ(Machine().free(), UINT64_MAX);
}

TEST(FreeMemory, IsBoundedByEveryGroupAround) {
  Machine machine;
  machine.write("proc/meminfo", "MemAvailable: 8000 kB\n");
  machine.write("proc/self/cgroup", "0::/a/b\n");
  machine.write("sys/fs/cgroup/a/memory.max", "100000\n");
  machine.write("sys/fs/cgroup/a/memory.current", "60000\n");
  machine.write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 20000\n");
  machine.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  machine.write("sys/fs/cgroup/a/b/memory.current", "60000\n");
  EXPECT_EQ(machine.free(), 60000u);
}

TEST(FreeMemory, KnowsTheFirstVersionOfGroups) {
  Machine machine;
  machine.write("proc/self/cgroup", "5:cpu,memory:/job\n1:name=systemd:/\n");
  machine.write("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "5000\n");
  machine.write("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(machine.free(), 0u);
}

} // namespace

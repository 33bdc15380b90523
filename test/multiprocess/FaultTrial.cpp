#include "FaultTrial.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tandem {
namespace {

double wallTime() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

void pauseBriefly() {
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

// mpirun keeps to itself how each rank ended. So one shell, in a session of its
// own, waits for the rank and writes its code down; another, which mpirun
// knows, passes on the signals that mpirun sends. (mpirun's SIGKILL, a second
// after SIGTERM, is not passed on: nobody should need it.)
const char script[] = R"(rank=$OMPI_COMM_WORLD_RANK
export rank
setsid sh -c '"$1" "$2" "$3" $4; code=$?
  echo $code > "$2/new.$rank"; mv "$2/new.$rank" "$2/code.$rank"
  exit $code' waiter "$1" "$2" "$3" "$4" &
waiter=$!
trap 'kill -TERM $(cat "$2/pid.$rank")' TERM
trap 'kill -CONT $(cat "$2/pid.$rank")' CONT
while kill -0 $waiter 2>/dev/null; do wait $waiter; code=$?; done
exit $code)";

/// User and system time of a thread, in ticks.
long timeUsed(pid_t process, pid_t thread) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" +
                     std::to_string(thread) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t end = text.rfind(')');
  if (end == std::string::npos)
    return -1;
  std::istringstream fields(text.substr(end + 1));
  std::string field;
  long used = 0;
  for (int i = 0; i < 13 && fields >> field; ++i)
    used += i >= 11 ? std::atol(field.c_str()) : 0;
  return used;
}

/// Whether the process still runs: one whose end its tracer (this test) has
/// not taken note of does not.
bool isAlive(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t end = text.rfind(')');
  return end != std::string::npos && text[end + 2] != 'Z';
}

} // namespace

bool haveMpirun() {
  return std::system("mpirun --version >/dev/null 2>&1") == 0;
}

FaultTrial::FaultTrial(int ranks, double deadline, const std::string &kind)
    : ranks(ranks) {
  char name[] = "/tmp/tandem-fault-XXXXXX";
  folder = mkdtemp(name);
  const std::string count = std::to_string(ranks);
  const std::string limit = std::to_string(deadline);
  const std::string errors = folder + "/errors";
  mpirun = fork();
  if (mpirun != 0)
    return;
  int out = open(errors.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(out, 1);
  dup2(out, 2);
  execlp("mpirun", "mpirun", "-n", count.c_str(), "--allow-run-as-root",
         "--oversubscribe", "sh", "-c", script, "rank", TANDEM_FAULT_WORKER,
         folder.c_str(), limit.c_str(), kind.c_str(), nullptr);
  _exit(127);
}

FaultTrial::~FaultTrial() {
  for (int rank = 0; rank < ranks; ++rank)
    if (pid_t pid = pidOf(rank); pid > 0 && endOf(rank) < 0)
      kill(pid, SIGKILL);
  if (mpirun > 0 && status < 0 && !waitForEnd(5)) {
    kill(mpirun, SIGKILL);
    waitpid(mpirun, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

std::string FaultTrial::read(const std::string &name) const {
  std::ifstream file(folder + "/" + name);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

bool FaultTrial::waitUntilRunning() {
  for (int i = 0; i < 2000; ++i, pauseBriefly()) {
    bool all = true;
    for (int rank = 0; rank < ranks; ++rank)
      all = all && pidOf(rank) > 0;
    faultTime = wallTime();
    if (all)
      return true;
  }
  return false;
}

pid_t FaultTrial::pidOf(int rank) const {
  return static_cast<pid_t>(
      std::atoi(read("pid." + std::to_string(rank)).c_str()));
}

void FaultTrial::signal(int rank, int number) {
  faultTime = wallTime();
  kill(pidOf(rank), number);
}

bool FaultTrial::freezeThread(int rank) {
  pid_t process = pidOf(rank), busiest = -1;
  long most = -1;
  std::string tasks = "/proc/" + std::to_string(process) + "/task";
  for (auto &entry : std::filesystem::directory_iterator(tasks)) {
    pid_t thread = std::atoi(entry.path().filename().c_str());
    long used = timeUsed(process, thread);
    if (used > most)
      most = used, busiest = thread;
  }
  faultTime = wallTime();
  return ptrace(PTRACE_SEIZE, busiest, nullptr, nullptr) == 0 &&
         ptrace(PTRACE_INTERRUPT, busiest, nullptr, nullptr) == 0;
}

bool FaultTrial::waitForEnd(double seconds) {
  for (double end = wallTime() + seconds; wallTime() < end; pauseBriefly()) {
    int code;
    if (waitpid(mpirun, &code, WNOHANG) == mpirun) {
      status = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
      return true;
    }
  }
  return false;
}

double FaultTrial::endOf(int rank) const {
  struct stat info;
  std::string path = folder + "/code." + std::to_string(rank);
  if (stat(path.c_str(), &info) != 0)
    return -1;
  double when = double(info.st_mtim.tv_sec) + 1e-9 * info.st_mtim.tv_nsec;
  return std::max(0.0, when - faultTime);
}

int FaultTrial::codeOf(int rank) const {
  std::string text = read("code." + std::to_string(rank));
  return text.empty() ? -1 : std::atoi(text.c_str());
}

std::string FaultTrial::output() const { return read("errors"); }

std::vector<int> FaultTrial::leftBehind() const {
  auto anyAlive = [&] {
    for (int rank = 0; rank < ranks; ++rank)
      if (isAlive(pidOf(rank)))
        return true;
    return false;
  };
  for (int i = 0; i < 300 && anyAlive(); ++i)
    pauseBriefly();
  std::vector<int> found;
  for (int rank = 0; rank < ranks; ++rank)
    if (isAlive(pidOf(rank)))
      found.push_back(rank);
  return found;
}

} // namespace tandem

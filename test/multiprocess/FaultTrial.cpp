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
const char rankScript[] = R"(rank=${OMPI_COMM_WORLD_RANK:-0}
export rank
setsid sh "$TANDEM_TRIAL/waiter.sh" "$@" &
waiter=$!
trap 'kill -TERM $(cat "$TANDEM_TRIAL/pid.$rank") 2>/dev/null' TERM
trap 'kill -CONT $(cat "$TANDEM_TRIAL/pid.$rank") 2>/dev/null' CONT
trap 'kill -USR1 $(cat "$TANDEM_TRIAL/pid.$rank") 2>/dev/null' USR1
while kill -0 $waiter 2>/dev/null; do wait $waiter; code=$?; done
exit $code
)";

const char waiterScript[] = R"(sh "$TANDEM_TRIAL/start.sh" "$@"
code=$?
cd "$TANDEM_TRIAL"
echo $code > "new.$rank" && mv "new.$rank" "code.$rank"
exit $code
)";

const char startScript[] = R"(echo $$ > "$TANDEM_TRIAL/own.$rank"
mv "$TANDEM_TRIAL/own.$rank" "$TANDEM_TRIAL/pid.$rank"
if [ -f "$TANDEM_TRIAL/before.$rank" ]; then . "$TANDEM_TRIAL/before.$rank"; fi
exec "$@"
)";

void write(const std::string &path, const std::string &text) {
  std::ofstream(path) << text;
}

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

/// The letter that ps prints for a process, 'X' where there is none.
char stateOf(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  size_t end = text.rfind(')');
  return end == std::string::npos ? 'X' : text[end + 2];
}

/// Whether the process still runs: one whose end nobody has taken note of (its
/// tracer, which is this test, or a first process that reaps none) does not.
bool isAlive(pid_t process) {
  char state = stateOf(process);
  return state != 'Z' && state != 'X';
}

} // namespace

bool haveMpirun() {
  return std::system("mpirun --version >/dev/null 2>&1") == 0;
}

std::vector<std::string> mpirunOn(int ranks) {
  return {"mpirun", "-n", std::to_string(ranks), "--allow-run-as-root",
          "--oversubscribe"};
}

FaultTrial::FaultTrial(const TrialOptions &options)
    : ranks(options.launcher.empty() ? 1 : options.ranks) {
  char name[] = "/tmp/tandem-fault-XXXXXX";
  folder = mkdtemp(name);
  write(folder + "/rank.sh", rankScript);
  write(folder + "/waiter.sh", waiterScript);
  write(folder + "/start.sh", startScript);
  for (const auto &[rank, text] : options.before)
    write(folder + "/before." + std::to_string(rank), text);
  faultTime = wallTime();
  launcher = fork();
  if (launcher == 0)
    start(options);
}

/// In the child.
void FaultTrial::start(const TrialOptions &options) {
  int errors =
      open((folder + "/errors").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  int results =
      open((folder + "/results").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, 0), dup2(results, 1), dup2(errors, 2);
  setenv("TANDEM_TRIAL", folder.c_str(), 1);
  for (const auto &[name, value] : options.environment)
    setenv(name.c_str(), value.c_str(), 1);
  std::string script = folder + "/rank.sh";
  std::vector<const char *> all;
  for (const std::string &word : options.launcher)
    all.push_back(word.c_str());
  all.push_back("sh");
  all.push_back(script.c_str());
  for (const std::string &word : options.command)
    all.push_back(word.c_str());
  all.push_back(nullptr);
  execvp(all[0], const_cast<char **>(all.data()));
  _exit(127);
}

FaultTrial::~FaultTrial() {
  for (int rank = 0; rank < ranks; ++rank)
    if (pid_t pid = pidOf(rank); pid > 0 && endOf(rank) < 0)
      kill(pid, SIGKILL);
  if (launcher > 0 && status < 0 && !waitForEnd(5)) {
    kill(launcher, SIGKILL);
    waitpid(launcher, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

std::string FaultTrial::read(const std::string &name) const {
  std::ifstream file(folder + "/" + name);
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

bool FaultTrial::waitForFiles(const std::string &prefix) {
  for (double end = wallTime() + 20; wallTime() < end; pauseBriefly()) {
    bool all = true;
    for (int rank = 0; rank < ranks; ++rank)
      all = all && !read(prefix + std::to_string(rank)).empty();
    faultTime = wallTime();
    if (all)
      return true;
  }
  return false;
}

bool FaultTrial::waitUntilReady() { return waitForFiles("ready."); }
bool FaultTrial::waitUntilStarted() { return waitForFiles("pid."); }

bool FaultTrial::waitForFault(double seconds) {
  for (double end = wallTime() + seconds; wallTime() < end; pauseBriefly()) {
    faultTime = wallTime();
    if (output().find("TANDEM_FAULT acts now") != std::string::npos)
      return true;
    if (waitForEnd(0))
      return false;
  }
  return false;
}

bool FaultTrial::waitForText(const std::string &text, double seconds) {
  for (double end = wallTime() + seconds; wallTime() < end; pauseBriefly())
    if (results().find(text) != std::string::npos)
      return true;
  return false;
}

void FaultTrial::markFault() { faultTime = wallTime(); }

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
  const double end = wallTime() + seconds;
  for (int code; status < 0; pauseBriefly()) {
    if (waitpid(launcher, &code, WNOHANG) == launcher)
      status = WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
    else if (wallTime() >= end)
      return false;
  }
  waitForCodes();
  return true;
}

/// On a busy machine a rank's code is written down after the launcher's end.
void FaultTrial::waitForCodes() const {
  for (int rank = 0; rank < ranks; ++rank)
    for (int i = 0; i < 300 && pidOf(rank) > 0 && codeOf(rank) < 0 &&
                    stateOf(pidOf(rank)) != 'T';
         ++i)
      pauseBriefly();
}

void FaultTrial::wake(int rank) {
  if (codeOf(rank) < 0)
    kill(pidOf(rank), SIGCONT);
  for (int i = 0; i < 300 && codeOf(rank) < 0; ++i)
    pauseBriefly();
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

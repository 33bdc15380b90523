//===- LocalSession.cpp - All ranks as threads of one process -------------===//
//
// One thread a rank lives as long as the session; jobs are handed to all of
// them at once. The caller's thread computes nothing: it waits, and watches
// for a rank that is stuck where no wait can end it.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/Guarded.h"
#include "runtime/base/Log.h"
#include "runtime/session/RankRunner.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

namespace tandem {
namespace {

using Clock = std::chrono::steady_clock;
using Job = std::function<Status(size_t rank)>;

/// What the ranks' threads share. A thread that is stuck keeps it alive.
struct Crew {
  explicit Crew(std::shared_ptr<const Plan> plan) : plan(std::move(plan)) {}

  std::shared_ptr<const Plan> plan;
  std::vector<std::unique_ptr<Communicator>> communicators;
  std::vector<RankRunner> ranks;

  std::mutex mutex;
  std::condition_variable work, done;
  Job job; ///< Under mutex, as all below.
  uint64_t jobNumber = 0;
  bool ended = false;
  size_t pending = 0;
  std::vector<Status> results;
  /// Which ranks are still at the present job.
  std::vector<bool> busy;
};

void serveRank(const std::shared_ptr<Crew> &crew, size_t rank) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(crew->mutex);
  for (;;) {
    crew->work.wait(lock,
                    [&] { return crew->ended || crew->jobNumber != seen; });
    if (crew->ended)
      return;
    seen = crew->jobNumber;
    Job job = crew->job;
    lock.unlock();
    Status status = guarded([&] { return job(rank); });
    // A failure outside of instructions must not leave the others waiting.
    if (!status.ok())
      crew->communicators[rank]->abort(status);
    lock.lock();
    crew->results[rank] = std::move(status);
    crew->busy[rank] = false;
    if (--crew->pending == 0)
      crew->done.notify_all();
  }
}

/// Notices kernels that take longer than the deadline.
class Watchdog {
public:
  Watchdog(const Crew &crew, double deadlineSeconds)
      : crew(crew), deadline(deadlineSeconds), counts(crew.ranks.size(), 0),
        since(crew.ranks.size(), Clock::now()) {}

  /// OK, or which rank is stuck where.
  Status look() {
    Clock::time_point now = Clock::now();
    for (size_t r = 0; r < counts.size(); ++r) {
      const Executor *executor = crew.ranks[r].executor();
      if (!executor || !crew.busy[r])
        continue;
      Executor::Sighting sighting = executor->sighting();
      if (sighting.count != counts[r] || !sighting.running)
        since[r] = now;
      counts[r] = sighting.count;
      std::chrono::duration<double> still = now - since[r];
      // A wait for peers ends by the communicator's deadline, and its message
      // says who waits where. This is for a kernel that nobody waits for, or
      // a wait that does not end.
      double limit = sighting.launch ? deadline + 0.5 : 2 * deadline + 1;
      if (still.count() > limit)
        return stuckStatus(r, sighting, still.count());
    }
    return Status();
  }

private:
  static Status stuckStatus(size_t rank, const Executor::Sighting &sighting,
                            double seconds) {
    char text[64];
    std::snprintf(text, sizeof text, "stuck for %.1f s", seconds);
    Status status = Status::rankFailed(text);
    status.rank = static_cast<int64_t>(rank);
    status.instruction = sighting.activity.instruction;
    status.location = sighting.activity.location;
    return status;
  }

  const Crew &crew;
  double deadline;
  std::vector<uint64_t> counts;
  std::vector<Clock::time_point> since;
};

/// For a thread that may come back to what it was stuck with.
void keepForever(std::shared_ptr<Crew> crew) {
  static auto &kept = *new std::vector<std::shared_ptr<Crew>>();
  kept.push_back(std::move(crew));
}

class LocalSession final : public Session {
public:
  LocalSession(std::shared_ptr<const Plan> plan, int threads,
               const SessionOptions &options)
      : Session(plan, threads), options(options),
        crew(std::make_shared<Crew>(plan)) {
    size_t n = static_cast<size_t>(plan->numRanks());
    crew->communicators =
        createLocalCommunicators(plan->numRanks(), options.deadlineSeconds);
    crew->ranks.resize(n);
    crew->results.resize(n);
    crew->busy.resize(n, false);
  }

  ~LocalSession() override {
    {
      std::lock_guard<std::mutex> lock(crew->mutex);
      crew->ended = true;
    }
    crew->work.notify_all();
    if (stuck())
      keepForever(crew);
    for (std::thread &thread : workers) {
      if (stuck_)
        thread.detach();
      else
        thread.join();
    }
  }

  Status start() {
    try {
      for (size_t r = 0; r < crew->ranks.size(); ++r)
        workers.emplace_back([crew = crew, r] { serveRank(crew, r); });
    } catch (const std::system_error &error) {
      return Status::rankFailed(std::string("cannot start the thread of a "
                                            "rank: ") +
                                error.what());
    }
    TANDEM_TRY(onAllRanks(
        [crew = crew.get(), options = options, threads = threads_](size_t r) {
          return crew->ranks[r].prepare(*crew->plan, static_cast<int64_t>(r),
                                        *crew->communicators[r], options,
                                        threads);
        },
        false));
    return load();
  }

  int64_t ranksHere() const override { return plan_->numRanks(); }
  bool leads() const override { return true; }
  void giveUp(const Status &cause) override {
    fault_ = cause;
    stuck_ = true;
  }
  bool stuck() const override {
    return stuck_ || std::any_of(crew->ranks.begin(), crew->ranks.end(),
                                 [](const auto &rank) { return rank.stuck(); });
  }

  Status step(uint32_t entry, const PortTensors &inputs,
              PortTensors &outputs) override {
    // References to the caller's tensors: a rank that comes back after the
    // world ended must not touch them.
    return onAllRanks(
        [crew = crew.get(), entry, &inputs, &outputs](size_t r) -> Status {
          RankRunner &runner = crew->ranks[r];
          TANDEM_TRY(runner.step(entry, inputs));
          TANDEM_TRY(crew->communicators[r]->fault());
          runner.slices(entry).giveOutputs(outputs);
          return Status();
        },
        true);
  }

  Result<std::vector<RankReply>> ask(RankTask task,
                                     const std::string &text) override {
    std::vector<std::string> replies(crew->ranks.size());
    TANDEM_TRY(onAllRanks(
        [crew = crew.get(), task, &text, &replies](size_t r) {
          RankReply reply = crew->ranks[r].perform(task, text);
          replies[r] = packReply(reply);
          return reply.status().code() == StatusCode::RankFailed
                     ? reply.status()
                     : Status();
        },
        false));
    std::vector<RankReply> result;
    for (const std::string &reply : replies)
      result.push_back(unpackReply(reply));
    return result;
  }

private:
  Status load() {
    if (!options.loadWeights || plan_->table().parameters()->size() == 0)
      return Status();
    TANDEM_ASSIGN(Weights weights, weightsFor(*plan_, options));
    LoadProgress progress;
    Status status = onAllRanks(
        [crew = crew.get(), &weights, &progress](size_t r) {
          return crew->ranks[r].load(*crew->plan, weights, progress);
        },
        false,
        [&] {
          if (options.progress)
            options.progress(progress.done, progress.total);
        });
    if (status.ok() && options.progress)
      options.progress(progress.total, progress.total);
    return status;
  }

  /// Runs `job` on every rank's thread and waits for all. Steps are watched
  /// by their deadline; getting ready may take as long as it takes, and calls
  /// `tick` now and then.
  Status onAllRanks(Job job, bool watched,
                    const std::function<void()> &tick = {}) {
    TANDEM_TRY(fault_);
    std::unique_lock<std::mutex> lock(crew->mutex);
    crew->job = std::move(job);
    ++crew->jobNumber;
    crew->pending = crew->ranks.size();
    crew->busy.assign(crew->ranks.size(), true);
    crew->work.notify_all();
    fault_ = watched ? watch(lock) : wait(lock, tick);
    return fault_;
  }

  Status wait(std::unique_lock<std::mutex> &lock,
              const std::function<void()> &tick) {
    while (!crew->done.wait_for(lock, std::chrono::milliseconds(100),
                                [&] { return crew->pending == 0; }))
      if (tick)
        tick();
    return cause();
  }

  Status watch(std::unique_lock<std::mutex> &lock) {
    Watchdog watchdog(*crew, options.deadlineSeconds);
    auto pause = std::chrono::duration<double>(
        std::min(0.1, options.deadlineSeconds / 8));
    while (
        !crew->done.wait_for(lock, pause, [&] { return crew->pending == 0; })) {
      Status seen = crew->communicators[0]->fault();
      if (seen.ok())
        seen = watchdog.look();
      if (!seen.ok())
        return endWorld(lock, seen);
    }
    return cause();
  }

  /// The world has failed: gives all ranks a moment to come back.
  Status endWorld(std::unique_lock<std::mutex> &lock, const Status &seen) {
    crew->communicators[0]->abort(seen);
    if (crew->done.wait_for(lock, std::chrono::seconds(1),
                            [&] { return crew->pending == 0; }))
      return cause();
    stuck_ = true;
    for (size_t r = 0; r < crew->busy.size(); ++r)
      if (crew->busy[r])
        logMissing(r);
    return seen;
  }

  void logMissing(size_t rank) {
    const Executor *executor = crew->ranks[rank].executor();
    Executor::Sighting at;
    if (executor)
      at = executor->sighting();
    log(LogLevel::Error,
        "rank " + std::to_string(rank) + " does not come back from " +
            (at.activity.instruction[0] ? at.activity.instruction
                                        : "its work") +
            (at.activity.location[0]
                 ? std::string(" (") + at.activity.location + ")"
                 : "") +
            "; this session is over");
  }

  /// The fault that ended the world, else any rank's own failure.
  Status cause() {
    Status fault = crew->communicators[0]->fault();
    for (size_t r = 0; fault.ok() && r < crew->results.size(); ++r)
      fault = crew->results[r];
    return fault;
  }

  SessionOptions options;
  std::shared_ptr<Crew> crew;
  std::vector<std::thread> workers;
  bool stuck_ = false;
};

} // namespace

Result<std::unique_ptr<Session>>
createLocalSession(std::shared_ptr<const Plan> plan,
                   const SessionOptions &options) {
  std::vector<int64_t> ranks;
  for (int64_t rank = 0; rank < plan->numRanks(); ++rank)
    ranks.push_back(rank);
  int threads =
      options.threads > 0 ? options.threads : defaultThreads(plan->numRanks());
  TANDEM_TRY(checkMemory(*plan, ranks, threads, memoryFor(options)));
  if (options.threads > 0)
    warnOfTooManyThreads(threads, plan->numRanks());
  auto session = std::make_unique<LocalSession>(plan, threads, options);
  TANDEM_TRY(session->start());
  return std::unique_ptr<Session>(std::move(session));
}

} // namespace tandem

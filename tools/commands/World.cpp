#include "tools/commands/World.h"

#include "runtime/base/Guarded.h"
#include "runtime/base/Log.h"
#include "runtime/comm/MpiModule.h"
#include "runtime/comm/control/CrashHandler.h"
#include "runtime/comm/control/Launcher.h"
#include "runtime/plan/Verify.h"
#include "tools/commands/Interrupt.h"

#include <cstdlib>
#include <unistd.h>

namespace tandem {
namespace {

/// What rank 0 does, and whether signals end it behind a step.
struct Leading {
  const Lead &run;
  bool endsBehindStep;
};

/// Shows how much of the weights is loaded, on a terminal only.
std::function<void(int64_t, int64_t)> progressLine() {
  if (!isatty(2) || logLevel() < LogLevel::Info)
    return {};
  return [](int64_t done, int64_t total) {
    std::string line = "\rloading weights " +
                       std::to_string(total ? done * 100 / total : 100) + " %";
    if (done >= total)
      line = "\r\033[K";
    [[maybe_unused]] ssize_t written = ::write(2, line.data(), line.size());
  };
}

Result<SessionOptions> sessionOptions(const WorldOptions &options) {
  SessionOptions result;
  if (!options.memory.empty()) {
    TANDEM_ASSIGN(result.memoryBytes, parseBytes(options.memory));
  }
  result.threads = options.threads;
  result.deadlineSeconds = options.deadlineSeconds;
  result.weights = options.weights;
  result.loadWeights = options.loadWeights;
  result.init = options.init;
  result.progress = progressLine();
  return result;
}

Status runLocal(Program &program, const PlanRequest &request,
                const SessionOptions &options, const Leading &lead) {
  TANDEM_ASSIGN(std::shared_ptr<const Plan> plan, program.plans->make(request));
  TANDEM_TRY(verify(*plan));
  TANDEM_ASSIGN(std::unique_ptr<Session> session,
                createLocalSession(plan, options));
  Status status = lead.run(*session);
  if (session->stuck()) {
    // A thread that cannot be stopped would keep the process.
    log(LogLevel::Error, status.toString());
    _exit(status.exitCode());
  }
  Status closed = session->close();
  return status.ok() ? closed : status;
}

/// Rank 0's plan as the bytes that all get; a failure travels too, so that
/// the others leave with its code.
std::string planMessage(Program &program, const PlanRequest &request,
                        const MpiWorld &world, Status &status) {
  auto make = [&]() -> Result<std::shared_ptr<const Plan>> {
    TANDEM_ASSIGN(std::shared_ptr<const Plan> plan,
                  program.plans->make(request));
    TANDEM_TRY(verify(*plan));
    if (plan->numRanks() != world.size())
      return Status::refused(
          "the plan has " + std::to_string(plan->numRanks()) +
          " ranks, the launcher started " + std::to_string(world.size()) +
          " processes; start as many processes as ranks, or one");
    return plan;
  };
  Result<std::shared_ptr<const Plan>> plan = make();
  status = plan.status();
  if (!plan.ok())
    return "E" + std::to_string(status.exitCode());
  const std::vector<uint8_t> &bytes = (*plan)->bytes();
  return "P" + std::string(bytes.begin(), bytes.end());
}

/// Rank 0 says why it ends; the others leave with its code, without a word.
Status leaveAlike(MpiWorld &world, Status &status) {
  std::string code(1, static_cast<char>(status.code()));
  TANDEM_TRY(world.broadcast(code));
  if (world.rank() != 0)
    status = Status(static_cast<StatusCode>(code[0]), "");
  return Status();
}

/// What every rank of an open world does. Where it returns other than a
/// rank's failure, all ranks return alike and may part in order.
Status runRank(Program &program, const PlanRequest &request,
               const SessionOptions &options, const Leading &lead,
               MpiWorld &world) {
  std::string message;
  Status planned;
  world.begin({"plan", ""});
  if (world.rank() == 0)
    message = planMessage(program, request, world, planned);
  TANDEM_TRY(world.broadcast(message));
  if (message.empty() || message[0] != 'P') {
    TANDEM_TRY(world.finish());
    // Rank 0 says why; the others leave without a word.
    return world.rank() == 0
               ? planned
               : Status(static_cast<StatusCode>(std::atoi(message.c_str() + 1)),
                        "");
  }
  Result<Plan> plan = Plan::loadBytes({message.begin() + 1, message.end()});
  if (!plan.ok())
    return Status::rankFailed("the plan of rank 0 cannot be read here, so that "
                              "this is another build of Tandem: " +
                              plan.status().message());
  Result<std::unique_ptr<Session>> made = createMpiSession(
      std::make_shared<const Plan>(std::move(*plan)), world, options);
  Status status = made.status();
  if (made.ok()) {
    Session &session = **made;
    if (lead.endsBehindStep)
      handleInterruptsAsRank(session.leads());
    status = guarded(
        [&] { return session.leads() ? lead.run(session) : session.serve(); });
    // The others wait for this rank: they are told why it does not come.
    if (status.code() == StatusCode::RankFailed)
      world.abort(status);
    Status closed = session.close();
    if (status.ok())
      status = closed;
    if (status.code() != StatusCode::RankFailed)
      TANDEM_TRY(leaveAlike(world, status));
  }
  if (status.code() == StatusCode::RankFailed)
    return status;
  TANDEM_TRY(world.finish());
  return status;
}

Status runMpi(Program &program, const PlanRequest &request,
              const SessionOptions &options, const Leading &lead) {
  MpiOptions mpi;
  mpi.deadlineSeconds = options.deadlineSeconds;
  TANDEM_ASSIGN(MpiWorld world, openMpi(mpi));
  if (world.size() == 1) {
    // One process drives all ranks.
    TANDEM_TRY(world.finish());
    return runLocal(program, request, options, lead);
  }
  Status status =
      guarded([&] { return runRank(program, request, options, lead, world); });
  if (status.code() == StatusCode::RankFailed)
    world.abort(status);
  return status;
}

} // namespace

void WorldOptions::addTo(CLI::App *command) {
  command
      ->add_option("--comm", comm,
                   "How ranks talk: auto (mpi when a launcher started several "
                   "processes), local or mpi")
      ->check(CLI::IsMember({"auto", "local", "mpi"}));
  command
      ->add_option("--threads", threads,
                   "Threads of each rank (default: this process's CPUs "
                   "divided among its ranks)")
      ->check(atLeast(1, 1024));
  command
      ->add_option("--deadline", deadlineSeconds,
                   "Seconds that a wait may last while the peer lives")
      ->check(atLeast(0.001, 1e9));
  command->add_option("--weights", weights,
                      "Directory or file of the weights, when they are not "
                      "where the plan says");
  command->add_option("--memory", memory,
                      "What all ranks on this machine may use, such as 8GiB "
                      "(default: what is free)");
}

Status runInWorld(Program &program, const PlanRequest &request,
                  const WorldOptions &options, const Lead &lead) {
  TANDEM_ASSIGN(SessionOptions session, sessionOptions(options));
  installCrashHandler();
  bool mpi = options.comm == "mpi" ||
             (options.comm == "auto" && detectLauncher().several());
  Leading leading{lead, options.endsBehindStep};
  return mpi ? runMpi(program, request, session, leading)
             : runLocal(program, request, session, leading);
}

} // namespace tandem

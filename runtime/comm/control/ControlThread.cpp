#include "runtime/comm/control/ControlThread.h"

#include "runtime/base/LastWords.h"
#include "runtime/base/Log.h"

#include <algorithm>
#include <csignal>
#include <initializer_list>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tandem {
namespace {

using Seconds = std::chrono::duration<double>;

ControlThread::Clock::duration seconds(double value) {
  return std::chrono::duration_cast<ControlThread::Clock::duration>(
      Seconds(value));
}

/// How often counts are looked at: so that the deadline is kept to a tenth.
double tickSeconds(const ControlOptions &options) {
  return std::clamp(options.deadlineSeconds / 10, 0.02,
                    options.heartbeatSeconds);
}

// A launcher that ends the others after one has died is slower than a closed
// connection, but kills after about a second.
constexpr double terminationGrace = 0.5;

} // namespace

ControlThread::ControlThread(
    int64_t rank, const ControlOptions &options, const ActivityTable &table,
    Verdict &verdict, std::vector<std::unique_ptr<Connection>> connections)
    : rank(rank), options(options), table(table), verdict(verdict),
      sampler(table), connections(std::move(connections)) {
  board.wakeUp = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  board.longestPause = static_cast<int64_t>(options.silenceSeconds * 0.5e9);
  size_t count = std::min(this->connections.size(), board.sockets.size());
  for (size_t i = 0; i < count; ++i)
    board.sockets[i].store(this->connections[i]->socket());
}

ControlThread::~ControlThread() {
  if (options.exitOnFault)
    setSignalBoard(nullptr);
  ::close(board.wakeUp);
}

void ControlThread::start() {
  now = lastLoop = nextTick = nextBeat = nextCompare = Clock::now();
  board.lastLoop.store(monotonicNanoseconds());
  for (auto &connection : connections)
    connection->lastHeard = now;
  if (options.exitOnFault)
    setSignalBoard(&board);
  // Signals are for the program's own threads: a stopped program must pass
  // their handlers before it does anything else.
  sigset_t all, before;
  sigfillset(&all);
  for (int crash : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL})
    sigdelset(&all, crash);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread = std::thread([this] { run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ControlThread::stop(const std::string &farewell) {
  stopping.store(true);
  wake();
  thread.join();
  flood(farewell, nullptr);
  for (auto &connection : connections)
    connection->shutdown();
}

void ControlThread::wake() {
  uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(board.wakeUp, &one, sizeof one);
}

void ControlThread::run() {
  while (!stopping.load()) {
    pollOnce();
    if (auto wish = verdict.requested(); wish && !verdict.given())
      declare(located(*wish));
    checkTermination();
    if (now >= nextTick)
      tick();
  }
}

void ControlThread::pollOnce() {
  std::vector<pollfd> wanted{{board.wakeUp, POLLIN, 0}};
  for (auto &connection : connections) {
    short events = POLLIN;
    if (connection->hasUnsent())
      events |= POLLOUT;
    wanted.push_back({connection->socket(), events, 0});
  }
  auto rest = std::chrono::ceil<std::chrono::milliseconds>(nextTick - now);
  poll(wanted.data(), wanted.size(),
       static_cast<int>(std::max<int64_t>(0, rest.count())));
  now = Clock::now();
  noteLateness();
  uint64_t count;
  [[maybe_unused]] ssize_t got = ::read(board.wakeUp, &count, sizeof count);
  for (size_t i = 0; i < connections.size(); ++i) {
    if (wanted[i + 1].revents & POLLOUT)
      connections[i]->flush();
    if (wanted[i + 1].revents & ~POLLOUT)
      readFrom(*connections[i]);
    if (wasStopped)
      connections[i]->lastHeard = now;
  }
}

void ControlThread::noteLateness() {
  wasStopped = now - lastLoop > seconds(options.silenceSeconds / 2);
  lastLoop = now;
  board.lastLoop.store(monotonicNanoseconds());
}

void ControlThread::readFrom(Connection &connection) {
  bool open = connection.receive([&](FrameKind kind, FrameReader &frame) {
    take(connection, kind, frame);
  });
  if (!open && connection.isOpen())
    lost(connection);
}

void ControlThread::take(Connection &from, FrameKind kind, FrameReader &frame) {
  switch (kind) {
  case FrameKind::Heartbeat:
    from.lastState = RankState::read(frame);
    return;
  case FrameKind::Question:
    return takeQuestion(from, frame);
  case FrameKind::Answer:
    return takeAnswer(from, frame);
  case FrameKind::Fault:
    return declare(Fault::read(frame), &from);
  case FrameKind::Crash:
    return takeCrash(from, frame);
  case FrameKind::Goodbye:
    from.saidGoodbye = true;
    return;
  case FrameKind::Hello:
    return;
  }
}

void ControlThread::takeQuestion(Connection &from, FrameReader &frame) {
  auto origin = frame.get<int64_t>();
  auto number = frame.get<uint64_t>();
  auto target = frame.get<int64_t>();
  if (!frame.ok() || passedBefore(FrameKind::Question, origin, number))
    return;
  if (target != rank) {
    FrameWriter writer(FrameKind::Question);
    return flood(writer.put(origin).put(number).put(target).finish(), &from);
  }
  state = sampler.sample(now);
  FrameWriter writer(FrameKind::Answer);
  writer.put(origin).put(number).put(rank);
  state.write(writer);
  send(origin, writer.finish());
}

void ControlThread::takeAnswer(Connection &from, FrameReader &frame) {
  auto origin = frame.get<int64_t>();
  auto number = frame.get<uint64_t>();
  auto responder = frame.get<int64_t>();
  RankState answer = RankState::read(frame);
  if (!frame.ok() || passedBefore(FrameKind::Answer, origin, number))
    return;
  if (origin != rank) {
    FrameWriter writer(FrameKind::Answer);
    writer.put(origin).put(number).put(responder);
    answer.write(writer);
    return flood(writer.finish(), &from);
  }
  if (number != questions)
    return;
  state = sampler.sample(now);
  if (auto fault = judge(responder, answer))
    declare(*fault);
}

/// What an answer to the last question means.
std::optional<Fault> ControlThread::judge(int64_t responder,
                                          const RankState &answer) {
  const ChannelState *mine = comparing < 0 ? nullptr : state.find(comparing);
  if (mine && mine->waits() && mine->waitingFor == responder)
    if (auto fault = compareCalls(rank, *mine, responder, answer))
      return fault;
  comparing = -1;
  if (!inquiry || inquiry->target() != responder)
    return std::nullopt;
  auto fault = inquiry->answer(answer);
  if (!fault)
    ask(inquiry->target());
  return fault;
}

void ControlThread::takeCrash(Connection &from, FrameReader &frame) {
  Fault fault;
  fault.rank = from.peer;
  fault.cause = frame.getText();
  fault.instruction = frame.getText();
  fault.location = frame.getText();
  if (frame.ok())
    declare(fault);
}

/// `fault` with this rank and what it does where it does not say.
Fault ControlThread::located(Fault fault) {
  state = sampler.sample(now);
  const ChannelState *here = state.place();
  if (fault.rank < 0)
    fault.rank = rank;
  if (fault.rank == rank && fault.instruction.empty() && here) {
    fault.instruction = here->instruction;
    fault.location = here->location;
  }
  return fault;
}

/// A connection that closed: well after a goodbye, else a death, unless it is
/// this process that was given up.
void ControlThread::lost(Connection &connection) {
  for (std::atomic<int> &socket : board.sockets)
    if (socket.load() == connection.socket())
      socket.store(-1);
  connection.close();
  if (connection.saidGoodbye || verdict.given())
    return;
  if (wasStopped && options.exitOnFault)
    _exit(3);
  declare(Fault::closed(connection.peer, connection.lastState));
}

void ControlThread::tick() {
  nextTick = now + seconds(tickSeconds(options));
  state = sampler.sample(now);
  if (now >= nextBeat)
    beat();
  if (verdict.given())
    return;
  checkSilence();
  checkWaits();
  checkInquiry();
}

void ControlThread::beat() {
  nextBeat = now + seconds(options.heartbeatSeconds);
  FrameWriter writer(FrameKind::Heartbeat);
  state.write(writer);
  const std::string &frame = writer.finish();
  for (auto &connection : connections)
    connection->send(frame, /*droppable=*/true);
}

void ControlThread::checkSilence() {
  for (auto &connection : connections) {
    double silence = Seconds(now - connection->lastHeard).count();
    if (connection->isOpen() && !connection->saidGoodbye &&
        silence > options.silenceSeconds)
      return declare(
          Fault::silent(connection->peer, silence, connection->lastState));
  }
}

/// Rank 0 may read, compile or think for as long as it likes.
bool ControlThread::isPatient(const ChannelState &wait) const {
  return wait.channel == ActivityTable::setUp &&
         !table.setUpHasDeadline.load(std::memory_order_relaxed);
}

void ControlThread::checkWaits() {
  const double deadline = options.deadlineSeconds;
  for (const ChannelState &wait : state.channels) {
    if (!wait.waits() || isPatient(wait))
      continue;
    // The last poll was some time into the wait, so that half will do.
    if (wait.still >= deadline && wait.unpolled >= deadline / 2)
      return declare(Fault::stalled(rank, wait, deadline, rank, &wait,
                                    "its thread does not run"));
    if (wait.still >= deadline && !inquiry) {
      inquiry.emplace(rank, wait, deadline);
      comparing = wait.channel;
      return ask(wait.waitingFor);
    }
    if (wait.still >= std::min(0.5, deadline / 4) && !inquiry)
      compare(wait);
  }
}

/// Two ranks that made different calls need not wait for the deadline.
void ControlThread::compare(const ChannelState &wait) {
  if (now < nextCompare)
    return;
  nextCompare = now + seconds(std::min(0.5, options.deadlineSeconds / 4));
  comparing = wait.channel;
  ask(wait.waitingFor);
}

void ControlThread::checkInquiry() {
  if (!inquiry)
    return;
  bool lasts = std::any_of(state.channels.begin(), state.channels.end(),
                           [&](const auto &wait) {
                             return wait.waits() && !isPatient(wait) &&
                                    wait.still >= options.deadlineSeconds;
                           });
  // Whoever is dead or stopped does not answer; the clock of liveness, which
  // says so better, has gone off by then.
  if (!lasts)
    inquiry.reset();
  else if (now - askedAt > seconds(options.silenceSeconds + 1))
    declare(inquiry->unanswered());
}

void ControlThread::ask(int64_t target) {
  askedAt = now;
  FrameWriter writer(FrameKind::Question);
  writer.put(rank).put(++questions).put(target);
  send(target, writer.finish());
}

void ControlThread::checkTermination() {
  if (!termination && board.terminated.load()) {
    termination = true;
    terminatedAt = now;
    nextTick = std::min(nextTick, now + seconds(terminationGrace / 4));
  }
  if (!termination || now - terminatedAt < seconds(terminationGrace))
    return;
  termination = false;
  board.terminated.store(false);
  if (onTerminate)
    return onTerminate();
  Fault fault;
  fault.code = StatusCode::Interrupted;
  fault.rank = rank;
  fault.cause = "rank " + std::to_string(rank) + " was told to end (SIGTERM)";
  declare(fault);
}

bool ControlThread::passedBefore(FrameKind kind, int64_t origin,
                                 uint64_t number) {
  if (passed.size() > 4096)
    passed.clear();
  return !passed.emplace(kind, origin, number).second;
}

/// To a neighbour directly, to others by way of all neighbours.
void ControlThread::send(int64_t to, const std::string &frame) {
  for (auto &connection : connections)
    if (connection->peer == to)
      return connection->send(frame);
  flood(frame, nullptr);
}

void ControlThread::flood(const std::string &frame, const Connection *except) {
  for (auto &connection : connections)
    if (connection.get() != except)
      connection->send(frame);
}

/// The first fault is the world's: all others are told before this process
/// ends.
void ControlThread::declare(const Fault &fault, const Connection *from) {
  if (!verdict.give(fault))
    return;
  flood(fault.frame(), from);
  if (options.exitOnFault)
    leave(fault);
}

void ControlThread::leave(const Fault &fault) {
  // Given up by the others and running again: not a word, they have spoken.
  if (!(fault.givenUp && fault.rank == rank)) {
    state = sampler.sample(now);
    log(LogLevel::Error,
        fault.status().toString() + "; " + state.describe(rank, "was"));
    if (std::string words = lastWords(); !words.empty())
      logInfo(words);
  }
  for (auto &connection : connections)
    connection->shutdown();
  _exit(fault.status().exitCode());
}

} // namespace tandem

//===- FaultWorker.cpp - A rank that works until something breaks ---------===//
//
//   TANDEM_TRIAL=DIR fault_worker DEADLINE [KIND]
//
// Opens the world, writes DIR/ready.RANK, and goes through a loop of
// collectives and transfers on all ranks, each begun with an instruction and a
// location, until a fault ends it. With a KIND, rank 1 breaks by itself after a
// while:
//
//   abort   says that it cannot go on      crash   reads where nothing is
//   exit    leaves main without a word     bus     reads a file that was cut
//   order   makes another call             end     all ranks end well
//
// With the KIND `garble` it is rank 0 of a world of tandem's ranks, and gives
// them a plan that cannot be read.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/MpiModule.h"
#include "runtime/comm/control/CrashHandler.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

using namespace tandem;

namespace {

struct Work {
  Communicator &comm;
  Group &all;
  std::vector<float> in, out;
  std::vector<std::byte> workspace;

  Work(Communicator &comm, Group &all)
      : comm(comm), all(all), in(40000), out(40000 * all.size()),
        workspace(Communicator::allReduceWorkspaceBytes(
            DType::F32, int64_t(in.size()), all.size())) {}

  int64_t bytes() const { return int64_t(in.size() * sizeof(float)); }

  Status step() {
    comm.begin(0, {"launch matmul #1", "layers.0.mlp.up"});
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    comm.begin(0, {"all_reduce #2", "layers.0.mlp.down"});
    TANDEM_TRY(comm.allReduce(all, 0, in.data(), in.data(), int64_t(in.size()),
                              DType::F32, ReductionKind::Max,
                              workspace.data()));
    comm.begin(0, {"all_gather #3", "layers.1.attention"});
    TANDEM_TRY(comm.allGather(all, 0, in.data(), out.data(), bytes()));
    TANDEM_TRY(relay());
    comm.begin(0, {"broadcast #6", "head"});
    return comm.broadcast(all, 0, in.data(), 64, all.size() - 1);
  }

  /// From rank to rank, as stages do.
  Status relay() {
    int64_t me = comm.rank();
    if (me > 0) {
      comm.begin(0, {"recv #4", "layers.2"});
      TANDEM_TRY(comm.receive(me - 1, 0, out.data(), bytes()));
    }
    if (me + 1 == comm.size())
      return Status();
    comm.begin(0, {"send #5", "layers.2"});
    return comm.send(me + 1, 0, in.data(), bytes());
  }
};

/// Reads a page of a file behind which no file is any more.
void readCutFile(const std::string &folder) {
  std::string path = folder + "/cut";
  int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
  if (fd < 0 || ftruncate(fd, 8192) != 0)
    std::exit(90);
  auto *data = static_cast<volatile char *>(
      mmap(nullptr, 8192, PROT_READ, MAP_SHARED, fd, 0));
  if (ftruncate(fd, 0) != 0)
    std::exit(90);
  (void)data[4096];
}

Status breakDown(Work &work, const std::string &kind,
                 const std::string &folder) {
  work.comm.begin(0, {"launch gelu #7", "layers.3.mlp"});
  if (kind == "abort") {
    Status cause = Status::rankFailed("not enough memory for 12 bytes");
    work.comm.abort(cause);
  }
  if (kind == "exit")
    std::exit(7);
  if (kind == "crash")
    *static_cast<volatile int *>(nullptr) = 1;
  if (kind == "bus")
    readCutFile(folder);
  if (kind == "order")
    return work.comm.allGather(work.all, 0, work.in.data(), work.out.data(),
                               4096);
  return Status();
}

int run(const std::string &folder, double deadline, const std::string &kind) {
  installCrashHandler();
  MpiOptions options;
  options.deadlineSeconds = deadline;
  auto world = openMpi(options);
  if (!world.ok()) {
    std::cerr << world.status().toString() << "\n";
    return 1;
  }
  if (kind == "garble") {
    std::string message = "Pno plan";
    return world->broadcast(message).ok() ? world->finish().exitCode() : 99;
  }
  std::vector<int64_t> everyone(world->size());
  std::iota(everyone.begin(), everyone.end(), 0);
  auto group = world->communicator().group(everyone);
  Work work(world->communicator(), **group);
  std::ofstream(folder + "/ready." + std::to_string(world->rank())) << 1;
  for (int step = 0;; ++step) {
    Status status;
    if (kind == "end" && step == 20)
      return world->finish().exitCode();
    if (!kind.empty() && step == 20 && world->rank() == 1)
      status = breakDown(work, kind, folder);
    if (status.ok())
      status = work.step();
    if (!status.ok()) {
      std::cerr << "the step returned: " << status.toString() << "\n";
      return 99;
    }
  }
}

} // namespace

int main(int argc, char **argv) {
  const char *folder = std::getenv("TANDEM_TRIAL");
  if (argc < 2 || !folder)
    return 2;
  return run(folder, std::atof(argv[1]), argc > 2 ? argv[2] : "");
}

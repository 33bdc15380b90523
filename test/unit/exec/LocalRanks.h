//===- LocalRanks.h - Executors on threads, for tests -----------*- C++ -*-===//
//
// All ranks of a plan in this process, each with its device and executor, and
// a way to do something on every rank's own thread.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_EXEC_LOCALRANKS_H
#define TANDEM_TEST_UNIT_EXEC_LOCALRANKS_H

#include "runtime/exec/Executor.h"

#include <cstring>
#include <functional>
#include <thread>

namespace tandem {

class LocalRanks {
public:
  /// `seed` 0: the cpu device; else chaos.
  LocalRanks(const Plan &plan, uint64_t seed, double deadline = 10)
      : LocalRanks(
            plan,
            [seed, r = uint64_t(0)]() mutable {
              return seed ? createChaosDevice(1, seed + r++)
                          : createCpuDevice(1);
            },
            deadline) {}
  /// Devices come from `make`, one after another.
  LocalRanks(const Plan &plan,
             const std::function<std::unique_ptr<Device>()> &make,
             double deadline)
      : comms(createLocalCommunicators(plan.numRanks(), deadline)) {
    for (size_t r = 0; r < comms.size(); ++r)
      devices.push_back(make());
    executors.resize(comms.size());
    created = each([&](size_t r) -> Status {
      TANDEM_ASSIGN(executors[r],
                    Executor::create(plan, static_cast<int64_t>(r), *devices[r],
                                     *comms[r]));
      return Status();
    });
  }

  /// Runs `body(rank)` on a thread a rank; the statuses by rank.
  std::vector<Status> each(const std::function<Status(size_t)> &body) {
    std::vector<Status> results(comms.size());
    std::vector<std::thread> threads;
    for (size_t r = 0; r < comms.size(); ++r)
      threads.emplace_back([&, r] { results[r] = body(r); });
    for (std::thread &thread : threads)
      thread.join();
    return results;
  }
  std::vector<Status> run(uint32_t entry) {
    return each([&](size_t r) { return executors[r]->run(entry); });
  }

  std::vector<std::unique_ptr<Communicator>> comms;
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Executor>> executors;
  std::vector<Status> created;
};

/// Calls `body(element address, global index)` for each valid element.
template <typename Body>
void forEachValid(const TensorArg &piece, const Body &body) {
  std::vector<int64_t> index(piece.dims.size(), 0), global(index.size());
  int64_t size = blockBytes(piece.dtype);
  for (const TensorDim &dim : piece.dims)
    if (dim.valid == 0)
      return;
  for (;;) {
    int64_t at = 0;
    for (size_t d = 0; d < index.size(); ++d) {
      at = at * piece.dims[d].capacity + index[d];
      global[d] = piece.dims[d].begin + index[d];
    }
    body(piece.data + at * size, global);
    size_t d = index.size();
    while (d > 0 && ++index[d - 1] == piece.dims[d - 1].valid)
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Fills a piece of an f32 tensor from a function of the global index.
inline void
fillPiece(const TensorArg &piece,
          const std::function<double(const std::vector<int64_t> &)> &value) {
  forEachValid(piece, [&](std::byte *at, const std::vector<int64_t> &index) {
    float element = static_cast<float>(value(index));
    std::memcpy(at, &element, sizeof element);
  });
}

} // namespace tandem

#endif // TANDEM_TEST_UNIT_EXEC_LOCALRANKS_H

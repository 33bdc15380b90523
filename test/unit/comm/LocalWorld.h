//===- LocalWorld.h - A test world of threads -------------------*- C++ -*-===//

#ifndef TANDEM_TEST_UNIT_COMM_LOCALWORLD_H
#define TANDEM_TEST_UNIT_COMM_LOCALWORLD_H

#include "TestWorld.h"

#include <thread>
#include <vector>

namespace tandem {

/// Ranks as threads of this process, by createLocalCommunicators.
class LocalWorld final : public TestWorld {
public:
  LocalWorld(int64_t ranks, double deadlineSeconds)
      : communicators(createLocalCommunicators(ranks, deadlineSeconds)) {}

  int64_t size() const override {
    return static_cast<int64_t>(communicators.size());
  }

  void run(const std::function<void(Communicator &)> &body) override {
    std::vector<std::thread> threads;
    for (const std::unique_ptr<Communicator> &communicator : communicators)
      threads.emplace_back([&] { body(*communicator); });
    for (std::thread &thread : threads)
      thread.join();
  }

  std::vector<std::unique_ptr<Communicator>> communicators;
};

} // namespace tandem

#endif // TANDEM_TEST_UNIT_COMM_LOCALWORLD_H

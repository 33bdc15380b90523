//===- TestWorld.h - Ranks that a test runs on ------------------*- C++ -*-===//
//
// Something that runs a body once for every rank, however ranks are made.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_TEST_UNIT_COMM_TESTWORLD_H
#define TANDEM_TEST_UNIT_COMM_TESTWORLD_H

#include "runtime/comm/Communicator.h"

#include <functional>

namespace tandem {

class TestWorld {
public:
  virtual ~TestWorld() = default;
  virtual int64_t size() const = 0;
  /// Runs `body` for every rank, at once, and returns when all are done.
  virtual void run(const std::function<void(Communicator &)> &body) = 0;
};

} // namespace tandem

#endif // TANDEM_TEST_UNIT_COMM_TESTWORLD_H

#include "CommunicatorFaults.h"
#include "LocalWorld.h"

namespace tandem {
namespace {

std::shared_ptr<TestWorld> makeLocal(int64_t ranks, double deadlineSeconds) {
  return std::make_shared<LocalWorld>(ranks, deadlineSeconds);
}

INSTANTIATE_TEST_SUITE_P(Local, CommunicatorFaults,
                         testing::Values(FreshWorldFactory(makeLocal)));

} // namespace
} // namespace tandem

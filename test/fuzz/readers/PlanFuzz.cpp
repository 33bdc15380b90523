#include "runtime/plan/Inspect.h"
#include "runtime/plan/Verify.h"

using namespace tandem;

namespace {

void check(std::vector<uint8_t> bytes) {
  Result<Plan> plan = Plan::loadBytes(std::move(bytes));
  if (!plan.ok() || !verify(*plan).ok())
    return;
  InspectOptions options;
  options.instructions = true;
  (void)inspectText(*plan, options);
  (void)inspectJson(*plan);
}

/// The bytes with a head that tells their size and no hash behind them, so
/// that changes in between reach what reads the tables.
std::vector<uint8_t> framed(const uint8_t *data, size_t size) {
  constexpr size_t page = 4096, prefix = 4, hash = 8;
  std::vector<uint8_t> bytes(data, data + size);
  size_t whole = (size + page - 1) / page * page;
  bytes.resize(whole);
  uint32_t said = static_cast<uint32_t>(whole - prefix - hash);
  for (size_t i = 0; i < prefix; ++i)
    bytes[i] = static_cast<uint8_t>(said >> 8 * i);
  std::fill(bytes.end() - hash, bytes.end(), uint8_t(0));
  return bytes;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  check({data, data + size});
  if (size >= 16)
    check(framed(data, size));
  return 0;
}

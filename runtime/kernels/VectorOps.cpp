#include "runtime/kernels/VectorOps.h"

#include <cstdlib>
#include <cstring>

namespace tandem {

const VectorOps *baselineVectorOps();
#ifdef TANDEM_VECTOR_X86
const VectorOps *avx2VectorOps();
const VectorOps *avx512VectorOps();
#endif

const VectorOps *vectorOpsOf(VectorLevel level) {
  if (level == VectorLevel::Baseline)
    return baselineVectorOps();
#ifdef TANDEM_VECTOR_X86
  bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (level == VectorLevel::Avx2 && avx2)
    return avx2VectorOps();
  if (level == VectorLevel::Avx512 && avx2 &&
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    return avx512VectorOps();
#endif
  return nullptr;
}

static const VectorOps &chooseVectorOps() {
  const char *limit = std::getenv("TANDEM_VECTOR");
  bool baseline = limit && !std::strcmp(limit, "baseline");
  bool avx2 = baseline || (limit && !std::strcmp(limit, "avx2"));
  const VectorOps *ops = nullptr;
  if (!avx2)
    ops = vectorOpsOf(VectorLevel::Avx512);
  if (!ops && !baseline)
    ops = vectorOpsOf(VectorLevel::Avx2);
  return ops ? *ops : *vectorOpsOf(VectorLevel::Baseline);
}

const VectorOps &vectorOps() {
  static const VectorOps &ops = chooseVectorOps();
  return ops;
}

} // namespace tandem

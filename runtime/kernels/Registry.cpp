#include "runtime/kernels/Attention.h"
#include "runtime/kernels/AttentionGrad.h"
#include "runtime/kernels/CrossEntropy.h"
#include "runtime/kernels/Einsum.h"
#include "runtime/kernels/EmbeddingGrad.h"
#include "runtime/kernels/Fill.h"
#include "runtime/kernels/Gather.h"
#include "runtime/kernels/Map.h"
#include "runtime/kernels/Norm.h"
#include "runtime/kernels/NormGrad.h"
#include "runtime/kernels/Optimizer.h"
#include "runtime/kernels/Rearrange.h"
#include "runtime/kernels/Reduce.h"
#include "runtime/kernels/Rope.h"
#include "runtime/kernels/Sample.h"
#include "runtime/kernels/Softmax.h"
#include "runtime/kernels/TopK.h"

namespace tandem {

std::vector<const Kernel *> allKernels() {
  // In name order. A table rather than registration by static objects, which
  // a linker drops from a static library.
  return {&adamwKernel(),
          &attentionKernel(),
          &attentionGradKernel(),
          &concatKernel(),
          &constantKernel(),
          &crossEntropyKernel(),
          &crossEntropyGradKernel(),
          &cumulativeSumKernel(),
          &einsumKernel(),
          &embeddingKernel(),
          &embeddingGradKernel(),
          &fillKernel(),
          &gatherKernel(),
          &iotaKernel(),
          &layerNormKernel(),
          &layerNormGradKernel(),
          &mapKernel(),
          &maskPaddingKernel(),
          &padKernel(),
          &reduceKernel(),
          &reshapeKernel(),
          &rmsNormKernel(),
          &rmsNormGradKernel(),
          &ropeKernel(),
          &sampleKernel(),
          &scatterAddKernel(),
          &sgdKernel(),
          &sliceKernel(),
          &softmaxKernel(),
          &takeOwnKernel(),
          &topKKernel(),
          &transposeKernel(),
          &updateSliceKernel()};
}

const Kernel *findKernel(std::string_view name) {
  for (const Kernel *kernel : allKernels())
    if (kernel->name() == name)
      return kernel;
  return nullptr;
}

} // namespace tandem

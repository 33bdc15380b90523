//===- Kernel.h - What a launch instruction runs ----------------*- C++ -*-===//
//
// A kernel is prepared once for each launch of a program on a rank (shapes,
// addresses and attributes are known then) and run many times:
//
//   const Kernel *kernel = findKernel("rms_norm");
//   TANDEM_TRY(kernel->check(call));               // shapes, types, numbers
//   std::unique_ptr<Launch> launch = kernel->prepare(call, threads);
//   launch->run();                                 // allocates nothing
//
// Padding: every tensor is dense row-major of its *capacity* shape, of which
// only the leading `valid` part of each dimension means anything; the rest may
// hold anything, NaN included. A kernel reads only valid lanes of dimensions
// that it reduces or selects over, so that padding never reaches a valid
// result. What it writes into padded lanes does not matter; it may write them.
//
// `begin` is the global index of the local index 0: an embedding whose table
// is split by rows looks up `id - begin` and gives zeros for rows it does not
// own; top_k adds it to its indices.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_KERNEL_H
#define TANDEM_RUNTIME_KERNELS_KERNEL_H

#include "runtime/base/DType.h"
#include "runtime/base/Status.h"
#include "runtime/device/ThreadPool.h"
#include "runtime/mesh/Rule.h"

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace tandem {

struct TensorDim {
  int64_t capacity = 1; ///< Local extent of memory.
  int64_t valid = 1;    ///< How many lead lanes mean something on this rank.
  int64_t begin = 0;    ///< Global index of lane 0.
  int64_t global = 1;   ///< The unsharded size.
};

struct TensorArg {
  std::byte *data = nullptr;
  DType dtype = DType::F32;
  std::vector<TensorDim> dims;

  int64_t elements() const {
    int64_t count = 1;
    for (const TensorDim &dim : dims)
      count *= dim.capacity;
    return count;
  }
};

/// One launch: what the plan says of it, with this rank's addresses.
struct KernelCall {
  std::vector<TensorArg> inputs;
  std::vector<TensorArg> outputs;
  ShardingRule rule;            ///< Over the global dimensions.
  std::vector<int64_t> numbers; ///< Attributes; doubles as their bits.
  std::byte *workspace = nullptr;
  int64_t workspaceBytes = 0;
};

/// A launch made ready. Not thread-safe; run by one stream at a time.
class Launch {
public:
  virtual ~Launch() = default;
  /// Computes the outputs. Fails only on values that an input may not have
  /// (an id outside the vocabulary).
  virtual Status run() = 0;
};

class Kernel {
public:
  virtual ~Kernel() = default;
  virtual std::string_view name() const = 0;
  /// Refuses a call whose shapes, types or numbers break the contract that
  /// the kernel's header states. Addresses may be null here.
  virtual Status check(const KernelCall &call) const = 0;
  /// Workspace that it needs: a formula of capacities, types and `threads`,
  /// the same on every CPU.
  virtual int64_t workspaceBytes(const KernelCall &call, int threads) const {
    (void)call, (void)threads;
    return 0;
  }
  /// `call` has passed check(). `threads` outlives the launch.
  virtual std::unique_ptr<Launch> prepare(const KernelCall &call,
                                          ThreadPool &threads) const = 0;
};

/// The kernel of that name, null where there is none.
const Kernel *findKernel(std::string_view name);
/// All kernels in name order.
std::vector<const Kernel *> allKernels();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_KERNEL_H

//===- AttentionGradShape.h - What attention_grad's loops share -*- C++ -*-===//
//
// The forward call that a gradient belongs to, and the tensors that come in
// and go out besides.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_ATTENTIONGRADSHAPE_H
#define TANDEM_RUNTIME_KERNELS_ATTENTIONGRADSHAPE_H

#include "runtime/kernels/AttentionShape.h"

namespace tandem {

/// The attention whose gradient `call` is: its operands, out and lse.
inline KernelCall forwardOf(const KernelCall &call) {
  KernelCall forward;
  const auto &in = call.inputs;
  forward.inputs.assign(in.begin(), in.begin() + 4);
  forward.inputs.insert(forward.inputs.end(), in.begin() + 7, in.end());
  forward.outputs = {in[4], in[5]};
  forward.numbers = call.numbers;
  return forward;
}

struct AttentionGradShape : AttentionShape {
  explicit AttentionGradShape(const KernelCall &call)
      : AttentionShape(forwardOf(call)), dout(call.inputs[6]),
        dq(call.outputs[0]), dkey(call.outputs[1]), dvalue(call.outputs[2]) {}

  double lseAt(int64_t row, int64_t token, int64_t head, int64_t group) const {
    return loadOne<double>(lse.data, lse.dtype,
                           row * lseStride[0] + token * lseStride[1] +
                               head * lseStride[2] + group * lseStride[3]);
  }

  TensorArg dout, dq, dkey, dvalue; ///< Strides of out, q, key and value.
};

/// Query by query, then key by key, in float64.
std::unique_ptr<Launch>
preparePlainAttentionGrad(const AttentionGradShape &shape, ThreadPool &threads);

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_ATTENTIONGRADSHAPE_H

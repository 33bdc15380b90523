//===- AttentionGrad.h - Gradients of attention -----------------*- C++ -*-===//
//
// attention_grad  q[b, s, k, g, d], key[b, t, k, d], value[b, t, k, e],
//                 positions[b] i32, out[b, s, k, g, e], lse[b, s, k, g],
//                 dout[b, s, k, g, e] (, mask[b, t] i32) (, slopes[k, g] f32)
//                 -> dq[b, s, k, g, d], dkey[b, t, k, d], dvalue[b, t, k, e]
//                 numbers [scale, causal, window, softcap, flags]
//
// Letters, numbers, and which key a query sees, are attention's (Attention.h);
// out and lse are what it gave. Probabilities are computed again, a block of
// queries by a block of keys at a time:
//
//   P = exp(score - lse), 0 where hidden
//   dvalue = sum over s, g of P dout
//   dscore = P (dout . value - dout . out), times the softcap's derivative
//   dq = scale * dscore key;  dkey = scale * sum over s, g of dscore q
//
// A query that sees nothing (lse -inf) gives and gets nothing; keys that no
// query sees get 0. Floats, types mixed freely; float32 inside (q f64:
// float64). dkey and dvalue are added in an order that depends on shapes
// alone.
//
// workspace, in floats, with attention's rows of a query block, P = max(8 /
// (b k), 1) pieces of its query blocks, at most one a block, and 1 with flags
// & 4:
//   per thread   rows * (2 d + e + 386) + 129 * (d + e), rounded up to 16
//   sums         t * (d + e) a thread; where P > 1, b * k * P of them instead
// 0 for q f64.
// bytes: q, out, dout, dq once, key and value once a query block (from cache).
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_ATTENTIONGRAD_H
#define TANDEM_RUNTIME_KERNELS_ATTENTIONGRAD_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &attentionGradKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_ATTENTIONGRAD_H

//===- Attention.h - attention with a key and value cache -------*- C++ -*-===//
//
// attention  q[b, s, k, g, d], key[b, t, k, d], value[b, t, k, e],
//            positions[b] i32 (, mask[b, t] i32) (, slopes[k, g] f32)
//            -> out[b, s, k, g, e] (, lse[b, s, k, g] f32)
//            numbers [scale, causal, window, softcap, flags]
//
// k key heads, g query heads each. Query i of row b is at position
// p = positions[b] + begin_s + i; key j (its index is begin_t + lane) is
// visible where its lane is valid, and
//   causal:       j <= p
//   window != 0:  j > p - window     (a window counts the token itself)
//   flags & 1:    mask[b, j] != 0    (mask is input 4)
//
//   score = scale * q . key;  softcap != 0: score = softcap * tanh(score /
//   softcap) flags & 2:  score += slopes[k, g] * (j - p)    (the last input)
//   out = softmax over visible j (score) . value;  lse = log(sum exp(score))
//
// flags & 4: a row's and key head's bits do not depend on the rows and heads
// beside them (they never do here; attention_grad then gives up some threads).
//
// A query that sees nothing gives out = 0, lse = -inf. scale and softcap are
// doubles as bits. Floats, types mixed freely; float32 inside (q f64: float64).
//
// workspace, in floats, with rows = s * g where that is at most 16 (decoding),
// else max(64 / g, 1) * g:
//   per thread   rows * (d + 128 + e + 2) + 128 * (d + e), rounded up to 16
//   decoding     b * k * ceil(t / 128) * rows * (e + 2): partial results, so
//                that several threads share a row's keys
// 0 for q f64.
// bytes: q + out + the visible part of key and value. No s x t matrix.
//
//===----------------------------------------------------------------------===//

#ifndef TANDEM_RUNTIME_KERNELS_ATTENTION_H
#define TANDEM_RUNTIME_KERNELS_ATTENTION_H

#include "runtime/kernels/Kernel.h"

namespace tandem {

const Kernel &attentionKernel();

} // namespace tandem

#endif // TANDEM_RUNTIME_KERNELS_ATTENTION_H

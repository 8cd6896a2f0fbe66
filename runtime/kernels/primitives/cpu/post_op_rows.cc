#include "runtime/kernels/primitives/cpu/post_op_rows.h"

#include <algorithm>

#include "runtime/kernels/primitives/cpu/activation_loop.h"
#include "runtime/kernels/primitives/cpu/post_ops.h"

namespace tessera {

void StartSums(const PostOps& post_ops, const float* bias, int64_t count, float* sums) {
  if (!post_ops.add) std::fill_n(sums, count, 0.0f);
  if (bias == nullptr) return;
  for (int64_t j = 0; j < count; ++j) sums[j] += bias[j];
}

void FinishSums(const PostOps& post_ops, int64_t count, float* sums) {
  if (post_ops.activation == Activation::kNone) return;
  if (const ActivationLoop activate = ActivationLoopOf(post_ops.activation); activate != nullptr) {
    return activate(post_ops.alpha, sums, count);
  }
  const Epilogue clamp = ClampEpilogue(post_ops, nullptr);
  const float high = clamp.high;
  for (int64_t j = 0; j < count; ++j) {
    const float x = sums[j] < 0 ? 0 : sums[j];  // NaN passes through
    sums[j] = x > high ? high : x;
  }
}

}  // namespace tessera

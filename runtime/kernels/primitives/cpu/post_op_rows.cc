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

void ClampBfloat16(const PostOps& post_ops, int64_t count, uint16_t* sums) {
  const bool has_bound = post_ops.activation == Activation::kRelu6;
  const bool is_relu = post_ops.activation == Activation::kRelu ||
                       (post_ops.activation == Activation::kLeakyRelu && post_ops.alpha == 0);
  if (!has_bound && !is_relu) return;
  constexpr uint16_t kSign = 0x8000, kInfinity = 0x7f80, kSix = 0x40c0;
  const uint16_t high = has_bound ? kSix : kInfinity;
  for (int64_t j = 0; j < count; ++j) {
    const uint16_t x = sums[j], positive = x < kSign ? x : 0;
    const bool is_nan = (x & ~kSign) > kInfinity;
    const uint16_t clamped = positive < high ? positive : high;
    sums[j] = is_nan ? x : clamped;
  }
}

}  // namespace tessera

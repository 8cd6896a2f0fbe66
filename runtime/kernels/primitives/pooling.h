// The primitives of max and average pooling over up to three spatial dimensions, and of their
// gradients.
//
// All tensors of numbers have one dtype, which is a real number; outputs are allocated and overlap
// no input. Errors: UNIMPLEMENTED for other dtypes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The geometry of windows over three spatial dimensions, of which the unused ones have size 1.
// Window (i, j, k) starts at input (i * stride[0] - pad[0], ...), and only points inside the input
// count. Tensors have shape [batch, spatial..., channels], or [batch, channels, spatial...] with
// channels_first.
struct PoolShape {
  int64_t batch = 0, channels = 0;
  int64_t input[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t output[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  bool channels_first = false;

  int64_t input_points() const { return input[0] * input[1] * input[2]; }
  int64_t output_points() const { return output[0] * output[1] * output[2]; }
  // Return the distances, in elements, from one spatial point to the next and from one channel to
  // the next.
  int64_t point_step() const { return channels_first ? 1 : channels; }
  int64_t channel_step(int64_t points) const { return channels_first ? points : 1; }
};

// The maximum of a window with NaN, or of one that holds nothing else than -inf or padding.
enum class MaxPoolRule {
  kIgnoreNan,     // NaNs have no part, and no maximum is below the lowest finite value (TensorFlow)
  kPropagateNan,  // NaN wins over any number, and the maximum of nothing is -inf (XLA)
};

// Computes the maximum of each window.
struct MaxPool {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, MaxPoolRule rule,
                                const Tensor& input, Tensor* output);
};

// Computes the mean of each window, without the padding. Elements narrower than float are summed in
// float.
struct AveragePool {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                                Tensor* output);
};

// Computes the maximum of each `window` consecutive elements. The first element counts even if it
// is NaN; a later NaN is ignored.
struct ChannelMaxPool {
  using Function = absl::Status(KernelContext& ctx, int64_t window, const Tensor& input,
                                Tensor* output);
};

// The range over which the elements of the input are numbered: the whole batch, or one image.
enum class ArgmaxScope { kBatch, kImage };

// Computes the maximum of each window and the index of its first occurrence. `argmax` is of int32
// or int64. The first element of a window counts even if it is NaN. Channels come last.
struct MaxPoolWithArgmax {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                const Tensor& input, Tensor* output, Tensor* argmax);
};

// Selects the elements of a window that get its gradient: the first maximum, or all elements that
// are nearer to the maximum than kEqualMaximaDistance. Nothing is near to an infinite maximum, not
// even itself.
enum class EqualMaxima { kFirst, kAll };
inline constexpr double kEqualMaximaDistance = 1e-5;

// Computes the gradient of MaxPool. Each element of `gradient`, which has the shape of the pool's
// output, is added to the elements of the input that EqualMaxima selects.
struct MaxPoolGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, EqualMaxima equal,
                                const Tensor& input, const Tensor& gradient, Tensor* output);
};

// Computes the gradient of MaxPoolGradient with respect to its `gradient`. `gradient` has the
// input's shape here, and each window takes its element at the position of the first maximum.
struct MaxPoolSecondGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                                const Tensor& gradient, Tensor* output);
};

// Computes the gradient of MaxPoolWithArgmax. It adds each element of `gradient` to the element of
// the output that `argmax` names. Errors: INVALID_ARGUMENT for an index outside the output. A
// device whose kernels return before the indices are known leaves such elements out.
struct ArgmaxPoolGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                const Tensor& argmax, const Tensor& gradient, Tensor* output);
};

// Computes the gradient of AveragePool. Each element of `gradient`, which has the shape of the
// pool's output, is divided evenly among the elements of its window.
struct AveragePoolGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& gradient,
                                Tensor* output);
};

}  // namespace tessera

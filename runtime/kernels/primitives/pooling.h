// Primitives: max and average pooling over up to three spatial dimensions, and their gradients.
//
// All tensors of numbers have one dtype, which is a real number; outputs are allocated and overlap
// no input. Errors: UNIMPLEMENTED for other dtypes.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The geometry: windows over spatial dimensions, padded to three with sizes of 1. Window (i, j, k)
// starts at input (i * stride[0] - pad[0], ...), and only what lies inside the input counts.
// Tensors have shape [batch, spatial..., channels], or [batch, channels, spatial...] with
// channels_first.
struct PoolShape {
  int64_t batch = 0, channels = 0;
  int64_t input[3] = {1, 1, 1}, window[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  int64_t output[3] = {1, 1, 1}, pad[3] = {0, 0, 0};
  bool channels_first = false;

  int64_t input_points() const { return input[0] * input[1] * input[2]; }
  int64_t output_points() const { return output[0] * output[1] * output[2]; }
  // Steps in memory from one spatial point to the next, and from one channel to the next.
  int64_t point_step() const { return channels_first ? 1 : channels; }
  int64_t channel_step(int64_t points) const { return channels_first ? points : 1; }
};

// The maximum of each window. NaNs are passed over; a window without anything else gives the lowest
// finite value.
struct MaxPool {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                                Tensor* output);
};

// The mean of each window, without the padding. Elements narrower than float are added up in float.
struct AveragePool {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                                Tensor* output);
};

// The maximum of each `window` consecutive elements. The first one counts even if it is NaN, a
// later NaN is passed over.
struct ChannelMaxPool {
  using Function = absl::Status(KernelContext& ctx, int64_t window, const Tensor& input,
                                Tensor* output);
};

// How an element of the input is numbered: in the whole batch, or in its image.
enum class ArgmaxScope { kBatch, kImage };

// The maximum of each window, and the index of the first element that is it. `argmax` is of int32
// or int64. The first element of a window counts even if it is NaN. Channels come last.
struct MaxPoolWithArgmax {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                const Tensor& input, Tensor* output, Tensor* argmax);
};

// The elements of a window that get its gradient: the first that is its maximum, or all that are
// nearer to it than kEqualMaximaDistance. An infinite maximum is near to nothing, itself included.
enum class EqualMaxima { kFirst, kAll };
inline constexpr double kEqualMaximaDistance = 1e-5;

// The gradient of MaxPool: each element of `gradient`, which has the shape of the pool's output, is
// added to that of the input's elements that was the maximum, or to all that EqualMaxima names.
struct MaxPoolGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, EqualMaxima equal,
                                const Tensor& input, const Tensor& gradient, Tensor* output);
};

// The gradient of MaxPoolGradient by `gradient`: of each window, the element of `gradient`, which
// has the input's shape, where the first maximum was.
struct MaxPoolSecondGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& input,
                                const Tensor& gradient, Tensor* output);
};

// The gradient of MaxPoolWithArgmax: adds each element of `gradient` to the output's element that
// `argmax` names. Errors: INVALID_ARGUMENT for a place outside the output; a device whose kernels
// return before places are known leaves those out instead.
struct ArgmaxPoolGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, ArgmaxScope scope,
                                const Tensor& argmax, const Tensor& gradient, Tensor* output);
};

// The gradient of AveragePool: each element of `gradient`, which has the shape of the pool's
// output, is divided evenly among the elements of its window.
struct AveragePoolGradient {
  using Function = absl::Status(KernelContext& ctx, const PoolShape& shape, const Tensor& gradient,
                                Tensor* output);
};

}  // namespace tessera

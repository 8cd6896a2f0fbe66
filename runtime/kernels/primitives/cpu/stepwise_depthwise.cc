#include "runtime/kernels/primitives/cpu/stepwise_depthwise.h"

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/rounded_vector.h"

namespace tessera {
namespace {

using Half = Eigen::half;
using Vector = RoundedVector<Half>;
constexpr int64_t kLanes = Vector::kLanes;

// Nanoseconds an element and position of the filter.
constexpr double kCost = 0.5;

// A depthwise convolution, whose values are widened: they lie in rows of `stride` floats, one for
// each channel of the output, padded to whole vectors.
struct Depthwise {
  explicit Depthwise(const ConvolutionShape& shape)
      : s(shape),
        multiplier(shape.out_channels / shape.in_channels),
        stride((shape.out_channels + kLanes - 1) / kLanes * kLanes),
        in_points(shape.input[0] * shape.input[1]),
        out_points(shape.output[0] * shape.output[1]),
        positions(shape.filter[0] * shape.filter[1]) {}

  const ConvolutionShape& s;
  const int64_t multiplier;  // outputs of each channel of the input
  const int64_t stride;
  const int64_t in_points, out_points, positions;

  double cost() const { return kCost * static_cast<double>(positions * stride); }

  absl::StatusOr<Tensor> Rows(KernelContext& ctx, int64_t rows) const {
    ASSIGN_OR_RETURN(Tensor made,
                     ctx.AllocateTemp(DType::kFloat, {rows, stride}, MemoryKind::kHost));
    std::fill_n(made.data<float>(), rows * stride, 0.0f);
    return made;
  }

  // Returns rows with all channels of the output: those of its gradient, or of the filter.
  absl::StatusOr<Tensor> Widen(KernelContext& ctx, const Half* from, int64_t rows) const {
    ASSIGN_OR_RETURN(Tensor wide, Rows(ctx, rows));
    for (int64_t row = 0; row < rows; ++row) {
      ToFloat(from + row * s.out_channels, wide.data<float>() + row * stride, s.out_channels);
    }
    return wide;
  }

  // Returns the rows of the input, in which each channel stands as often as it makes outputs.
  absl::StatusOr<Tensor> WidenInput(KernelContext& ctx, const Half* from) const {
    const int64_t rows = s.batch * in_points;
    ASSIGN_OR_RETURN(Tensor wide, Rows(ctx, rows));
    ctx.ParallelFor(rows, 0.3 * static_cast<double>(stride), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* to = wide.data<float>() + row * stride;
        for (int64_t c = 0; c < s.in_channels; ++c, to += multiplier) {
          std::fill_n(to, multiplier, static_cast<float>(from[row * s.in_channels + c]));
        }
      }
    });
    return wide;
  }

  // Calls visit(position of the filter, point of the input) for those under an output's filter.
  template <typename Visit>
  void ForPositions(int64_t out_point, const Visit& visit) const {
    const int64_t y = out_point / s.output[1] * s.strides[0] - s.pad_before[0];
    const int64_t x = out_point % s.output[1] * s.strides[1] - s.pad_before[1];
    for (int64_t i = 0; i < s.filter[0]; ++i) {
      const int64_t row = y + i * s.dilations[0];
      if (row < 0 || row >= s.input[0]) continue;
      for (int64_t j = 0; j < s.filter[1]; ++j) {
        const int64_t column = x + j * s.dilations[1];
        if (column < 0 || column >= s.input[1]) continue;
        visit(i * s.filter[1] + j, row * s.input[1] + column);
      }
    }
  }

  // Calls visit(position of the filter, point of the output) for the outputs that an input reaches,
  // in the order of the positions.
  template <typename Visit>
  void ForOutputs(int64_t in_point, const Visit& visit) const {
    for (int64_t i = 0; i < s.filter[0]; ++i) {
      const int64_t y = in_point / s.input[1] + s.pad_before[0] - i * s.dilations[0];
      if (y < 0 || y % s.strides[0] != 0 || y / s.strides[0] >= s.output[0]) continue;
      for (int64_t j = 0; j < s.filter[1]; ++j) {
        const int64_t x = in_point % s.input[1] + s.pad_before[1] - j * s.dilations[1];
        if (x < 0 || x % s.strides[1] != 0 || x / s.strides[1] >= s.output[1]) continue;
        visit(i * s.filter[1] + j, y / s.strides[0] * s.output[1] + x / s.strides[1]);
      }
    }
  }

  // sums += x * y, a row of each.
  void AddProducts(const float* x, const float* y, float* sums) const {
    for (int64_t c = 0; c < stride; c += kLanes) {
      MultiplyAdd(Vector::Load(x + c), Vector::Load(y + c), Vector::Load(sums + c)).Store(sums + c);
    }
  }

  void AddRow(const float* x, float* sums) const {
    for (int64_t c = 0; c < stride; c += kLanes) {
      (Vector::Load(sums + c) + Vector::Load(x + c)).Store(sums + c);
    }
  }

  // Adds up the outputs of each channel of the input.
  void AddOutputs(const float* row, Half* to) const {
    for (int64_t c = 0; c < s.in_channels; ++c) {
      const float* const from = row + c * multiplier;
      float sum = from[0];
      for (int64_t m = 1; m < multiplier; ++m) sum = RoundToHalf(sum + from[m]);
      to[c] = static_cast<Half>(sum);
    }
  }
};

}  // namespace

bool IsStepwiseDepthwise(const ConvolutionShape& shape) {
  return shape.filter.size() == 2 && !shape.channels_first && shape.groups > 1 &&
         shape.groups == shape.in_channels;
}

absl::Status StepwiseDepthwise(KernelContext& ctx, const ConvolutionShape& shape,
                               const Tensor& input, const Tensor& filter, Tensor* output) {
  const Depthwise d(shape);
  ASSIGN_OR_RETURN(const Tensor x, d.WidenInput(ctx, input.data<Half>()));
  ASSIGN_OR_RETURN(const Tensor weights, d.Widen(ctx, filter.data<Half>(), d.positions));
  const int64_t rows = shape.batch * d.out_points;
  ASSIGN_OR_RETURN(Tensor sums, d.Rows(ctx, rows));
  ctx.ParallelFor(rows, d.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* const image = x.data<float>() + row / d.out_points * d.in_points * d.stride;
      float* const to = sums.data<float>() + row * d.stride;
      d.ForPositions(row % d.out_points, [&](int64_t position, int64_t point) {
        d.AddProducts(image + point * d.stride, weights.data<float>() + position * d.stride, to);
      });
      FromFloat(to, output->data<Half>() + row * shape.out_channels, shape.out_channels);
    }
  });
  return absl::OkStatus();
}

absl::Status StepwiseDepthwiseInputGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                            const Tensor& gradient, const Tensor& filter,
                                            Tensor* output) {
  const Depthwise d(shape);
  ASSIGN_OR_RETURN(const Tensor dy,
                   d.Widen(ctx, gradient.data<Half>(), shape.batch * d.out_points));
  ASSIGN_OR_RETURN(const Tensor weights, d.Widen(ctx, filter.data<Half>(), d.positions));
  const int64_t rows = shape.batch * d.in_points;
  ASSIGN_OR_RETURN(Tensor sums, d.Rows(ctx, rows));
  ctx.ParallelFor(rows, d.cost(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* const image = dy.data<float>() + row / d.in_points * d.out_points * d.stride;
      float* const to = sums.data<float>() + row * d.stride;
      d.ForOutputs(row % d.in_points, [&](int64_t position, int64_t point) {
        d.AddProducts(image + point * d.stride, weights.data<float>() + position * d.stride, to);
      });
      d.AddOutputs(to, output->data<Half>() + row * shape.in_channels);
    }
  });
  return absl::OkStatus();
}

absl::Status StepwiseDepthwiseFilterGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                             const Tensor& input, const Tensor& gradient,
                                             Tensor* output) {
  const Depthwise d(shape);
  ASSIGN_OR_RETURN(const Tensor x, d.WidenInput(ctx, input.data<Half>()));
  ASSIGN_OR_RETURN(const Tensor dy,
                   d.Widen(ctx, gradient.data<Half>(), shape.batch * d.out_points));
  // Each image has sums of its own.
  ASSIGN_OR_RETURN(Tensor sums, d.Rows(ctx, shape.batch * d.positions));
  const int64_t size = d.positions * d.stride;
  ctx.ParallelFor(shape.batch, d.cost() * static_cast<double>(d.out_points),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) {
                      const float* const image = x.data<float>() + i * d.in_points * d.stride;
                      const float* row = dy.data<float>() + i * d.out_points * d.stride;
                      float* const to = sums.data<float>() + i * size;
                      for (int64_t out = 0; out < d.out_points; ++out, row += d.stride) {
                        d.ForPositions(out, [&](int64_t position, int64_t point) {
                          d.AddProducts(image + point * d.stride, row, to + position * d.stride);
                        });
                      }
                    }
                  });
  float* const total = sums.data<float>();
  for (int64_t row = 0; row < d.positions; ++row) {
    float* const to = total + row * d.stride;
    for (int64_t image = 1; image < shape.batch; ++image) d.AddRow(to + image * size, to);
    FromFloat(to, output->data<Half>() + row * shape.out_channels, shape.out_channels);
  }
  return absl::OkStatus();
}

}  // namespace tessera

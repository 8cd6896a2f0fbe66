#include "runtime/kernels/primitives/cpu/stepwise_convolution.h"

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/convolution_layout.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/rounded_float.h"
#include "runtime/kernels/primitives/cpu/stepwise_gemm.h"

namespace tessera {
namespace {

using Half = Eigen::half;

// Nanoseconds a step of a product.
constexpr double kCost = 0.8;
constexpr int64_t kRowBlock = 4;

// The sizes of a convolution as a product of matrices.
struct Sizes {
  explicit Sizes(const ConvolutionShape& s)
      : points(s.output[0] * s.output[1]),
        patch(s.filter[0] * s.filter[1] * s.in_channels),
        image(s.input[0] * s.input[1] * s.in_channels),
        in_channels(s.in_channels),
        out_channels(s.out_channels) {}

  int64_t points;  // of the output of an image
  int64_t patch;   // elements of the input under the filter
  int64_t image;
  int64_t in_channels, out_channels;
};

absl::StatusOr<Tensor> Scratch(KernelContext& ctx, int64_t rows, int64_t columns) {
  return ctx.AllocateTemp(DType::kFloat, {rows, columns}, MemoryKind::kHost);
}

// Converts rows to floats that are StepwiseStride(columns) apart.
void WidenRows(const Half* from, int64_t rows, int64_t columns, float* to) {
  const int64_t stride = StepwiseStride(columns);
  for (int64_t row = 0; row < rows; ++row) {
    ToFloat(from + row * columns, to + row * stride, columns);
    std::fill(to + row * stride + columns, to + (row + 1) * stride, 0.0f);
  }
}

void Run(KernelContext& ctx, const StepwiseGemm& product) {
  const int64_t blocks = (product.rows + kRowBlock - 1) / kRowBlock;
  const double cost = kCost * static_cast<double>(kRowBlock * product.columns * product.depth) / 8;
  ctx.ParallelFor(blocks, cost, [&](int64_t begin, int64_t end) {
    product.Run(begin * kRowBlock, std::min(end * kRowBlock, product.rows));
  });
}

// The filter's gradient: the transposed matrix of patches times that of the output's gradient.
class FilterGradient {
 public:
  FilterGradient(KernelContext& ctx, const ConvolutionShape& shape, const Half* input,
                 const Half* gradient)
      : ctx_(ctx),
        shape_(shape),
        sizes_(shape),
        strides_(StridesOf(shape, shape.in_channels, shape.input)),
        input_(input),
        gradient_(gradient) {}

  absl::Status Compute(Half* output) {
    const int64_t stride = StepwiseStride(sizes_.out_channels), size = sizes_.patch * stride;
    ASSIGN_OR_RETURN(Tensor sums, Scratch(ctx_, sizes_.patch, stride));
    float* const to = sums.data<float>();
    const int64_t most = ImagesOfProduct();
    RETURN_IF_ERROR(Multiply(0, std::min(most, shape_.batch), to));
    if (most < shape_.batch) {
      ASSIGN_OR_RETURN(Tensor more, Scratch(ctx_, sizes_.patch, stride));
      for (int64_t image = most; image < shape_.batch; image += most) {
        float* const from = more.data<float>();
        RETURN_IF_ERROR(Multiply(image, std::min(most, shape_.batch - image), from));
        for (int64_t i = 0; i < size; ++i) to[i] = RoundToHalf(to[i] + from[i]);
      }
    }
    for (int64_t row = 0; row < sizes_.patch; ++row) {
      FromFloat(to + row * stride, output + row * sizes_.out_channels, sizes_.out_channels);
    }
    return absl::OkStatus();
  }

 private:
  // Returns how many images one product is of: so many that it works on 30 MiB.
  int64_t ImagesOfProduct() const {
    constexpr int64_t kElements = (30 << 20) / sizeof(Half);
    const int64_t work =
        sizes_.points * (sizes_.patch + sizes_.out_channels) + sizes_.patch * sizes_.out_channels;
    return (kElements + work - 1) / work;
  }

  absl::Status Multiply(int64_t image, int64_t images, float* sums) {
    const int64_t rows = sizes_.patch, columns = sizes_.out_channels;
    const int64_t depth = images * sizes_.points, first = image * sizes_.points;
    const int64_t block = StepwiseDepth(rows, columns, depth);
    ASSIGN_OR_RETURN(Tensor patches, Scratch(ctx_, block, rows));
    ASSIGN_OR_RETURN(Tensor gradients, Scratch(ctx_, block, StepwiseStride(columns)));
    for (int64_t k = 0; k < depth; k += block) {
      const int64_t count = std::min(block, depth - k);
      CopyPatches(first + k, count, patches.data<float>());
      WidenRows(gradient_ + (first + k) * columns, count, columns, gradients.data<float>());
      Run(ctx_, {.rows = rows,
                 .columns = columns,
                 .depth = count,
                 .a = patches.data<float>(),
                 .row_stride = 1,
                 .depth_stride = rows,
                 .b = gradients.data<float>(),
                 .c = sums,
                 .adds = k > 0});
    }
    return absl::OkStatus();
  }

  // Copies the patches of `count` points of the output, counted over all images.
  void CopyPatches(int64_t first, int64_t count, float* patches) {
    const int64_t channels = sizes_.in_channels;
    ctx_.ParallelFor(
        count, 0.3 * static_cast<double>(sizes_.patch), [&](int64_t begin, int64_t end) {
          std::fill(patches + begin * sizes_.patch, patches + end * sizes_.patch, 0.0f);
          for (int64_t i = begin; i < end; ++i) {
            const int64_t point = first + i;
            const Half* const from = input_ + point / sizes_.points * sizes_.image;
            ForEachKernelPosition(
                shape_, strides_, point % sizes_.points, [&](const KernelPosition& position) {
                  ToFloat(from + position.input_offset,
                          patches + i * sizes_.patch + position.index * channels, channels);
                });
          }
        });
  }

  KernelContext& ctx_;
  const ConvolutionShape& shape_;
  const Sizes sizes_;
  const DataStrides strides_;
  const Half* const input_;
  const Half* const gradient_;
};

// Returns the filter with a row for each channel of the output.
absl::StatusOr<Tensor> TransposeFilter(KernelContext& ctx, const Sizes& sizes, const Half* filter) {
  const int64_t stride = StepwiseStride(sizes.patch);
  ASSIGN_OR_RETURN(Tensor transposed, Scratch(ctx, sizes.out_channels, stride));
  float* const to = transposed.data<float>();
  std::fill_n(to, sizes.out_channels * stride, 0.0f);
  for (int64_t i = 0; i < sizes.patch; ++i) {
    for (int64_t c = 0; c < sizes.out_channels; ++c) {
      to[c * stride + i] = static_cast<float>(filter[i * sizes.out_channels + c]);
    }
  }
  return transposed;
}

// Adds up the gradients of the patches of an image where they overlap, point by point.
void AddPatches(const ConvolutionShape& shape, const Sizes& sizes, const float* patches,
                float* image) {
  const DataStrides strides = StridesOf(shape, shape.in_channels, shape.input);
  const int64_t channels = sizes.in_channels, stride = StepwiseStride(sizes.patch);
  std::fill_n(image, sizes.image, 0.0f);
  for (int64_t point = 0; point < sizes.points; ++point) {
    ForEachKernelPosition(shape, strides, point, [&](const KernelPosition& position) {
      const float* __restrict from = patches + point * stride + position.index * channels;
      float* __restrict to = image + position.input_offset;
      for (int64_t c = 0; c < channels; ++c) to[c] = RoundToHalf(to[c] + from[c]);
    });
  }
}

}  // namespace

bool HasStepwiseGradients(const ConvolutionShape& shape) {
  return shape.filter.size() == 2 && !shape.channels_first && shape.groups == 1;
}

absl::Status StepwiseInputGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                   const Tensor& gradient, const Tensor& filter, Tensor* output) {
  const Sizes sizes(shape);
  ASSIGN_OR_RETURN(const Tensor transposed, TransposeFilter(ctx, sizes, filter.data<Half>()));
  ASSIGN_OR_RETURN(Tensor gradients, Scratch(ctx, sizes.points, sizes.out_channels));
  ASSIGN_OR_RETURN(Tensor patches, Scratch(ctx, sizes.points, StepwiseStride(sizes.patch)));
  ASSIGN_OR_RETURN(Tensor sums, Scratch(ctx, 1, sizes.image));
  const int64_t block = StepwiseDepth(sizes.points, sizes.patch, sizes.out_channels);
  for (int64_t image = 0; image < shape.batch; ++image) {
    const int64_t first = image * sizes.points * sizes.out_channels;
    ToFloat(gradient.data<Half>() + first, gradients.data<float>(),
            sizes.points * sizes.out_channels);
    for (int64_t k = 0; k < sizes.out_channels; k += block) {
      Run(ctx, {.rows = sizes.points,
                .columns = sizes.patch,
                .depth = std::min(block, sizes.out_channels - k),
                .a = gradients.data<float>() + k,
                .row_stride = sizes.out_channels,
                .depth_stride = 1,
                .b = transposed.data<float>() + k * StepwiseStride(sizes.patch),
                .c = patches.data<float>(),
                .adds = k > 0});
    }
    AddPatches(shape, sizes, patches.data<float>(), sums.data<float>());
    FromFloat(sums.data<float>(), output->data<Half>() + image * sizes.image, sizes.image);
  }
  return absl::OkStatus();
}

absl::Status StepwiseFilterGradient(KernelContext& ctx, const ConvolutionShape& shape,
                                    const Tensor& input, const Tensor& gradient, Tensor* output) {
  return FilterGradient(ctx, shape, input.data<Half>(), gradient.data<Half>())
      .Compute(output->data<Half>());
}

}  // namespace tessera

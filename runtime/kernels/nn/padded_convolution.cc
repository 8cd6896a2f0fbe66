// Convolutions of images that are resized and mirrored at their borders first: FusedPadConv2D,
// FusedResizeAndPadConv2D.
#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/resample_taps.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/convolution.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// The border of one dimension: how many elements it adds on both sides.
struct Border {
  int64_t before = 0, after = 0;
};

// Errors: INVALID_ARGUMENT unless `paddings` is [4, 2], of non-negative numbers that are 0 for
// batch and channels.
absl::StatusOr<std::vector<Border>> ReadBorders(const Tensor& paddings) {
  if (paddings.shape() != Shape{4, 2}) {
    return absl::InvalidArgumentError(absl::StrCat(
        "paddings must be a matrix of shape [4,2], have ", paddings.shape().ToString()));
  }
  std::vector<Border> borders;
  for (int d = 0; d < 4; ++d) {
    const int32_t* const pair = paddings.data<int32_t>() + 2 * d;
    const bool may_pad = d == 1 || d == 2;
    if (pair[0] < 0 || pair[1] < 0 || (!may_pad && (pair[0] != 0 || pair[1] != 0))) {
      return absl::InvalidArgumentError(absl::StrCat("paddings of dimension ", d, " must be ",
                                                     may_pad ? "non-negative" : "0", ", are ",
                                                     pair[0], " and ", pair[1]));
    }
    borders.push_back({pair[0], pair[1]});
  }
  return borders;
}

// Returns the size of a dimension with its border. `offset` elements at the edge are not repeated.
// Errors: INVALID_ARGUMENT for a border that is wider than what there is to mirror, or too large.
absl::StatusOr<int64_t> MirroredSize(const Border& border, int64_t size, int64_t offset) {
  int64_t mirrored;
  if (std::max(border.before, border.after) > size - offset ||
      __builtin_add_overflow(size, border.before + border.after, &mirrored)) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings ", border.before, " and ", border.after,
                     " are wider than what there is to mirror of ", size, " elements"));
  }
  return mirrored;
}

// Returns which of `size` elements each element of the padded dimension mirrors.
std::vector<int64_t> MirroredIndices(const Border& border, int64_t size, int64_t offset) {
  std::vector<int64_t> indices;
  for (int64_t i = -border.before; i < size + border.after; ++i) {
    const int64_t mirrored = i < 0 ? -i - 1 + offset : 2 * size - 1 - offset - i;
    indices.push_back(i >= 0 && i < size ? i : mirrored);
  }
  return indices;
}

// Inputs: images, the size to resize them to (for kResize), paddings, and the filter.
// Errors: INVALID_ARGUMENT for ranks, depths, sizes or paddings that do not fit.
template <bool kResize>
class PaddedConvolutionKernel : public OpKernel {
 public:
  explicit PaddedConvolutionKernel(const KernelBuild& build)
      : window_(ReadConvolutionWindow(build, 2, FilterKind::kGrouped)),
        offset_(build.attr<std::string>("mode") == "REFLECT" ? 1 : 0),
        align_corners_(kResize && build.attr<bool>("resize_align_corners")),
        convolution_(Primitive<Convolution>(build)(build, kFilterInput)) {}

  absl::Status Prepare(const PrepareContext& context) override {
    return convolution_->Prepare(context, /*out_dims=*/1);
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    if (images.rank() != 4) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be 4-dimensional, has shape ", images.shape().ToString()));
    }
    int64_t height = images.dim(1), width = images.dim(2);
    if (kResize) {
      ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(ctx.input(1), "size"));
      if (size.size() != 2 || size[0] <= 0 || size[1] <= 0 || height <= 0 || width <= 0) {
        return absl::InvalidArgumentError("sizes of images must be two positive numbers");
      }
      height = size[0];
      width = size[1];
    }
    ASSIGN_OR_RETURN(const std::vector<Border> borders, ReadBorders(ctx.input(kFilterInput - 1)));
    ASSIGN_OR_RETURN(const int64_t rows, MirroredSize(borders[1], height, offset_));
    ASSIGN_OR_RETURN(const int64_t columns, MirroredSize(borders[2], width, offset_));
    ASSIGN_OR_RETURN(const Shape padded_shape,
                     Shape::Make({images.dim(0), rows, columns, images.dim(3)}));
    const ScaledWeights filter(ctx.input(kFilterInput), nullptr);
    if (filter.values.rank() == 4 && filter.values.dim(2) != images.dim(3)) {
      return absl::InvalidArgumentError("input and filter must have the same depth");
    }
    ASSIGN_OR_RETURN(
        const ConvolutionShape shape,
        ConvolutionGeometry(window_, FilterKind::kGrouped, padded_shape, filter.values.shape()));
    ASSIGN_OR_RETURN(
        Tensor* const y,
        ctx.AllocateOutput(0, window_.MakeShape(shape.batch, shape.output, shape.out_channels)));
    ASSIGN_OR_RETURN(Tensor padded, ctx.AllocateTemp(images.dtype(), padded_shape));
    // Images without elements may have any number of rows and columns.
    if (padded.num_elements() > 0) {
      RETURN_IF_ERROR(FillPadded(ctx, MirroredIndices(borders[1], height, offset_),
                                 MirroredIndices(borders[2], width, offset_), height, width,
                                 &padded));
    }
    return convolution_->Run(ctx, shape, PostOps(), padded, filter, {}, y);
  }

 private:
  static constexpr int kFilterInput = kResize ? 3 : 2;
  using Indices = std::vector<int64_t>;

  // Sets the pixels of `padded`. Pixel (i, j) is pixel (rows[i], columns[j]) of the images, which
  // have `height` rows and `width` columns once they are resized.
  absl::Status FillPadded(const KernelContext& ctx, const Indices& rows, const Indices& columns,
                          int64_t height, int64_t width, Tensor* padded) const {
    const Tensor& images = ctx.input(0);
    if (!kResize) {
      Copy(images, rows, columns, padded);
      return absl::OkStatus();
    }
    const ResampleTaps vertical = BilinearTaps({images.dim(1), height, align_corners_, false});
    const ResampleTaps horizontal = BilinearTaps({images.dim(2), width, align_corners_, false});
    return VisitRealType(images.dtype(), [&]<typename T>() {
      Interpolate<T>(images, vertical, horizontal, rows, columns, padded);
      return absl::OkStatus();
    });
  }

  static void Copy(const Tensor& images, const Indices& rows, const Indices& columns,
                   Tensor* padded) {
    const int64_t channels = images.dim(3);
    const int64_t pixel = channels * static_cast<int64_t>(DTypeSize(images.dtype()));
    char* to = padded->mutable_raw();
    for (int64_t b = 0; b < images.dim(0); ++b) {
      for (const int64_t y : rows) {
        const char* const row = images.raw() + (b * images.dim(1) + y) * images.dim(2) * pixel;
        for (const int64_t x : columns) {
          CopyElements(images.dtype(), row + x * pixel, to, channels);
          to += pixel;
        }
      }
    }
  }

  // Resizes with weights of float, as TensorFlow does for every dtype.
  template <typename T>
  static void Interpolate(const Tensor& images, const ResampleTaps& vertical,
                          const ResampleTaps& horizontal, const Indices& rows,
                          const Indices& columns, Tensor* padded) {
    const int64_t channels = images.dim(3);
    T* to = padded->data<T>();
    for (int64_t b = 0; b < images.dim(0); ++b) {
      const T* const image = images.data<T>() + b * images.dim(1) * images.dim(2) * channels;
      const auto at = [&](int64_t y, int64_t x, int64_t c) {
        return static_cast<float>(image[(y * images.dim(2) + x) * channels + c]);
      };
      for (const int64_t y : rows) {
        const int32_t* const from_y = &vertical.index[2 * y];
        for (const int64_t x : columns) {
          const int32_t* const from_x = &horizontal.index[2 * x];
          const float weight = horizontal.weight[2 * x + 1];
          for (int64_t c = 0; c < channels; ++c) {
            const auto blend = [&](int64_t row) {
              const float left = at(row, from_x[0], c);
              return left + (at(row, from_x[1], c) - left) * weight;
            };
            const float above = blend(from_y[0]);
            *to++ = static_cast<T>(above + (blend(from_y[1]) - above) * vertical.weight[2 * y + 1]);
          }
        }
      }
    }
  }

  const WindowAttrs window_;
  const int64_t offset_;
  const bool align_corners_;
  const std::unique_ptr<Convolution> convolution_;
};
REGISTER_KERNEL("FusedPadConv2D", kCpu, PaddedConvolutionKernel<false>);
REGISTER_KERNEL("FusedResizeAndPadConv2D", kCpu, PaddedConvolutionKernel<true>);

}  // namespace
}  // namespace tessera

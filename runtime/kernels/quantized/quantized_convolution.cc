// QuantizedConv2D: images and filters of bytes with zero points, and sums of int32.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/convolution_geometry.h"
#include "runtime/kernels/primitives/byte_gemm.h"
#include "runtime/kernels/primitives/byte_weights.h"
#include "runtime/kernels/quantized/byte_patches.h"
#include "runtime/kernels/quantized/quantized_input.h"
#include "runtime/kernels/quantized/quantized_range.h"
#include "runtime/kernels/window.h"

namespace tessera {
namespace {

// Inputs: images, filter, and the ranges of both. Outputs: sums of int32 and their range.
// Errors: INVALID_ARGUMENT for ranks, depths or sizes that do not fit, unequal strides, and
// dilations.
class QuantizedConv2DKernel : public OpKernel {
 public:
  explicit QuantizedConv2DKernel(const KernelBuild& build)
      : weights_(build, /*input=*/1, {.sums = ByteWeights::Sums::kOfPositions}),
        window_(ReadConvolutionWindow(build, 2, FilterKind::kGrouped)) {
    if (!build.status().ok()) return;
    if (window_.stride(0) != window_.stride(1)) {
      build.Fail(
          absl::InvalidArgumentError("only equal strides over rows and columns are supported"));
    }
    if (window_.dilation(0) != 1 || window_.dilation(1) != 1) {
      build.Fail(absl::InvalidArgumentError("dilations are not supported"));
    }
  }

  absl::Status Prepare(const PrepareContext& /*context*/) override { return weights_.Prepare(); }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    const Tensor& filter = ctx.input(1);
    ASSIGN_OR_RETURN(
        const ConvolutionShape shape,
        ConvolutionGeometry(window_, FilterKind::kGrouped, images.shape(), filter.shape()));
    if (shape.groups != 1) {
      return absl::InvalidArgumentError(absl::StrCat("the filter is for ", filter.dim(2),
                                                     " channels, the input has ", images.dim(3)));
    }
    if (filter.dtype() == DType::kQint8) return Convolve<int8_t>(ctx, shape);
    return Convolve<uint8_t>(ctx, shape);
  }

 private:
  template <typename B>
  absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape) const {
    ASSIGN_OR_RETURN(const auto image_range, ReadRange<uint8_t>(ctx, 2));
    ASSIGN_OR_RETURN(const auto filter_range, ReadRange<B>(ctx, 4));
    ASSIGN_OR_RETURN(
        Tensor* const y,
        ctx.AllocateOutput(0, window_.MakeShape(shape.batch, shape.output, shape.out_channels)));
    RETURN_IF_ERROR(SetRange(ctx, 1, ProductRange(image_range, filter_range)));
    if (y->num_elements() == 0) return absl::OkStatus();

    const BytePatches<uint8_t> patches(shape, Stored<uint8_t>(ctx.input(0)));
    ASSIGN_OR_RETURN(const PackedBytes filter, weights_.Get(ctx));
    const Zeros zeros{static_cast<uint32_t>(image_range.Unclamped(0)) + kUnsignedShift<uint8_t>,
                      static_cast<uint32_t>(filter_range.Unclamped(0)) + kSignedShift<B>};
    const int64_t pixels = shape.batch * shape.output[0] * shape.output[1];
    ctx.ParallelFor(pixels, filter.matrix.RowNanoseconds(), [&](int64_t begin, int64_t end) {
      MultiplyPatches(patches, shape, begin, end, filter.matrix, filter.sums.data<int32_t>(), zeros,
                      MutableStored<int32_t>(y));
    });
    return absl::OkStatus();
  }

  // The numbers that stand for 0.
  struct Zeros {
    uint32_t image, filter;
  };

  // Computes output pixels [begin, end). A sum of (image - zero) * (filter - zero) over the
  // positions within the image is made of the products of the bytes and the sums of each side's.
  static void MultiplyPatches(const BytePatches<uint8_t>& patches, const ConvolutionShape& shape,
                              int64_t begin, int64_t end, const ByteMatrix& filter,
                              const int32_t* filter_sums, const Zeros& zeros, int32_t* y) {
    const int64_t row_size = filter.row_size(), out = shape.out_channels;
    const int64_t some = PatchesAtOnce(row_size);
    std::vector<uint8_t> rows(some * row_size);
    struct Pixel {
      uint32_t sum;              // of its patch's bytes
      int64_t first, past_last;  // those of `outside` that belong to it
    };
    std::vector<Pixel> pixels(some);
    std::vector<int64_t> outside;  // positions of the filter
    for (; begin < end; begin += some) {
      const int64_t count = std::min(some, end - begin);
      outside.clear();
      for (int64_t i = 0; i < count; ++i) {
        pixels[i].first = static_cast<int64_t>(outside.size());
        pixels[i].sum = patches.Copy(begin + i, rows.data() + i * row_size,
                                     [&](int64_t position) { outside.push_back(position); });
        pixels[i].past_last = static_cast<int64_t>(outside.size());
      }
      filter.Multiply(rows.data(), count, y + begin * out, out);
      for (int64_t i = 0; i < count; ++i) {
        const Pixel& pixel = pixels[i];
        int32_t* const to = y + (begin + i) * out;
        const int64_t inside = patches.positions() - (pixel.past_last - pixel.first);
        const uint32_t constant =
            zeros.filter *
            (zeros.image * static_cast<uint32_t>(inside * shape.in_channels) - pixel.sum);
        AddScaled(constant, 0u - zeros.image, filter_sums + patches.positions() * out, out, to);
        for (int64_t at = pixel.first; at < pixel.past_last; ++at) {
          AddScaled(0, zeros.image, filter_sums + outside[at] * out, out, to);
        }
      }
    }
  }

  // to += constant + scale * x, for each element.
  static void AddScaled(uint32_t constant, uint32_t scale, const int32_t* x, int64_t count,
                        int32_t* to) {
    for (int64_t o = 0; o < count; ++o) {
      to[o] = static_cast<int32_t>(static_cast<uint32_t>(to[o]) + constant +
                                   scale * static_cast<uint32_t>(x[o]));
    }
  }

  ByteWeights weights_;
  const WindowAttrs window_;
};
REGISTER_KERNEL("QuantizedConv2D", kCpu, QuantizedConv2DKernel)
    .TypeConstraint("Tinput", {DType::kQuint8})
    .TypeConstraint("Tfilter", {DType::kQint8, DType::kQuint8})
    .TypeConstraint("out_type", {DType::kQint32});

}  // namespace
}  // namespace tessera

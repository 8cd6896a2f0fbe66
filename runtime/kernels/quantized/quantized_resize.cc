// Resizing of quantised images: QuantizedResizeBilinear.
#include <cstring>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/resample_taps.h"
#include "runtime/kernels/image/resize_arguments.h"

namespace tessera {
namespace {

// Bilinear interpolation of a dtype, with the rounding of TensorFlow's kernel. Weight is the type
// of an interpolation weight, Value that of an intermediate result.

// Fixed point with `kFractionBits` bits behind the point. Elements pass through float, which rounds
// large numbers of 32 bits.
template <int kFractionBits>
struct FixedPointLerp {
  using Weight = int64_t;
  using Value = int64_t;
  static constexpr int64_t kOne = int64_t{1} << kFractionBits;

  static Weight WeightOf(float fraction) { return static_cast<int64_t>(fraction * kOne); }
  template <typename T>
  static Value Load(T element) {
    return static_cast<int64_t>(static_cast<float>(element));
  }
  static Value Columns(Value left, Value right, Weight x) {
    return left * kOne + (right - left) * x;
  }
  static Value Rows(Value top, Value bottom, Weight y) {
    return (top + (bottom - top) / kOne * y + kOne / 2) / kOne;
  }
};

struct FloatLerp {
  using Weight = float;
  using Value = float;

  static Weight WeightOf(float fraction) { return fraction; }
  static Value Load(float element) { return element; }
  static Value Columns(Value left, Value right, Weight x) { return left + (right - left) * x; }
  static Value Rows(Value top, Value bottom, Weight y) { return top + (bottom - top) * y; }
};

template <typename Lerp>
std::vector<typename Lerp::Weight> Weights(const ResampleTaps& taps) {
  std::vector<typename Lerp::Weight> weights(taps.size());
  for (int64_t i = 0; i < taps.size(); ++i) weights[i] = Lerp::WeightOf(taps.weight[2 * i + 1]);
  return weights;
}

template <typename T, typename Lerp>
void Resize(KernelContext& ctx, const Tensor& images, const ResampleTaps& rows,
            const ResampleTaps& columns, Tensor* resized) {
  const auto row_weights = Weights<Lerp>(rows);
  const auto column_weights = Weights<Lerp>(columns);
  const int64_t height = images.dim(1), channels = images.dim(3);
  const int64_t row_size = images.dim(2) * channels;
  const auto* const from = reinterpret_cast<const T*>(images.raw());
  auto* const to = reinterpret_cast<T*>(resized->mutable_raw());
  const auto resize_row = [&](int64_t i) {
    const int64_t b = i / rows.size(), y = i % rows.size();
    const T* const above = from + (b * height + rows.index[2 * y]) * row_size;
    const T* const below = from + (b * height + rows.index[2 * y + 1]) * row_size;
    T* out = to + i * columns.size() * channels;
    for (int64_t x = 0; x < columns.size(); ++x) {
      const int64_t left = columns.index[2 * x] * channels;
      const int64_t right = columns.index[2 * x + 1] * channels;
      for (int64_t c = 0; c < channels; ++c) {
        const auto top = Lerp::Columns(Lerp::Load(above[left + c]), Lerp::Load(above[right + c]),
                                       column_weights[x]);
        const auto bottom = Lerp::Columns(Lerp::Load(below[left + c]), Lerp::Load(below[right + c]),
                                          column_weights[x]);
        *out++ = static_cast<T>(Lerp::Rows(top, bottom, row_weights[y]));
      }
    }
  };
  ctx.ParallelFor(images.dim(0) * rows.size(), 4.0 * columns.size() * channels,
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i) resize_row(i);
                  });
}

// Inputs: images, [height, width], and the range of the images, which is that of the output too.
// Errors: INVALID_ARGUMENT for images without pixels, a size that is not positive, and a range that
// is not of scalars.
class QuantizedResizeBilinearKernel : public OpKernel {
 public:
  explicit QuantizedResizeBilinearKernel(const KernelBuild& build)
      : align_corners_(build.attr<bool>("align_corners")),
        half_pixel_centers_(build.attr<bool>("half_pixel_centers")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(images, "images"));
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    if (!ctx.input(2).shape().IsScalar() || !ctx.input(3).shape().IsScalar()) {
      return absl::InvalidArgumentError("'min' and 'max' must be scalars");
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make(IndexVector{images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor* const resized, ctx.AllocateOutput(0, shape));
    ctx.set_output(1, ctx.input(2));
    ctx.set_output(2, ctx.input(3));
    if (resized->num_elements() == 0) return absl::OkStatus();
    if (shape == images.shape()) {
      std::memcpy(resized->mutable_raw(), images.raw(), images.size_bytes());
      return absl::OkStatus();
    }
    const ResampleTaps rows = Taps(images.dim(1), size[0]);
    const ResampleTaps columns = Taps(images.dim(2), size[1]);
    switch (images.dtype()) {
      case DType::kQuint8:
        Resize<uint8_t, FixedPointLerp<7>>(ctx, images, rows, columns, resized);
        break;
      case DType::kQint32:
        Resize<int32_t, FixedPointLerp<30>>(ctx, images, rows, columns, resized);
        break;
      default:
        Resize<float, FloatLerp>(ctx, images, rows, columns, resized);
    }
    return absl::OkStatus();
  }

 private:
  ResampleTaps Taps(int64_t in_size, int64_t out_size) const {
    return BilinearTaps({in_size, out_size, align_corners_, half_pixel_centers_});
  }

  const bool align_corners_, half_pixel_centers_;
};
REGISTER_KERNEL("QuantizedResizeBilinear", kCpu, QuantizedResizeBilinearKernel);

}  // namespace
}  // namespace tessera

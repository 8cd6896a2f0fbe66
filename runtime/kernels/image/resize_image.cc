// Resizing images by separable resampling: ResizeBilinear, ResizeBicubic, ResizeArea,
// ScaleAndTranslate, and their gradients.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/image/resample_taps.h"
#include "runtime/kernels/image/resize_arguments.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// The weighted sum of what the taps of output `i` name; two taps as TensorFlow interpolates, so
// that results agree to the last bit. `at(index)` gives an input.
template <typename At>
inline float Sum(const ResampleTaps& taps, int64_t i, At at) {
  const int32_t* const index = &taps.index[i * taps.span];
  const float* const weight = &taps.weight[i * taps.span];
  if (taps.span == 2) {
    const float first = at(index[0]);
    return first + (at(index[1]) - first) * weight[1];
  }
  float sum = 0;
  for (int t = 0; t < taps.span; ++t) sum += weight[t] * at(index[t]);
  return sum;
}

using FourFloats = float __attribute__((vector_size(16)));

inline FourFloats LoadFour(const float* from) {
  FourFloats four;
  std::memcpy(&four, from, sizeof(four));
  return four;
}

// Interpolates a row of pixels. Both rows have room for one float behind their end.
void BlendColumns(const ResampleTaps& columns, const float* row, int64_t channels, float* to) {
  const int32_t* index = columns.index.data();
  const float* weight = columns.weight.data();
  const int64_t count = columns.size();
  if (channels == 3) {
    // The fourth float is that of the next pixel, which overwrites it.
    for (int64_t x = 0; x < count; ++x, index += 2, weight += 2) {
      const FourFloats first = LoadFour(row + index[0] * 3);
      const FourFloats blend = first + (LoadFour(row + index[1] * 3) - first) * weight[1];
      std::memcpy(to + x * 3, &blend, sizeof(blend));
    }
    return;
  }
  for (int64_t x = 0; x < count; ++x, index += 2, weight += 2) {
    for (int64_t c = 0; c < channels; ++c) {
      const float first = row[index[0] * channels + c];
      to[x * channels + c] = first + (row[index[1] * channels + c] - first) * weight[1];
    }
  }
}

// Sum() of three channels at once for a row of pixels. As BlendColumns().
void SumColumnsOf3(const ResampleTaps& columns, const float* row, float* to) {
  for (int64_t x = 0; x < columns.size(); ++x) {
    FourFloats sum{};
    for (int t = 0; t < columns.span; ++t) {
      const int64_t tap = x * columns.span + t;
      sum += columns.weight[tap] * LoadFour(row + columns.index[tap] * 3);
    }
    std::memcpy(to + x * 3, &sum, sizeof(sum));
  }
}

// Sum() for all elements of output row `y`, of rows that have `size` each.
void SumRows(const ResampleTaps& taps, int64_t y, const float* rows, int64_t size, float* to) {
  if (taps.span == 2) {
    for (int64_t i = 0; i < size; ++i) {
      to[i] = Sum(taps, y, [&](int64_t index) { return rows[index * size + i]; });
    }
    return;
  }
  std::fill_n(to, size, 0.0f);
  for (int t = 0; t < taps.span; ++t) {
    const float weight = taps.weight[y * taps.span + t];
    const float* const row = rows + taps.index[y * taps.span + t] * size;
#pragma GCC ivdep
    for (int64_t i = 0; i < size; ++i) to[i] += weight * row[i];
  }
}

// Resample() with two taps in both directions. The rows between which an output row lies stay in
// the cache for the next one.
template <typename T>
class RowBlender {
 public:
  RowBlender(const T* image, int64_t width, int64_t channels, const ResampleTaps& columns)
      : image_(image),
        row_size_(width * channels),
        channels_(channels),
        columns_(columns),
        row_(row_size_ + 1),
        above_(columns.size() * channels + 1),
        below_(above_.size()) {}

  // Writes output row `y`. Fastest for rows in order.
  void Blend(const ResampleTaps& rows, int64_t y, float* out) {
    const int32_t above = rows.index[2 * y], below = rows.index[2 * y + 1];
    const float weight = rows.weight[2 * y + 1];
    if (above != above_index_ && above == below_index_) {
      std::swap(above_, below_);
      std::swap(above_index_, below_index_);
    }
    Narrow(above, &above_index_, &above_);
    Narrow(below, &below_index_, &below_);
    const float* const first = above_.data();
    const float* const second = below_.data();
    const auto size = static_cast<int64_t>(above_.size()) - 1;
    for (int64_t i = 0; i < size; ++i) out[i] = first[i] + (second[i] - first[i]) * weight;
  }

 private:
  void Narrow(int32_t y, int32_t* index, std::vector<float>* to) {
    if (std::exchange(*index, y) == y) return;
    const T* const from = image_ + y * row_size_;
    for (int64_t i = 0; i < row_size_; ++i) row_[i] = static_cast<float>(from[i]);
    BlendColumns(columns_, row_.data(), channels_, to->data());
  }

  const T* const image_;
  const int64_t row_size_, channels_;
  const ResampleTaps& columns_;
  std::vector<float> row_, above_, below_;
  int32_t above_index_ = -1, below_index_ = -1;
};

template <typename T>
void ResampleByTwoTaps(KernelContext& ctx, const Tensor& images, const ResampleTaps& rows,
                       const ResampleTaps& columns, float* out) {
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  const int64_t out_width = columns.size() * channels;
  const int64_t image_size = height * width * channels;
  const int64_t total = images.dim(0) * rows.size();
  ctx.ParallelFor(total, 1.0 * out_width, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t b = begin / rows.size();
      RowBlender<T> blender(images.data<T>() + b * image_size, width, channels, columns);
      for (const int64_t stop = std::min(end, (b + 1) * rows.size()); begin < stop; ++begin) {
        blender.Blend(rows, begin - b * rows.size(), out + begin * out_width);
      }
    }
  });
}

// Along the width first, only the rows that the height needs.
template <typename T>
void Resample(KernelContext& ctx, const Tensor& images, const ResampleTaps& rows,
              const ResampleTaps& columns, float* out) {
  if (rows.span == 2 && columns.span == 2) {
    ResampleByTwoTaps<T>(ctx, images, rows, columns, out);
    return;
  }
  const int64_t height = images.dim(1), width = images.dim(2), channels = images.dim(3);
  const int64_t out_width = columns.size() * channels;
  std::vector<bool> needed(height);
  for (int32_t row : rows.index) needed[row] = true;
  std::vector<float> narrow(height * out_width);
  for (int64_t b = 0; b < images.dim(0); ++b) {
    const T* const image = images.data<T>() + b * height * width * channels;
    ctx.ParallelFor(height, 1.0 * columns.span * out_width, [&](int64_t begin, int64_t end) {
      std::vector<float> row(width * channels + 1), line(out_width + 1);
      for (int64_t y = begin; y < end; ++y) {
        if (!needed[y]) continue;
        const T* const from = image + y * width * channels;
        for (int64_t i = 0; i < width * channels; ++i) row[i] = static_cast<float>(from[i]);
        if (channels == 3 && columns.span > 2) {
          SumColumnsOf3(columns, row.data(), line.data());
          std::copy_n(line.data(), out_width, &narrow[y * out_width]);
          continue;
        }
        float* const to = &narrow[y * out_width];
        for (int64_t x = 0; x < columns.size(); ++x) {
          for (int64_t c = 0; c < channels; ++c) {
            to[x * channels + c] =
                Sum(columns, x, [&](int64_t index) { return row[index * channels + c]; });
          }
        }
      }
    });
    float* const result = out + b * rows.size() * out_width;
    ctx.ParallelFor(rows.size(), 1.0 * rows.span * out_width, [&](int64_t begin, int64_t end) {
      for (int64_t y = begin; y < end; ++y) {
        SumRows(rows, y, narrow.data(), out_width, result + y * out_width);
      }
    });
  }
}

// The transpose of Resample(): spreads each gradient over the inputs that made its output. Bilinear
// products are floats whatever T is, as TensorFlow's are.
template <typename T>
void Spread(const Tensor& gradients, const ResampleTaps& rows, const ResampleTaps& columns,
            Tensor* out) {
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t channels = gradients.dim(3), out_width = out->dim(2);
  const int64_t image_size = out->dim(1) * out_width * channels;
  const bool is_bilinear = rows.span == 2 && columns.span == 2;
  std::vector<Sum> sums(image_size);
  const float* g = gradients.data<float>();
  for (int64_t b = 0; b < gradients.dim(0); ++b) {
    std::fill(sums.begin(), sums.end(), Sum(0));
    for (int64_t y = 0; y < rows.size(); ++y) {
      for (int64_t x = 0; x < columns.size(); ++x, g += channels) {
        for (int ty = 0; ty < rows.span; ++ty) {
          const float wy = rows.weight[y * rows.span + ty];
          const int64_t row = rows.index[y * rows.span + ty];
          for (int tx = 0; tx < columns.span; ++tx) {
            const float wx = columns.weight[x * columns.span + tx];
            const int64_t column = columns.index[x * columns.span + tx];
            Sum* const to = &sums[(row * out_width + column) * channels];
            const Sum weight = Sum(wy) * wx;
            for (int64_t c = 0; c < channels; ++c) {
              to[c] += is_bilinear ? Sum(g[c] * wy * wx) : g[c] * weight;
            }
          }
        }
      }
    }
    T* const result = out->data<T>() + b * image_size;
    for (int64_t i = 0; i < image_size; ++i) result[i] = static_cast<T>(sums[i]);
  }
}

using MakeTaps = ResampleTaps (*)(const ResampleGrid&);

// Errors: INVALID_ARGUMENT for anything but images with pixels and two positive sizes.
template <MakeTaps kTaps>
class ResizeKernel : public OpKernel {
 public:
  explicit ResizeKernel(const KernelBuild& build) : attrs_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(images, "images"));
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    const ResampleTaps rows = kTaps(attrs_.Grid(images.dim(1), size[0]));
    const ResampleTaps columns = kTaps(attrs_.Grid(images.dim(2), size[1]));
    return VisitRealType(images.dtype(), [&]<typename T>() {
      Resample<T>(ctx, images, rows, columns, out->data<float>());
      return absl::OkStatus();
    });
  }

 private:
  const ResizeAttrs attrs_;
};
REGISTER_KERNEL("ResizeBilinear", kCpu, ResizeKernel<BilinearTaps>).HostMemory("size");
REGISTER_KERNEL("ResizeBicubic", kCpu, ResizeKernel<BicubicTaps>).HostMemory("size");
REGISTER_KERNEL("ResizeArea", kCpu, ResizeKernel<AreaTaps>).HostMemory("size");

// Inputs: gradients of the resized images, and the original images, whose shape counts.
template <MakeTaps kTaps>
class ResizeGradientKernel : public OpKernel {
 public:
  explicit ResizeGradientKernel(const KernelBuild& build) : attrs_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradients = ctx.input(0);
    const Tensor& original = ctx.input(1);
    RETURN_IF_ERROR(CheckImages(gradients, "grads"));
    RETURN_IF_ERROR(CheckImages(original, "original_image"));
    if (gradients.dim(0) != original.dim(0) || gradients.dim(3) != original.dim(3)) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients of shape ", gradients.shape().ToString(),
                       " do not belong to images of shape ", original.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, original.shape()));
    const ResampleTaps rows = kTaps(attrs_.Grid(original.dim(1), gradients.dim(1)));
    const ResampleTaps columns = kTaps(attrs_.Grid(original.dim(2), gradients.dim(2)));
    return VisitRealType(out->dtype(), [&]<typename T>() {
      Spread<T>(gradients, rows, columns, out);
      return absl::OkStatus();
    });
  }

 private:
  const ResizeAttrs attrs_;
};
REGISTER_KERNEL("ResizeBilinearGrad", kCpu, ResizeGradientKernel<BilinearTaps>);
REGISTER_KERNEL("ResizeBicubicGrad", kCpu, ResizeGradientKernel<BicubicTaps>);

// Two numbers for height and width. Errors: INVALID_ARGUMENT for another shape.
absl::StatusOr<absl::Span<const float>> ReadPair(const Tensor& input, absl::string_view name) {
  if (!(input.shape() == Shape{2})) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' must have two elements, has shape ", input.shape().ToString()));
  }
  return input.flat<float>();
}

// The op's own arguments and attributes, read the same way for both directions.
class ScaleAndTranslateBase : public OpKernel {
 public:
  explicit ScaleAndTranslateBase(const KernelBuild& build)
      : kernel_(build.attr<std::string>("kernel_type")), antialias_(build.attr<bool>("antialias")) {
    build.Fail(KernelTaps(1, 1, 1, 0, kernel_, antialias_).status());
  }

 protected:
  struct TapPair {
    ResampleTaps rows, columns;
  };
  // `scale` and `translation` are inputs 2 and 3.
  absl::StatusOr<TapPair> MakeTaps(KernelContext& ctx, const Tensor& large, int64_t out_height,
                                   int64_t out_width) const {
    ASSIGN_OR_RETURN(const absl::Span<const float> scale, ReadPair(ctx.input(2), "scale"));
    ASSIGN_OR_RETURN(const absl::Span<const float> offset, ReadPair(ctx.input(3), "translation"));
    TapPair taps;
    ASSIGN_OR_RETURN(
        taps.rows, KernelTaps(large.dim(1), out_height, scale[0], offset[0], kernel_, antialias_));
    ASSIGN_OR_RETURN(taps.columns,
                     KernelTaps(large.dim(2), out_width, scale[1], offset[1], kernel_, antialias_));
    return taps;
  }

 private:
  const std::string kernel_;
  const bool antialias_;
};

class ScaleAndTranslateKernel : public ScaleAndTranslateBase {
 public:
  using ScaleAndTranslateBase::ScaleAndTranslateBase;

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& images = ctx.input(0);
    RETURN_IF_ERROR(CheckImages(images, "images"));
    ASSIGN_OR_RETURN(const IndexVector size, ReadImageSize(ctx.input(1)));
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({images.dim(0), size[0], size[1], images.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TapPair taps, MakeTaps(ctx, images, size[0], size[1]));
    return VisitRealType(images.dtype(), [&]<typename T>() {
      Resample<T>(ctx, images, taps.rows, taps.columns, out->data<float>());
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("ScaleAndTranslate", kCpu, ScaleAndTranslateKernel)
    .HostMemory("size")
    .HostMemory("scale")
    .HostMemory("translation");

class ScaleAndTranslateGradKernel : public ScaleAndTranslateBase {
 public:
  using ScaleAndTranslateBase::ScaleAndTranslateBase;

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradients = ctx.input(0);
    const Tensor& original = ctx.input(1);
    RETURN_IF_ERROR(CheckImages(gradients, "grads"));
    RETURN_IF_ERROR(CheckImages(original, "original_image"));
    if (gradients.dim(0) != original.dim(0) || gradients.dim(3) != original.dim(3)) {
      return absl::InvalidArgumentError(
          absl::StrCat("gradients of shape ", gradients.shape().ToString(),
                       " do not belong to images of shape ", original.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, original.shape()));
    if (out->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const TapPair taps,
                     MakeTaps(ctx, original, gradients.dim(1), gradients.dim(2)));
    Spread<float>(gradients, taps.rows, taps.columns, out);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ScaleAndTranslateGrad", kCpu, ScaleAndTranslateGradKernel)
    .HostMemory("scale")
    .HostMemory("translation");

}  // namespace
}  // namespace tessera

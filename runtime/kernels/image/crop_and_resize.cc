// Crops of images at normalised boxes, brought to one size: CropAndResize and its gradients.
#include <algorithm>
#include <cmath>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Where samples of a crop lie in an image, along one axis.
struct CropAxis {
  CropAxis(float from, float to, int64_t image_size, int64_t crop_size)
      : last(static_cast<float>(image_size - 1)),
        start(crop_size > 1 ? from * last : 0.5f * (from + to) * last),
        step(crop_size > 1 ? (to - from) * last / static_cast<float>(crop_size - 1) : 0) {}

  // Rounded after the product and after the sum: whether the last sample of a box that ends at the
  // image's edge is Contained() hangs on it.
  float Position(int64_t i) const { return start + static_cast<float>(i) * step; }
  // False for what is no number.
  bool Contains(float position) const { return position >= 0 && position <= last; }

  const float last, start, step;
};

// The two pixels about a position, and how far from the first it is.
struct Between {
  explicit Between(float position)
      : first(static_cast<int64_t>(std::floor(position))),
        second(static_cast<int64_t>(std::ceil(position))),
        fraction(position - std::floor(position)) {}
  const int64_t first, second;
  const float fraction;
};

// Errors: INVALID_ARGUMENT unless there are boxes [n, 4] and an image index each; OUT_OF_RANGE for
// an index that is not below `batch`.
absl::Status CheckBoxes(const Tensor& boxes, const Tensor& box_images, int64_t batch) {
  if (!boxes.shape().IsMatrix() || boxes.dim(1) != 4 ||
      !(box_images.shape() == Shape{boxes.dim(0)})) {
    return absl::InvalidArgumentError(
        absl::StrCat("boxes must be [n, 4] and their images [n], have shapes ",
                     boxes.shape().ToString(), " and ", box_images.shape().ToString()));
  }
  for (int32_t image : box_images.flat<int32_t>()) {
    if (image < 0 || image >= batch) {
      return absl::OutOfRangeError(absl::StrCat("a box names image ", image, " of ", batch));
    }
  }
  return absl::OkStatus();
}

// The largest height and width: positions are floats, which count no further.
constexpr int64_t kMaxSize = int64_t{1} << 24;

absl::Status CheckImage(const Shape& shape, absl::string_view name) {
  if (shape.rank() == 4 && shape.dim(1) > 0 && shape.dim(2) > 0 && shape.dim(1) <= kMaxSize &&
      shape.dim(2) <= kMaxSize) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("'", name,
                   "' must be [batch, height, width, depth], height and width between 1 "
                   "and ",
                   kMaxSize, "; has shape ", shape.ToString()));
}

// Output [n, height, width, depth]. Samples outside the image have the value of an attribute.
// Errors: those of the checks above, and INVALID_ARGUMENT for sizes that are not positive.
class CropAndResizeKernel : public OpKernel {
 public:
  explicit CropAndResizeKernel(const KernelBuild& build)
      : nearest_(build.attr<std::string>("method") == "nearest"),
        outside_(build.attr<float>("extrapolation_value")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& image = ctx.input(0);
    const Tensor& boxes = ctx.input(1);
    const Tensor& box_images = ctx.input(2);
    RETURN_IF_ERROR(CheckImage(image.shape(), "image"));
    if (!(ctx.input(3).shape() == Shape{2})) {
      return absl::InvalidArgumentError("'crop_size' must be [height, width]");
    }
    ASSIGN_OR_RETURN(const IndexVector size, ReadIndexVector(ctx.input(3), "crop_size"));
    if (size[0] <= 0 || size[1] <= 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'crop_size' must be positive, is [", size[0], ", ", size[1], "]"));
    }
    RETURN_IF_ERROR(CheckBoxes(boxes, box_images, image.dim(0)));
    const auto corners = boxes.flat<float>();
    if (!std::all_of(corners.begin(), corners.end(), [](float x) { return std::isfinite(x); })) {
      return absl::InvalidArgumentError("a box has a corner that is NaN or infinite");
    }
    ASSIGN_OR_RETURN(const Shape shape,
                     Shape::Make({boxes.dim(0), size[0], size[1], image.dim(3)}));
    ASSIGN_OR_RETURN(Tensor * crops, ctx.AllocateOutput(0, shape));
    if (crops->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(image.dtype(), [&]<typename T>() {
      const int64_t pixels = crops->num_elements() / boxes.dim(0);
      ctx.ParallelFor(boxes.dim(0), 5.0 * pixels, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          Crop(image,
               image.data<T>() +
                   box_images.data<int32_t>()[i] * image.dim(1) * image.dim(2) * image.dim(3),
               boxes.data<float>() + i * 4, size, crops->data<float>() + i * pixels);
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  void Crop(const Tensor& image, const T* pixels, const float* box, const IndexVector& size,
            float* to) const {
    const int64_t width = image.dim(2), depth = image.dim(3);
    const CropAxis rows(box[0], box[2], image.dim(1), size[0]);
    const CropAxis columns(box[1], box[3], width, size[1]);
    auto at = [&](int64_t y, int64_t x, int64_t d) {
      return static_cast<float>(pixels[(y * width + x) * depth + d]);
    };
    for (int64_t i = 0; i < size[0]; ++i) {
      const float y = rows.Position(i);
      for (int64_t j = 0; j < size[1]; ++j, to += depth) {
        const float x = columns.Position(j);
        if (!rows.Contains(y) || !columns.Contains(x)) {
          std::fill_n(to, depth, outside_);
        } else if (nearest_) {
          const auto row = static_cast<int64_t>(std::round(y));
          const auto column = static_cast<int64_t>(std::round(x));
          for (int64_t d = 0; d < depth; ++d) to[d] = at(row, column, d);
        } else {
          const Between v(y), h(x);
          const auto pixel = [&](int64_t row, int64_t column) {
            return pixels + (row * width + column) * depth;
          };
          const T* const top_left = pixel(v.first, h.first);
          const T* const top_right = pixel(v.first, h.second);
          const T* const bottom_left = pixel(v.second, h.first);
          const T* const bottom_right = pixel(v.second, h.second);
#pragma GCC ivdep
          for (int64_t d = 0; d < depth; ++d) {
            const auto between = [d, &h](const T* left, const T* right) {
              const float from = static_cast<float>(left[d]);
              return from + (static_cast<float>(right[d]) - from) * h.fraction;
            };
            const float top = between(top_left, top_right);
            to[d] = top + (between(bottom_left, bottom_right) - top) * v.fraction;
          }
        }
      }
    }
  }

  const bool nearest_;
  const float outside_;
};
REGISTER_KERNEL("CropAndResize", kCpu, CropAndResizeKernel).HostMemory("crop_size");

// Inputs: gradients of the crops, boxes, their images, the images' shape.
class CropGradImageKernel : public OpKernel {
 public:
  explicit CropGradImageKernel(const KernelBuild& build)
      : nearest_(build.attr<std::string>("method") == "nearest") {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& g = ctx.input(0);
    const Tensor& boxes = ctx.input(1);
    const Tensor& box_images = ctx.input(2);
    RETURN_IF_ERROR(CheckImage(g.shape(), "grads"));
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(3), "image_size"));
    RETURN_IF_ERROR(CheckImage(shape, "image_size"));
    if (boxes.rank() < 1 || boxes.dim(0) != g.dim(0) || shape.dim(3) != g.dim(3)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gradients of shape ", g.shape().ToString(), " do not belong to boxes of shape ",
          boxes.shape().ToString(), " in images of shape ", shape.ToString()));
    }
    RETURN_IF_ERROR(CheckBoxes(boxes, box_images, shape.dim(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return VisitRealType(out->dtype(), [&]<typename T>() -> absl::Status {
      using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
      ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DTypeOf<Sum>, shape));
      Sum* const sums = wide.data<Sum>();
      std::fill_n(sums, shape.num_elements(), Sum(0));
      const int64_t crops = g.num_elements() == 0 ? 0 : g.dim(0);
      for (int64_t i = 0; i < crops; ++i) {
        Spread(g, shape, boxes.data<float>() + i * 4, i, box_images.data<int32_t>()[i], sums);
      }
      for (int64_t i = 0; i < shape.num_elements(); ++i) {
        out->data<T>()[i] = static_cast<T>(sums[i]);
      }
      return absl::OkStatus();
    });
  }

 private:
  template <typename Sum>
  void Spread(const Tensor& g, const Shape& shape, const float* box, int64_t crop, int64_t image,
              Sum* sums) const {
    const int64_t height = g.dim(1), width = g.dim(2), depth = g.dim(3);
    const CropAxis rows(box[0], box[2], shape.dim(1), height);
    const CropAxis columns(box[1], box[3], shape.dim(2), width);
    // In float whatever Sum is, and in this order: TensorFlow's sums of double differ otherwise.
    auto add = [&](int64_t y, int64_t x, const float* gradients, float weight_y, float weight_x) {
      Sum* const to = sums + ((image * shape.dim(1) + y) * shape.dim(2) + x) * depth;
      for (int64_t d = 0; d < depth; ++d) to[d] += weight_x * (weight_y * gradients[d]);
    };
    for (int64_t i = 0; i < height; ++i) {
      const float y = rows.Position(i);
      for (int64_t j = 0; j < width; ++j) {
        const float x = columns.Position(j);
        if (!rows.Contains(y) || !columns.Contains(x)) continue;
        const float* const from = g.data<float>() + ((crop * height + i) * width + j) * depth;
        if (nearest_) {
          add(static_cast<int64_t>(std::round(y)), static_cast<int64_t>(std::round(x)), from, 1, 1);
          continue;
        }
        const Between v(y), h(x);
        add(v.first, h.first, from, (1 - v.fraction), (1 - h.fraction));
        add(v.first, h.second, from, (1 - v.fraction), h.fraction);
        add(v.second, h.first, from, v.fraction, (1 - h.fraction));
        add(v.second, h.second, from, v.fraction, h.fraction);
      }
    }
  }

  const bool nearest_;
};
REGISTER_KERNEL("CropAndResizeGradImage", kCpu, CropGradImageKernel).HostMemory("image_size");

// Inputs: gradients of the crops, images, boxes, their images.
class CropGradBoxesKernel : public OpKernel {
 public:
  explicit CropGradBoxesKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& g = ctx.input(0);
    const Tensor& image = ctx.input(1);
    const Tensor& boxes = ctx.input(2);
    RETURN_IF_ERROR(CheckImage(g.shape(), "grads"));
    RETURN_IF_ERROR(CheckImage(image.shape(), "image"));
    if (boxes.rank() < 1 || boxes.dim(0) != g.dim(0) || image.dim(3) != g.dim(3)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "gradients of shape ", g.shape().ToString(), " do not belong to boxes of shape ",
          boxes.shape().ToString(), " in images of shape ", image.shape().ToString()));
    }
    RETURN_IF_ERROR(CheckBoxes(boxes, ctx.input(3), image.dim(0)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, boxes.shape()));
    std::fill_n(out->data<float>(), out->num_elements(), 0.0f);
    if (g.num_elements() == 0) return absl::OkStatus();
    return VisitRealType(image.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < g.dim(0); ++i) {
        AddUp(g, image, image.data<T>(), boxes.data<float>() + i * 4, i,
              ctx.input(3).data<int32_t>()[i], out->data<float>() + i * 4);
      }
      return absl::OkStatus();
    });
  }

 private:
  template <typename T>
  static void AddUp(const Tensor& g, const Tensor& image, const T* pixels, const float* box,
                    int64_t crop, int64_t image_index, float* out) {
    const int64_t height = g.dim(1), width = g.dim(2), depth = g.dim(3);
    const CropAxis rows(box[0], box[2], image.dim(1), height);
    const CropAxis columns(box[1], box[3], image.dim(2), width);
    auto at = [&](int64_t y, int64_t x, int64_t d) {
      return static_cast<float>(
          pixels[((image_index * image.dim(1) + y) * image.dim(2) + x) * depth + d]);
    };
    // How a sample moves with the box's first edge, and with its second.
    auto spread = [](const CropAxis& axis, int64_t i, int64_t size, float slope, float* first,
                     float* second) {
      const float share = size > 1 ? static_cast<float>(i) / static_cast<float>(size - 1) : 0.5f;
      *first += slope * axis.last * (1 - share);
      *second += slope * axis.last * share;
    };
    for (int64_t i = 0; i < height; ++i) {
      const float y = rows.Position(i);
      for (int64_t j = 0; j < width; ++j) {
        const float x = columns.Position(j);
        if (!rows.Contains(y) || !columns.Contains(x)) continue;
        const Between v(y), h(x);
        float slope_y = 0, slope_x = 0;
        for (int64_t d = 0; d < depth; ++d) {
          const float gradient = g.data<float>()[((crop * height + i) * width + j) * depth + d];
          const float top_left = at(v.first, h.first, d), top_right = at(v.first, h.second, d);
          const float bottom_left = at(v.second, h.first, d);
          const float bottom_right = at(v.second, h.second, d);
          slope_y += gradient * ((1 - h.fraction) * (bottom_left - top_left) +
                                 h.fraction * (bottom_right - top_right));
          slope_x += gradient * ((1 - v.fraction) * (top_right - top_left) +
                                 v.fraction * (bottom_right - bottom_left));
        }
        spread(rows, i, height, slope_y, &out[0], &out[2]);
        spread(columns, j, width, slope_x, &out[1], &out[3]);
      }
    }
  }
};
REGISTER_KERNEL("CropAndResizeGradBoxes", kCpu, CropGradBoxesKernel);

}  // namespace
}  // namespace tessera

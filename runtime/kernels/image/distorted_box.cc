// Random crops that keep enough of an object: SampleDistortedBoundingBox, its second version, and
// the stateless one.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/random/philox_generator.h"
#include "runtime/kernels/random/simple_random.h"

namespace tessera {
namespace {

struct Box {
  int32_t left = 0, top = 0, right = 0, bottom = 0;

  float Area() const {
    return right <= left || bottom <= top
               ? 0.0f
               : static_cast<float>(right - left) * static_cast<float>(bottom - top);
  }
  Box Intersect(const Box& other) const {
    return {std::max(left, other.left), std::max(top, other.top), std::min(right, other.right),
            std::min(bottom, other.bottom)};
  }
};

// Whether `crop` covers at least this part of one of the objects.
bool CoversAnObject(const Box& crop, float least, const std::vector<Box>& objects) {
  constexpr float kMinArea = 1;
  if (crop.Area() < kMinArea) return false;
  return std::any_of(objects.begin(), objects.end(), [&](const Box& object) {
    const float area = object.Area();
    return area >= kMinArea && crop.Intersect(object).Area() / area >= least;
  });
}

// Bounds of what is drawn.
struct CropLimits {
  std::vector<float> aspect_ratios, areas;  // the lower and the upper one
};

// Draws a crop of the given aspect ratio whose area is between `limits.areas` of the image's.
// Nothing if rounding leaves none.
std::optional<Box> DrawCrop(int32_t image_width, int32_t image_height, const CropLimits& limits,
                            float aspect_ratio, SimpleRandom* random) {
  const auto image_area = [&](float part) {
    return part * static_cast<float>(image_width) * static_cast<float>(image_height);
  };
  const auto width_of = [&](int height) {
    return static_cast<int>(std::lrint(static_cast<float>(height) * aspect_ratio));
  };
  if (image_width <= 0 || image_height <= 0) return std::nullopt;
  if (aspect_ratio <= 0 || limits.areas[1] <= 0 || limits.areas[0] > limits.areas[1]) {
    return std::nullopt;
  }
  const float min_area = image_area(limits.areas[0]), max_area = image_area(limits.areas[1]);
  int height = static_cast<int>(std::lrint(std::sqrt(min_area / aspect_ratio)));
  int max_height = static_cast<int>(std::lrint(std::sqrt(max_area / aspect_ratio)));
  if (width_of(max_height) > image_width) {
    constexpr float kEpsilon = 0.0000001f;
    constexpr double kTallest = std::numeric_limits<int>::max();
    max_height =
        static_cast<int>(std::min((image_width + 0.5 - kEpsilon) / aspect_ratio, kTallest));
    if (width_of(max_height) > image_width) --max_height;
  }
  max_height = std::min(max_height, image_height);
  height = std::min(height, max_height);
  if (height < max_height) {
    height += static_cast<int>(random->Below32(static_cast<uint32_t>(max_height - height + 1)));
  }
  int width = width_of(height);
  const auto area = [&] { return static_cast<float>(width) * static_cast<float>(height); };
  // Rounding may have led out of the limits by one row.
  if (area() < min_area) width = width_of(++height);
  if (area() > max_area) width = width_of(--height);
  if (area() < min_area || area() > max_area || width > image_width || height > image_height ||
      width <= 0 || height <= 0) {
    return std::nullopt;
  }
  const auto place = [&](int size, int image) {
    return size < image ? static_cast<int32_t>(random->Below32(static_cast<uint32_t>(image - size)))
                        : 0;
  };
  const int32_t top = place(height, image_height);
  const int32_t left = place(width, image_width);
  return Box{left, top, left + width, top + height};
}

// Reads a list of two positive numbers, of which the first is not the larger one.
std::vector<float> ReadRange(const KernelBuild& build, absl::string_view attr, float limit) {
  std::vector<float> range = build.attr<std::vector<float>>(attr);
  if (range.size() != 2 || !(range[0] > 0) || !(range[1] > 0) || range[0] > limit ||
      range[1] > limit) {
    build.Fail(absl::InvalidArgumentError(
        absl::StrCat(attr, " must be two positive numbers up to ", limit)));
    range.assign(2, 1);
  }
  return range;
}

enum class Source { kNode, kSeed };

// Inputs: the image's size, objects [batch, boxes, 4] as (top, left, bottom, right) from 0 to 1,
// and then, where they are no attributes, the part of an object to cover, and a seed. Outputs:
// begin and size for Slice, and the crop as an object. The crop is the whole image if none of
// max_attempts crops covers enough, as none does of an empty image or where more than the whole of
// an object is asked for. Errors: INVALID_ARGUMENT for other shapes and values out of range, and
// without objects unless the image may take their place.
template <Source kSource>
class SampleBoxKernel : public OpKernel {
 public:
  explicit SampleBoxKernel(const KernelBuild& build)
      : limits_{ReadRange(build, "aspect_ratio_range", std::numeric_limits<float>::max()),
                ReadRange(build, "area_range", 1)},
        max_attempts_(build.attr<int64_t>("max_attempts")),
        may_use_image_(build.attr<bool>("use_image_if_no_bounding_boxes")) {
    if (build.has_attr("min_object_covered")) least_ = build.attr<float>("min_object_covered");
    if (least_ && !(*least_ >= 0)) {
      build.Fail(absl::InvalidArgumentError("min_object_covered must not be negative"));
    }
    if (max_attempts_ <= 0) {
      build.Fail(absl::InvalidArgumentError("max_attempts must be positive"));
    }
    if constexpr (kSource == Source::kNode) generator_ = std::make_unique<SeededPhilox>(build);
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Box image, ReadImage(ctx.input(0)));
    ASSIGN_OR_RETURN(const std::vector<Box> objects, ReadObjects(ctx.input(1), image));
    float least = least_.value_or(0);
    if (!least_) {
      const Tensor& covered = ctx.input(2);
      if (!covered.shape().IsScalar()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "min_object_covered must be a scalar, has shape ", covered.shape().ToString()));
      }
      least = covered.scalar<float>();
      if (!(least >= 0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("min_object_covered must not be negative, is ", least));
      }
    }
    ASSIGN_OR_RETURN(const Philox philox, Generator(ctx));
    SimpleRandom random(philox);
    Box crop = image;
    for (int64_t i = 0; i < max_attempts_; ++i) {
      const std::vector<float>& ratios = limits_.aspect_ratios;
      const float ratio = random.Float() * (ratios[1] - ratios[0]) + ratios[0];
      const std::optional<Box> drawn = DrawCrop(image.right, image.bottom, limits_, ratio, &random);
      if (!drawn || !CoversAnObject(*drawn, least, objects)) continue;
      crop = *drawn;
      break;
    }
    return Write(ctx, image, crop);
  }

 private:
  absl::StatusOr<Philox> Generator(KernelContext& ctx) {
    if constexpr (kSource == Source::kSeed) return GeneratorFromSeed(ctx.input(3));
    return generator_->Reserve(ctx, static_cast<uint64_t>(max_attempts_));
  }

  static absl::StatusOr<Box> ReadImage(const Tensor& size) {
    if (size.shape() != Shape{3}) {
      return absl::InvalidArgumentError(
          absl::StrCat("image_size must have three elements, has shape ", size.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector dims, ReadIndexVector(size, "image_size"));
    for (int i = 0; i < 2; ++i) {
      if (dims[i] >= 0 && dims[i] < std::numeric_limits<int32_t>::max()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("height and width of an image must not be negative, one is ", dims[i]));
    }
    return Box{0, 0, static_cast<int32_t>(dims[1]), static_cast<int32_t>(dims[0])};
  }

  absl::StatusOr<std::vector<Box>> ReadObjects(const Tensor& boxes, const Box& image) const {
    if (boxes.rank() != 3 || boxes.dim(2) != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bounding_boxes must have shape [batch, boxes, 4], have ", boxes.shape().ToString()));
    }
    const int64_t count = boxes.num_elements() / 4;
    std::vector<Box> objects;
    for (int64_t i = 0; i < count; ++i) {
      const float* const box = boxes.data<float>() + 4 * i;
      for (int k = 0; k < 4; ++k) {
        if (box[k] >= 0 && box[k] <= 1) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("coordinates of boxes must be from 0 to 1, one is ", box[k]));
      }
      const auto width = static_cast<float>(image.right), height = static_cast<float>(image.bottom);
      objects.push_back(
          {static_cast<int32_t>(box[1] * width), static_cast<int32_t>(box[0] * height),
           static_cast<int32_t>(box[3] * width), static_cast<int32_t>(box[2] * height)});
    }
    if (!objects.empty()) return objects;
    if (may_use_image_) return std::vector<Box>{image};
    return absl::InvalidArgumentError(
        "no bounding boxes are given: set use_image_if_no_bounding_boxes to take the image");
  }

  static absl::Status Write(KernelContext& ctx, const Box& image, const Box& crop) {
    ASSIGN_OR_RETURN(Tensor* const begin, ctx.AllocateOutput(0, Shape{3}));
    ASSIGN_OR_RETURN(Tensor* const size, ctx.AllocateOutput(1, Shape{3}));
    ASSIGN_OR_RETURN(Tensor* const box, ctx.AllocateOutput(2, Shape{1, 1, 4}));
    RETURN_IF_ERROR(VisitIndexType(begin->dtype(), [&]<typename T>() {
      T* const from = begin->data<T>();
      T* const extent = size->data<T>();
      from[0] = static_cast<T>(crop.top);
      from[1] = static_cast<T>(crop.left);
      from[2] = 0;
      extent[0] = static_cast<T>(crop.bottom - crop.top);
      extent[1] = static_cast<T>(crop.right - crop.left);
      extent[2] = static_cast<T>(-1);
      return absl::OkStatus();
    }));
    float* const to = box->data<float>();
    const auto width = static_cast<float>(image.right), height = static_cast<float>(image.bottom);
    to[0] = static_cast<float>(crop.top) / height;
    to[1] = static_cast<float>(crop.left) / width;
    to[2] = static_cast<float>(crop.bottom) / height;
    to[3] = static_cast<float>(crop.right) / width;
    return absl::OkStatus();
  }

  const CropLimits limits_;
  const int64_t max_attempts_;
  const bool may_use_image_;
  std::optional<float> least_;  // the part of an object to cover, if it is an attribute
  std::unique_ptr<SeededPhilox> generator_;  // null for kSeed
};
REGISTER_KERNEL("SampleDistortedBoundingBox", kCpu, SampleBoxKernel<Source::kNode>);
REGISTER_KERNEL("SampleDistortedBoundingBoxV2", kCpu, SampleBoxKernel<Source::kNode>);
REGISTER_KERNEL("StatelessSampleDistortedBoundingBox", kCpu, SampleBoxKernel<Source::kSeed>);

}  // namespace
}  // namespace tessera

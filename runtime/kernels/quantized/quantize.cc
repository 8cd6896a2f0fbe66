// Between floats and quantised numbers: QuantizeV2 and Dequantize.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "Eigen/Core"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/quantized/quantized_type.h"

namespace tessera {
namespace {

enum class Mode { kMinCombined, kMinFirst, kScaled };

Mode ModeOf(const KernelBuild& build) {
  const std::string mode = build.attr<std::string>("mode");
  return mode == "SCALED"      ? Mode::kScaled
         : mode == "MIN_FIRST" ? Mode::kMinFirst
                               : Mode::kMinCombined;
}

// Signed numbers of MIN_COMBINED are shifted by half of what there is.
template <typename T>
constexpr float kHalfRange = std::is_signed_v<T>
                                 ? (static_cast<float>(std::numeric_limits<T>::max()) -
                                    static_cast<float>(std::numeric_limits<T>::lowest()) + 1) /
                                       2
                                 : 0;

template <typename T>
constexpr double kSteps = static_cast<double>(std::numeric_limits<T>::max()) -
                          static_cast<double>(std::numeric_limits<T>::lowest());

// A number truncated to T; a narrow T requires that it was clamped. Floats beside the range of
// int32 become the lowest number, which is what x86 converts them to, and so TensorFlow.
template <typename T>
T ToQuantized(float q) {
  if constexpr (sizeof(T) < sizeof(int32_t)) {
    return static_cast<T>(static_cast<int32_t>(q));
  } else {
    constexpr float kEnd = 2147483648.0f;
    return q >= -kEnd && q < kEnd ? static_cast<T>(q) : std::numeric_limits<T>::lowest();
  }
}

// y[i] = value(i), clamped to a narrow T and truncated, for i in [0, count). NaN passes the limits.
// Each step has a loop of its own: in one loop the compiler would choose between the converted
// limits and numbers by masks, instead of taking minima and maxima.
template <typename T, typename Value>
void StoreQuantized(int64_t count, const Value& value, T* y) {
  constexpr int64_t kBlock = 128;
  float numbers[kBlock];
  for (int64_t first = 0; first < count; first += kBlock) {
    const int64_t some = std::min(kBlock, count - first);
    if constexpr (sizeof(T) < sizeof(int32_t)) {
      constexpr float kLowest = std::numeric_limits<T>::lowest();
      constexpr float kHighest = std::numeric_limits<T>::max();
      for (int64_t i = 0; i < some; ++i) numbers[i] = std::min(value(first + i), kHighest);
      for (int64_t i = 0; i < some; ++i) numbers[i] = std::max(numbers[i], kLowest);
    } else {
      for (int64_t i = 0; i < some; ++i) numbers[i] = value(first + i);
    }
    for (int64_t i = 0; i < some; ++i) y[first + i] = ToQuantized<T>(numbers[i]);
  }
}

// A number that truncates to std::round(x), which no processor has an instruction for.
float ToTruncate(float x) {
  constexpr float kBelowHalf = 0.49999997f;
  return x + std::copysign(kBelowHalf, x);
}

// A tensor as [outer, slices, inner]: one slice a range.
struct Slices {
  int64_t outer = 1, count = 1, inner = 1;

  int64_t Start(int64_t o, int64_t slice) const { return (o * count + slice) * inner; }
};

// Reads how `min` and `max` part `x` along `axis`; -1 for one range for all.
// Errors: INVALID_ARGUMENT unless there is a range a slice.
absl::StatusOr<Slices> ReadSlices(const Tensor& x, const Tensor& min, const Tensor& max,
                                  int64_t axis) {
  Slices slices;
  if (axis == -1) {
    slices.inner = x.num_elements();
  } else {
    if (axis < 0 || axis >= x.rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("axis ", axis, " is none of shape ", x.shape().ToString()));
    }
    slices.outer = DimProduct(x.shape(), 0, static_cast<int>(axis));
    slices.count = x.dim(static_cast<int>(axis));
    slices.inner = DimProduct(x.shape(), static_cast<int>(axis) + 1, x.rank());
  }
  if (slices.inner == 0) slices.outer = 0;
  const bool fits = axis == -1 ? min.num_elements() == 1 && max.num_elements() == 1
                               : min.shape() == Shape{slices.count} && max.shape() == min.shape();
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the range must be ", axis == -1 ? "one" : "a vector of the slices'", " minimum and ",
        "maximum, they have shapes ", min.shape().ToString(), " and ", max.shape().ToString()));
  }
  return slices;
}

// Outputs: quantised numbers, and the range that they span.
// Errors: those of ReadSlices(), and INVALID_ARGUMENT for a maximum below the minimum.
class QuantizeKernel : public OpKernel {
 public:
  explicit QuantizeKernel(const KernelBuild& build)
      : mode_(ModeOf(build)),
        to_even_(build.attr<std::string>("round_mode") == "HALF_TO_EVEN"),
        narrow_(build.attr<bool>("narrow_range")),
        axis_(build.attr<int64_t>("axis")),
        least_range_(build.attr<float>("ensure_minimum_range")) {
    if (to_even_ && mode_ != Mode::kScaled) {
      build.Fail(absl::InvalidArgumentError("only mode SCALED rounds half to even"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const Slices slices, ReadSlices(x, ctx.input(1), ctx.input(2), axis_));
    // A single slice has a range of scalars, as the whole tensor has.
    const Shape range_shape = slices.count == 1 ? Shape() : ctx.input(1).shape();
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    ASSIGN_OR_RETURN(Tensor * out_min, ctx.AllocateOutput(1, range_shape));
    ASSIGN_OR_RETURN(Tensor * out_max, ctx.AllocateOutput(2, range_shape));
    return VisitQuantizedType(y->dtype(), [&]<typename T>() -> absl::Status {
      auto* const to = reinterpret_cast<T*>(y->mutable_raw());
      for (int64_t s = 0; s < slices.count; ++s) {
        float& min = out_min->data<float>()[s];
        float& max = out_max->data<float>()[s];
        min = ctx.input(1).data<float>()[s];
        max = ctx.input(2).data<float>()[s];
        RETURN_IF_ERROR(WidenRange(&min, &max));
        const float scale = mode_ == Mode::kScaled ? ScaleToFit<T>(&min, &max) : 0;
        for (int64_t o = 0; o < slices.outer; ++o) {
          const int64_t start = slices.Start(o, s);
          const float* const from = x.data<float>() + start;
          ctx.ParallelFor(slices.inner, 3, [&](int64_t begin, int64_t end) {
            Quantize(from + begin, end - begin, min, max, scale, to + start + begin);
          });
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  // Takes 0 in, and keeps the ends apart.
  absl::Status WidenRange(float* min, float* max) const {
    if (!(*max >= *min)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the maximum ", *max, " of the range is below the minimum ", *min));
    }
    const float apart = std::max(1.0f, std::max(std::abs(*min), std::abs(*max))) * least_range_;
    *min = std::min(0.0f, *min);
    *max = std::max(0.0f, std::max(*max, *min + apart));
    return absl::OkStatus();
  }

  // The scale of mode SCALED, and the range that it gives.
  template <typename T>
  float ScaleToFit(float* min, float* max) const {
    const float lowest = static_cast<float>(std::numeric_limits<T>::lowest()) + (narrow_ ? 1 : 0);
    const float highest = static_cast<float>(std::numeric_limits<T>::max());
    constexpr float kNone = std::numeric_limits<float>::max();
    const float scale = std::min(lowest * *min > 0 ? lowest / *min : kNone,
                                 highest * *max > 0 ? highest / *max : kNone);
    *min = lowest / scale;
    *max = highest / scale;
    return scale;
  }

  template <typename T>
  void Quantize(const float* x, int64_t count, float min, float max, float scale, T* y) const {
    constexpr auto kLowest = static_cast<float>(std::numeric_limits<T>::lowest());
    const float combined = static_cast<float>(kSteps<T> / (max - min));
    const float first = max == min ? 0 : combined;
    const float offset = std::round(min * first) - kLowest;
    const auto clamped = [=](int64_t i) { return std::max(std::min(x[i], max), min); };
    if (mode_ == Mode::kMinFirst) {
      // The largest float that int32 holds; narrow numbers are clamped anyway.
      constexpr float kHighest = 2147483520.0f;
      const auto value = [=](int64_t i) {
        return std::clamp(std::trunc(ToTruncate(x[i] * first)) - offset, kLowest, kHighest);
      };
      StoreQuantized(count, value, y);
    } else if (mode_ == Mode::kScaled && to_even_) {
      StoreQuantized(
          count, [=](int64_t i) { return std::nearbyint(clamped(i) * scale); }, y);
    } else if (mode_ == Mode::kScaled) {
      StoreQuantized(
          count, [=](int64_t i) { return ToTruncate(clamped(i) * scale); }, y);
    } else if (std::is_signed_v<T>) {
      const auto value = [=](int64_t i) {
        return ToTruncate((clamped(i) - min) * combined - kHalfRange<T>);
      };
      StoreQuantized(count, value, y);
    } else {
      const auto value = [=](int64_t i) { return (clamped(i) - min) * combined + 0.5f; };
      StoreQuantized(count, value, y);
    }
  }

  const Mode mode_;
  const bool to_even_, narrow_;
  const int64_t axis_;
  const float least_range_;
};
REGISTER_KERNEL("QuantizeV2", kCpu, QuantizeKernel);

// Errors: those of ReadSlices().
class DequantizeKernel : public OpKernel {
 public:
  explicit DequantizeKernel(const KernelBuild& build)
      : mode_(ModeOf(build)),
        narrow_(build.attr<bool>("narrow_range")),
        axis_(build.attr<int64_t>("axis")) {
    if (build.output_types()[0] == DType::kBfloat16 && mode_ != Mode::kMinCombined) {
      build.Fail(absl::InvalidArgumentError("bfloat16 outputs need the mode MIN_COMBINED"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(const Slices slices, ReadSlices(x, ctx.input(1), ctx.input(2), axis_));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    return VisitQuantizedType(x.dtype(), [&]<typename T>() {
      const auto* const from = reinterpret_cast<const T*>(x.raw());
      for (int64_t s = 0; s < slices.count; ++s) {
        const Line line = LineOf<T>(ctx.input(1).data<float>()[s], ctx.input(2).data<float>()[s]);
        for (int64_t o = 0; o < slices.outer; ++o) {
          const int64_t start = slices.Start(o, s);
          const auto dequantize = [line, numbers = from + start](int64_t i) {
            return (static_cast<float>(numbers[i]) + line.before) * line.scale + line.after;
          };
          if (y->dtype() == DType::kBfloat16) {
            auto* const to = y->data<Eigen::bfloat16>() + start;
            for (int64_t i = 0; i < slices.inner; ++i) {
              to[i] = static_cast<Eigen::bfloat16>(dequantize(i));
            }
            continue;
          }
          float* const to = y->data<float>() + start;
          ctx.ParallelFor(slices.inner, 0.3, [to, &dequantize](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) to[i] = dequantize(i);
          });
        }
      }
      return absl::OkStatus();
    });
  }

 private:
  // (q + before) * scale + after
  struct Line {
    float before, scale, after;
  };
  template <typename T>
  Line LineOf(float min, float max) const {
    const auto lowest = static_cast<float>(std::numeric_limits<T>::lowest());
    const auto highest = static_cast<float>(std::numeric_limits<T>::max());
    const auto step = static_cast<float>((max - min) / kSteps<T>);
    switch (mode_) {
      case Mode::kMinCombined:
        return {kHalfRange<T>, step, min};
      case Mode::kMinFirst:
        return {-lowest, step, max == min ? min : std::round(min / step) * step};
      case Mode::kScaled:
        break;
    }
    const float scale = lowest == 0
                            ? max / highest
                            : std::max(min / (lowest + (narrow_ ? 1.0f : 0.0f)), max / highest);
    return {0, scale, 0};
  }

  const Mode mode_;
  const bool narrow_;
  const int64_t axis_;
};
REGISTER_KERNEL("Dequantize", kCpu, DequantizeKernel);

}  // namespace
}  // namespace tessera

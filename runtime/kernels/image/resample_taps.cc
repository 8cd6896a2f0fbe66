#include "runtime/kernels/image/resample_taps.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera {
namespace {

constexpr float kPi = 3.14159265358979323846f;
// Sums below this are as good as zero: nothing is divided by them.
constexpr float kLeastSum = 1000 * std::numeric_limits<float>::min();

int32_t Bound(int64_t index, int64_t size) {
  return static_cast<int32_t>(std::clamp<int64_t>(index, 0, size - 1));
}

void Normalize(float* weights, int count) {
  float sum = 0;
  for (int i = 0; i < count; ++i) sum += weights[i];
  if (std::abs(sum) < kLeastSum) return;
  for (int i = 0; i < count; ++i) weights[i] *= 1 / sum;
}

// Keys' kernel at 0 ... 1 (even entries) and at 1 ... 2 (odd ones), in steps of 1/1024.
constexpr int kSteps = 1024;
std::vector<float> KeysTable(double a) {
  std::vector<float> table(2 * (kSteps + 1));
  for (int i = 0; i <= kSteps; ++i) {
    float x = static_cast<float>(i) / kSteps;
    table[2 * i] = static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
    x += 1;
    table[2 * i + 1] = static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  }
  return table;
}

struct Kernel {
  const char* name;
  float radius;
  float (*value)(float x);  // x >= 0
};

template <int kRadius>
float Lanczos(float x) {
  if (x > kRadius) return 0;
  if (x <= 1e-3f) return 1;
  return kRadius * std::sin(kPi * x) * std::sin(kPi * x / kRadius) / (kPi * kPi * x * x);
}

constexpr Kernel kKernels[] = {
    {"lanczos1", 1, Lanczos<1>},
    {"lanczos3", 3, Lanczos<3>},
    {"lanczos5", 5, Lanczos<5>},
    {"gaussian", 1.5f,
     [](float x) { return x >= 1.5f ? 0.0f : std::exp(-x * x / (2.0f * 0.5f * 0.5f)); }},
    {"box", 1, [](float x) { return x < 0.5f    ? 1.0f
                                    : x == 0.5f ? 0.5f
                                                : 0.0f; }},
    {"triangle", 1, [](float x) { return x < 1 ? 1 - x : 0.0f; }},
    {"keyscubic", 2,
     [](float x) {
       if (x >= 2) return 0.0f;
       return x >= 1 ? ((-0.5f * x + 2.5f) * x - 4) * x + 2 : ((1.5f * x - 2.5f) * x) * x + 1;
     }},
    {"mitchellcubic", 2,
     [](float x) {
       if (x >= 2) return 0.0f;
       return x >= 1 ? (((-7.0f / 18) * x + 2) * x - 10.0f / 3) * x + 16.0f / 9
                     : (((7.0f / 6) * x - 2) * x) * x + 8.0f / 9;
     }},
};

}  // namespace

float ResampleGrid::Scale() const {
  return align_corners && out_size > 1
             ? static_cast<float>(in_size - 1) / static_cast<float>(out_size - 1)
             : static_cast<float>(in_size) / static_cast<float>(out_size);
}

float ResampleGrid::Position(int64_t i) const {
  const float x = static_cast<float>(i);
  return half_pixel_centers ? (x + 0.5f) * Scale() - 0.5f : x * Scale();
}

ResampleTaps BilinearTaps(const ResampleGrid& grid) {
  ResampleTaps taps{.span = 2, .index = {}, .weight = {}};
  for (int64_t i = 0; i < grid.out_size; ++i) {
    const float position = grid.Position(i), floor = std::floor(position);
    const float fraction = position - floor;
    taps.index.push_back(Bound(static_cast<int64_t>(floor), grid.in_size));
    taps.index.push_back(Bound(static_cast<int64_t>(std::ceil(position)), grid.in_size));
    taps.weight.push_back(1 - fraction);
    taps.weight.push_back(fraction);
  }
  return taps;
}

ResampleTaps BicubicTaps(const ResampleGrid& grid) {
  static const auto* const kPlain = new std::vector<float>(KeysTable(-0.75));
  static const auto* const kHalfPixel = new std::vector<float>(KeysTable(-0.5));
  const std::vector<float>& table = grid.half_pixel_centers ? *kHalfPixel : *kPlain;
  ResampleTaps taps{.span = 4, .index = {}, .weight = {}};
  for (int64_t i = 0; i < grid.out_size; ++i) {
    const float position = grid.Position(i);
    const auto first = static_cast<int64_t>(std::floor(position));
    const auto step = std::lrint((position - static_cast<float>(first)) * kSteps);
    std::array<float, 4> weights = {table[2 * step + 1], table[2 * step],
                                    table[2 * (kSteps - step)], table[2 * (kSteps - step) + 1]};
    for (int t = 0; t < 4; ++t) {
      const int32_t index = Bound(first - 1 + t, grid.in_size);
      if (grid.half_pixel_centers && index != first - 1 + t) weights[t] = 0;
      taps.index.push_back(index);
    }
    if (grid.half_pixel_centers) Normalize(weights.data(), 4);
    taps.weight.insert(taps.weight.end(), weights.begin(), weights.end());
  }
  return taps;
}

ResampleTaps AreaTaps(const ResampleGrid& grid) {
  // The corners of a single sample cannot be aligned.
  const float scale = grid.in_size > 1 ? grid.Scale() : 1.0f / static_cast<float>(grid.out_size);
  auto first = [&](int64_t i) { return static_cast<int64_t>(std::floor(i * scale)); };
  auto end = [&](int64_t i) { return static_cast<int64_t>(std::ceil((i + 1) * scale)); };
  ResampleTaps taps;
  for (int64_t i = 0; i < grid.out_size; ++i) {
    taps.span = std::max(taps.span, static_cast<int>(end(i) - first(i)));
  }
  // With align_corners an output may cover nothing.
  taps.span = std::max(taps.span, 1);
  for (int64_t i = 0; i < grid.out_size; ++i) {
    const float from = i * scale, to = (i + 1) * scale;
    for (int64_t t = 0; t < taps.span; ++t) {
      const int64_t at = first(i) + t;
      float covered = 0;
      if (at < end(i)) {
        if (static_cast<float>(at) < from) {
          covered = static_cast<float>(at + 1) > to ? scale : static_cast<float>(at + 1) - from;
        } else {
          covered = static_cast<float>(at + 1) > to ? to - static_cast<float>(at) : 1.0f;
        }
      }
      taps.index.push_back(Bound(at, grid.in_size));
      taps.weight.push_back(covered / scale);
    }
  }
  return taps;
}

absl::StatusOr<ResampleTaps> KernelTaps(int64_t in_size, int64_t out_size, float scale,
                                        float translation, const std::string& kernel_name,
                                        bool antialias) {
  const Kernel* const kernel = std::find_if(std::begin(kKernels), std::end(kKernels),
                                            [&](const Kernel& k) { return kernel_name == k.name; });
  if (kernel == std::end(kKernels)) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown resampling kernel '", kernel_name, "'"));
  }
  if (!(scale > 0)) {
    return absl::InvalidArgumentError(absl::StrCat("the scale must be positive, is ", scale));
  }
  const float inverse = 1 / scale, offset = -inverse * translation;
  const float widening = antialias ? std::max(inverse, 1.0f) : 1.0f;
  const float radius = kernel->radius * widening;
  ResampleTaps taps;
  taps.span =
      static_cast<int>(std::min<float>(2 * std::ceil(radius) + 1, static_cast<float>(in_size)));
  // Two taps are interpolated between, by weights whose sum is 1; there may be no weight here.
  if (taps.span == 2) taps.span = 3;
  taps.index.assign(out_size * taps.span, 0);
  taps.weight.assign(out_size * taps.span, 0);
  for (int64_t i = 0; i < out_size; ++i) {
    const float at = (static_cast<float>(i) + 0.5f) * inverse + offset;
    if (!(at >= 0 && at <= static_cast<float>(in_size))) continue;
    // A radius may reach farther than an index.
    const float before = std::max(at - radius - 0.5f, 0.0f);
    const float after = std::min(at + radius - 0.5f, static_cast<float>(in_size));
    const int32_t first = Bound(static_cast<int64_t>(std::ceil(before)), in_size);
    const int32_t last = Bound(static_cast<int64_t>(std::floor(after)), in_size);
    float* const weights = &taps.weight[i * taps.span];
    const int count = std::min(last - first + 1, taps.span);
    for (int t = 0; t < count; ++t) {
      taps.index[i * taps.span + t] = first + t;
      const float distance = static_cast<float>(first + t) + 0.5f - at;
      weights[t] = kernel->value(std::abs(distance / widening));
    }
    Normalize(weights, count);
  }
  return taps;
}

}  // namespace tessera

// Common parts of the quantised products with bias, activation and requantisation. Bytes are
// symmetric around 0: 255 or 127 stands for the larger end of a range.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/quantized/quantized_input.h"

namespace tessera {

// The position of an input that is one tensor; -1 if the op has none of this name.
inline int PositionOf(const KernelBuild& build, absl::string_view arg) {
  const auto& args = build.op().inputs;
  const auto it =
      std::find_if(args.begin(), args.end(), [&](const ArgDef& a) { return a.name == arg; });
  return it == args.end() ? -1 : static_cast<int>(it - args.begin());
}

// The larger end of the range that bytes of a dtype have: qint8 or quint8.
inline float LargestByte(DType dtype) { return dtype == DType::kQint8 ? 127.0f : 255.0f; }

// The numbers of a scalar or a vector of `count`.
// Errors: INVALID_ARGUMENT, naming the input, for another shape.
inline absl::StatusOr<std::vector<float>> ReadChannels(const KernelContext& ctx, int input,
                                                       int64_t count) {
  const Tensor& tensor = ctx.input(input);
  if (tensor.num_elements() != 1 && (tensor.rank() != 1 || tensor.dim(0) != count)) {
    return absl::InvalidArgumentError(absl::StrCat("input ", input, " must be a scalar or have ",
                                                   count, " elements, has shape ",
                                                   tensor.shape().ToString()));
  }
  const auto values = tensor.flat<float>();
  return std::vector<float>(values.begin(), values.end());
}

// Reads one number. Errors: INVALID_ARGUMENT, naming the input, for more or less.
inline absl::StatusOr<float> ReadNumber(const KernelContext& ctx, int input) {
  ASSIGN_OR_RETURN(const std::vector<float> numbers, ReadChannels(ctx, input, 1));
  if (numbers.size() == 1) return numbers[0];
  return absl::InvalidArgumentError(absl::StrCat("input ", input, " must be a scalar"));
}

inline float LargerEnd(float min, float max) { return std::max(std::abs(min), std::abs(max)); }

// The bias that is added to the sums of products, which are 64 bits wide so that they cannot
// overflow.
class Bias {
 public:
  // No bias.
  Bias() = default;
  // `unit` is what 1 stands for in each channel, or in all; a bias of float is rounded to it, with
  // `offset` of each channel, in the bias's unit, added before.
  // Errors: INVALID_ARGUMENT unless the bias is a vector of `channels`.
  static absl::StatusOr<Bias> Make(const Tensor& bias, int64_t channels,
                                   const std::vector<float>& units,
                                   const std::vector<float>& offsets = {}) {
    if (bias.rank() != 1 || bias.dim(0) != channels) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bias must have ", channels, " elements, has shape ", bias.shape().ToString()));
    }
    Bias made;
    for (int64_t c = 0; c < channels; ++c) {
      if (bias.dtype() != DType::kFloat) {
        made.values_.push_back(Stored<int32_t>(bias)[c]);
        continue;
      }
      const float unit = units[units.size() == 1 ? 0 : c];
      const float offset = offsets.empty() ? 0.0f : offsets[c];
      made.values_.push_back(RoundToInt32((bias.data<float>()[c] + offset) * unit));
    }
    return made;
  }

  int64_t operator[](int64_t channel) const { return values_.empty() ? 0 : values_[channel]; }

  // To the nearest integer, even ones from the middle; NaN becomes the lowest.
  static int32_t RoundToInt32(float x) {
    if (!(x > -2147483648.0f)) return std::numeric_limits<int32_t>::lowest();
    if (x >= 2147483648.0f) return std::numeric_limits<int32_t>::max();
    return static_cast<int32_t>(std::nearbyint(x));
  }

 private:
  std::vector<int32_t> values_;
};

// A number as a byte, or a sum as 32 bits; what lies beyond is clamped.
template <typename T>
T Saturate(float x) {
  const auto low = static_cast<float>(std::numeric_limits<T>::lowest());
  const auto high = static_cast<float>(std::numeric_limits<T>::max());
  return static_cast<T>(std::nearbyint(x >= low ? std::min(x, high) : low));
}

}  // namespace tessera

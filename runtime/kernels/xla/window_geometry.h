// How windows lie over an operand.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/xla/element_function.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

inline constexpr int64_t kMaxWindowExtent = int64_t{1} << 40;

// All vectors have the rank of the operand.
struct WindowGeometry {
  std::vector<int64_t> operand, strides_of_operand, window, strides, base_dilations,
      window_dilations, low, high;
  std::vector<int64_t> result;

  // Computes the shape of the result. Errors: INVALID_ARGUMENT for extents that make no sense.
  absl::Status Complete(const Shape& shape) {
    const int rank = shape.rank();
    operand.assign(shape.dims().begin(), shape.dims().end());
    strides_of_operand.assign(rank, 1);
    for (int d = rank - 2; d >= 0; --d) {
      strides_of_operand[d] = strides_of_operand[d + 1] * operand[d + 1];
    }
    result.resize(rank);
    for (int d = 0; d < rank; ++d) {
      for (int64_t extent : {window[d], strides[d], base_dilations[d], window_dilations[d]}) {
        if (extent < 1 || extent > kMaxWindowExtent) return Wrong(d);
      }
      for (int64_t padding : {low[d], high[d]}) {
        if (padding < -kMaxWindowExtent || padding > kMaxWindowExtent) return Wrong(d);
      }
      if ((operand[d] > 0 && operand[d] - 1 > kMaxWindowExtent / base_dilations[d]) ||
          window[d] - 1 > kMaxWindowExtent / window_dilations[d]) {
        return Wrong(d);
      }
      const int64_t dilated = operand[d] == 0 ? 0 : (operand[d] - 1) * base_dilations[d] + 1;
      const int64_t padded = low[d] + dilated + high[d];
      const int64_t reach = (window[d] - 1) * window_dilations[d] + 1;
      result[d] = padded < reach ? 0 : (padded - reach) / strides[d] + 1;
    }
    return Shape::Make(window).status();
  }

  static absl::Status Wrong(int d) {
    return absl::InvalidArgumentError(
        absl::StrCat("the window has no valid extent in dimension ", d));
  }

  // The elements of the operand that the windows have at `offset`, one a window; -1 for padding.
  std::vector<int64_t> ElementsAt(const std::vector<int64_t>& offset, int64_t count) const {
    std::vector<int64_t> elements;
    if (count == 0) return elements;
    elements.reserve(count);
    std::vector<int64_t> index(result.size(), 0);
    do {
      int64_t position = 0;
      for (size_t d = 0; d < result.size() && position >= 0; ++d) {
        const int64_t place = index[d] * strides[d] + offset[d] * window_dilations[d] - low[d];
        const int64_t i = place / base_dilations[d];
        const bool is_element = place >= 0 && place % base_dilations[d] == 0 && i < operand[d];
        position = is_element ? position + i * strides_of_operand[d] : -1;
      }
      elements.push_back(position);
    } while (Step(result, &index));
    return elements;
  }
};

// Splits [rank, 2] paddings.
inline absl::Status ReadPadding(const Tensor& padding, int rank, WindowGeometry* geometry) {
  ASSIGN_OR_RETURN(const std::vector<int64_t> values, ReadInts(padding, 2 * rank, "padding"));
  for (int d = 0; d < rank; ++d) {
    geometry->low.push_back(values[2 * d]);
    geometry->high.push_back(values[2 * d + 1]);
  }
  return absl::OkStatus();
}

}  // namespace tessera

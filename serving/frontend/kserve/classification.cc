#include "serving/frontend/kserve/classification.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/base/status.h"
#include "serving/frontend/kserve/number_types.h"

namespace tessera::serving {
namespace {

template <typename T>
std::vector<int64_t> LargestFirst(absl::Span<const T> scores, size_t count) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  const auto before = [&](int64_t a, int64_t b) {
    if constexpr (!std::is_integral_v<T>) {
      const bool a_is_nan = std::isnan(static_cast<double>(scores[a]));
      const bool b_is_nan = std::isnan(static_cast<double>(scores[b]));
      if (a_is_nan != b_is_nan) return b_is_nan;
      if (a_is_nan) return a < b;
    }
    if (scores[a] != scores[b]) return scores[a] > scores[b];
    return a < b;
  };
  std::partial_sort(order.begin(), order.begin() + static_cast<int64_t>(count), order.end(),
                    before);
  order.resize(count);
  return order;
}

template <typename T>
std::string ValueText(T value) {
  if constexpr (std::is_integral_v<T>) {
    return absl::StrCat(value, ".000000");
  } else {
    return absl::StrFormat("%f", static_cast<double>(value));
  }
}

}  // namespace

absl::Status CheckClassification(absl::string_view output, DType dtype) {
  if (WithNumberType(dtype, []<typename T>() {})) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("output '", output, "' cannot be classified: its ",
                                                 "elements are of type ", DTypeName(dtype)));
}

absl::StatusOr<Tensor> Classification(const Tensor& scores, int64_t classes) {
  const int64_t count = std::min(classes, scores.num_elements());
  ASSIGN_OR_RETURN(Tensor result, Tensor::Allocate(DType::kString, Shape{count}));
  const absl::Span<std::string> texts = result.flat<std::string>();
  WithNumberType(scores.dtype(), [&]<typename T>() {
    const absl::Span<const T> values = scores.flat<T>();
    size_t i = 0;
    for (const int64_t index : LargestFirst(values, static_cast<size_t>(count))) {
      texts[i++] = absl::StrCat(ValueText(values[index]), ":", index);
    }
  });
  return result;
}

}  // namespace tessera::serving

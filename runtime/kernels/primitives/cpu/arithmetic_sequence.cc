#include "runtime/kernels/primitives/arithmetic_sequence.h"

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

absl::Status RunArithmeticSequence(KernelContext&, const Tensor& start, const Tensor& step,
                                   Tensor* y) {
  return VisitRealType(y->dtype(), [&]<typename T>() -> absl::Status {
    // The type in which elements are computed: float for narrow floats.
    using C = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>;
    const C first = static_cast<C>(start.scalar<T>());
    const C distance = static_cast<C>(step.scalar<T>());
    const int64_t count = y->num_elements();
    T* const out = y->data<T>();
    int64_t done = 0;
    if constexpr (sizeof(C) == 4) {
      // The conversion of an index is vectorised if the index fits in 32 bits.
      done = std::min<int64_t>(count, INT32_MAX);
      for (int32_t i = 0; i < static_cast<int32_t>(done); ++i) {
        out[i] = static_cast<T>(first + static_cast<C>(i) * distance);
      }
    }
    for (int64_t i = done; i < count; ++i) {
      out[i] = static_cast<T>(first + static_cast<C>(i) * distance);
    }
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(ArithmeticSequence, kCpu, RunArithmeticSequence);

}  // namespace
}  // namespace tessera

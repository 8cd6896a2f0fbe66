#include "runtime/kernels/primitives/arithmetic_sequence.h"

#include <algorithm>
#include <cstdint>

#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

absl::Status RunArithmeticSequence(KernelContext&, const Tensor& start, const Tensor& step,
                                   Tensor* y) {
  return VisitRealType(y->dtype(), [&]<typename T>() -> absl::Status {
    const T first = start.scalar<T>();
    const T distance = step.scalar<T>();
    const int64_t count = y->num_elements();
    T* const out = y->data<T>();
    int64_t done = 0;
    if constexpr (sizeof(T) == 4) {
      // The conversion of an index is vectorised if the index fits in 32 bits.
      done = std::min<int64_t>(count, INT32_MAX);
      for (int32_t i = 0; i < static_cast<int32_t>(done); ++i) {
        out[i] = first + static_cast<T>(i) * distance;
      }
    }
    for (int64_t i = done; i < count; ++i) {
      out[i] = static_cast<T>(first + static_cast<T>(i) * distance);
    }
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(ArithmeticSequence, kCpu, RunArithmeticSequence);

}  // namespace
}  // namespace tessera

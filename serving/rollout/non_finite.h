// CheckFiniteness: whether there is a NaN or an infinity in an answer.
#pragma once

#include <cstdint>

#include "absl/types/span.h"
#include "runtime/tensor/tensor.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// The most elements of an answer that are looked at: its first ones. That many floats take 6 us.
inline constexpr int64_t kMaxCheckedElements = 64 << 10;

enum class Finiteness {
  kNotChecked,  // there are no floating-point numbers in the answer
  kFinite,
  kNonFinite,
};

// Looks at the outputs of half, bfloat16, float, double and complex numbers, in their order.
Finiteness CheckFiniteness(absl::Span<const NamedOutput> outputs);

}  // namespace tessera::serving

// What gradients do with variants: zeros of the same form, and sums.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// Returns a tensor list or a ragged tensor of the same shapes whose numbers are zero.
// Errors: INVALID_ARGUMENT for another value.
absl::StatusOr<Variant> ZerosLikeVariant(const Variant& variant, Allocator* allocator);

// Returns the sum of two tensor lists or of two ragged tensors, element by element. Works in the
// list of `a` if nobody else holds it. Errors: INVALID_ARGUMENT for other values, and for different
// lengths, dtypes, splits or shapes.
absl::StatusOr<Variant> AddVariants(Variant a, const Variant& b, Allocator* allocator);

}  // namespace tessera

// Arithmetic of variants for gradients: zeros of the same form, and sums.
#pragma once

#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/tensor/variant.h"

namespace tessera {

// Returns a tensor list, in memory of the kernel's device, or a ragged tensor or an optional, on
// the host, of the same shapes whose numbers are zero. An empty variant stands for zeros itself.
// Errors: INVALID_ARGUMENT for another value.
absl::StatusOr<Variant> ZerosLikeVariant(KernelContext& ctx, const Variant& variant);

// Returns the sum of two tensor lists, ragged tensors or optionals, element by element; the other
// one if a variant is empty. Works in the list of `a` if nobody else holds it. Elements of lists
// are added by `add_n` of the kernel's device, the others on the host, where they lie. Errors:
// INVALID_ARGUMENT for other values, for different lengths, dtypes, splits or shapes, and for two
// optionals of which one has an element.
absl::StatusOr<Variant> AddVariants(KernelContext& ctx, AddN::Function* add_n, Variant a,
                                    const Variant& b);

}  // namespace tessera

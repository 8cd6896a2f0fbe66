// Tensors that lists and arrays hold as their elements, in the memory of whatever device the
// kernel runs on.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/framework/kernel.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/add_n.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// For REGISTER_KERNEL: the CPU for elements of any dtype, and every other device for those that its
// memory can hold (see DevicesOf in primitive.h).
inline constexpr KernelDevices::Predicate kDevicesOfElements = [](absl::string_view /*type*/) {
  return true;
};

// Returns `tensor` in the memory in which the kernel's device keeps its dtype: the tensor itself if
// it lies there, else a copy, which is enqueued. An element lies elsewhere if it was put into its
// list on the host.
absl::StatusOr<Tensor> OnDevice(KernelContext& ctx, const Tensor& tensor);

// Returns zeros in the memory in which the kernel's device keeps the dtype.
absl::StatusOr<Tensor> ZerosOf(KernelContext& ctx, DType dtype, const Shape& shape);

// Copies the rows of `from`, or one row if it has a dimension less than `*to`, to those of `*to`
// from `row` on. `*to` lies in the memory of the kernel's device, `from` there or on the host.
void CopyToRows(KernelContext& ctx, const Tensor& from, int64_t row, Tensor* to);
// Sets `count` rows of `*to`, which lies in the memory of the kernel's device, to zeros.
void ZeroRows(KernelContext& ctx, int64_t row, int64_t count, Tensor* to);

// Returns the sum of two tensors of one dtype and shape, in the memory of `a` if nobody else holds
// it. Errors: UNIMPLEMENTED for a dtype that is no number; those of allocating memory.
absl::StatusOr<Tensor> AddElements(KernelContext& ctx, AddN::Function* add_n, Tensor a,
                                   const Tensor& b);

}  // namespace tessera

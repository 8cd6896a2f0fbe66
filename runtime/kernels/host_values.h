// Tensors of values which the host computed, for all that is no output: elements of datasets,
// arguments of functions, constants of kernels.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// Returns a scalar in memory of `allocator`, which must be the host's.
// Errors: RESOURCE_EXHAUSTED.
template <typename T>
absl::StatusOr<Tensor> ScalarIn(Allocator* allocator, T value) {
  absl::StatusOr<Tensor> scalar = Tensor::Allocate(DTypeOf<T>, Shape(), allocator);
  if (scalar.ok()) *scalar->data<T>() = std::move(value);
  return scalar;
}

// Returns a vector in memory of `allocator`, which must be the host's.
// Errors: RESOURCE_EXHAUSTED.
template <typename T>
absl::StatusOr<Tensor> VectorIn(Allocator* allocator, absl::Span<const T> values) {
  absl::StatusOr<Tensor> vector =
      Tensor::Allocate(DTypeOf<T>, Shape{static_cast<int64_t>(values.size())}, allocator);
  if (vector.ok()) std::copy(values.begin(), values.end(), vector->data<T>());
  return vector;
}
template <typename T>
absl::StatusOr<Tensor> VectorIn(Allocator* allocator, std::initializer_list<T> values) {
  return VectorIn(allocator, absl::MakeConstSpan(values.begin(), values.size()));
}

// Returns the allocator of host memory of the kernel's device, for the constructor of the kernel.
// Never null.
inline Allocator* HostAllocatorOf(const KernelBuild& build) {
  Device* const device = build.device();
  return device == nullptr ? HeapAllocator() : device->allocator(MemoryKind::kHost);
}

// Returns a scalar in host memory of the kernel's device, for the constructor of the kernel. If
// memory runs out, records the error and returns a tensor without a value.
template <typename T>
Tensor ConstantScalar(const KernelBuild& build, T value) {
  absl::StatusOr<Tensor> scalar = ScalarIn(HostAllocatorOf(build), std::move(value));
  if (!scalar.ok()) build.Fail(scalar.status());
  return scalar.ok() ? *std::move(scalar) : Tensor();
}

}  // namespace tessera

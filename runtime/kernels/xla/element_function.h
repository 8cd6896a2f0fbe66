// Functions of scalars that kernels apply to many elements.
#pragma once

#include <vector>

#include "runtime/framework/kernel.h"

namespace tessera {

// A function of scalars, such as the reducer of XlaReduce. One of element-wise ops alone, which the
// attribute `_elementwise` of the node tells (runtime/optimize/mark_element_functions.h), is called
// once with vectors. Any other, and one that does not give vectors then, is called for one element
// at a time. The inputs `captured` of a node that has them are further arguments of each call.
// Thread-safe.
class ElementFunction {
 public:
  ElementFunction(const KernelBuild& build, absl::string_view attr);

  // Applies the function to each position of `args`, which are vectors of one length. *results gets
  // vectors of that length.
  // Errors: INVALID_ARGUMENT if the results are no scalars of `types`; those of the function.
  absl::Status Apply(KernelContext& ctx, const std::vector<Tensor>& args,
                     absl::Span<const DType> types, std::vector<Tensor>* results) const;

 private:
  // The values captured, which are the last inputs of the node.
  std::vector<Tensor> Captured(KernelContext& ctx) const;
  absl::Status ApplyToEach(KernelContext& ctx, const std::vector<Tensor>& args,
                           const std::vector<Tensor>& captured, absl::Span<const DType> types,
                           std::vector<Tensor>* results) const;

  const CallableFunction* const function_;
  const bool is_elementwise_;
  const int num_captured_;
};

// A vector with element `source[i]` of `tensor` at position i; a negative number stands for the
// scalar `missing`.
absl::StatusOr<Tensor> Pick(KernelContext& ctx, const Tensor& tensor,
                            absl::Span<const int64_t> source, const Tensor* missing = nullptr);
// A vector with `count` copies of a scalar.
absl::StatusOr<Tensor> Repeated(KernelContext& ctx, const Tensor& scalar, int64_t count);
// Writes element i of the vector `values` to position `target[i]` of `tensor`.
void Put(const Tensor& values, absl::Span<const int64_t> target, Tensor* tensor);

// Steps a multi-dimensional index to the next one in row-major order. False at the end.
bool Step(absl::Span<const int64_t> dims, std::vector<int64_t>* index);

// Reads an int32 or int64 tensor of `count` elements.
// Errors: INVALID_ARGUMENT, naming it.
absl::StatusOr<std::vector<int64_t>> ReadInts(const Tensor& tensor, int64_t count,
                                              absl::string_view name);

}  // namespace tessera

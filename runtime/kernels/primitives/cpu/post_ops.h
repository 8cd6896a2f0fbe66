// How the CPU applies post-ops.
#pragma once

#include <cstring>

#include "runtime/kernels/primitives/cpu/epilogue.h"
#include "runtime/kernels/primitives/post_ops.h"

namespace tessera {

// Returns the epilogue for `post_ops`. An activation that is not a clamp is left out. `bias` is
// null or has one element for each column.
Epilogue ClampEpilogue(const PostOps& post_ops, const float* bias);

// Returns the activation of one value.
double Apply(Activation activation, float alpha, double x);

// Stores a row of `count` sums with the post-ops applied. `bias` is null unless post_ops.bias.
void ApplyPostOps(const PostOps& post_ops, const float* sums, const float* bias, int64_t count,
                  float* out);

// Copies the tensor that is added to the product into `output`, unless it is there already.
inline void CopyAddend(const PostOpInputs& inputs, Tensor* output) {
  if (inputs.addend == nullptr || inputs.addend->raw() == output->raw()) return;
  std::memcpy(output->mutable_raw(), inputs.addend->raw(), output->size_bytes());
}

}  // namespace tessera

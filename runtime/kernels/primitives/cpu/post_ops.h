// The operations fused after a product or convolution.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/cpu/activation.h"
#include "runtime/kernels/primitives/cpu/epilogue.h"

namespace tessera {

// The bias comes first, then the addition of a tensor of the output's shape, then the activation.
struct PostOps {
  bool bias = false;
  bool add = false;
  Activation activation = Activation::kNone;
  float alpha = 0;  // of kLeakyRelu

  // Parses the `fused_ops` attribute of _FusedConv2D and _FusedMatMul, for example {"BiasAdd",
  // "Add", "Relu"}. Errors: UNIMPLEMENTED, naming the unknown operation or sequence.
  static absl::StatusOr<PostOps> Parse(const std::vector<std::string>& fused_ops, float alpha);
};

// Returns the epilogue for `post_ops`. An activation that is not a clamp is left out. `bias` is
// null or has one element for each column.
Epilogue ClampEpilogue(const PostOps& post_ops, const float* bias);

// Returns the activation of one value.
double Apply(Activation activation, float alpha, double x);

// Stores a row of `count` sums with the post-ops applied. `bias` is null unless post_ops.bias.
void ApplyPostOps(const PostOps& post_ops, const float* sums, const float* bias, int64_t count,
                  float* out);

}  // namespace tessera

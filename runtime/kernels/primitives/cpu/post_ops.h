// What a fused kernel does to each result before it is stored.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/cpu/activation.h"
#include "runtime/kernels/primitives/cpu/ending.h"

namespace tessera {

// Bias first, then the addition of a tensor like the output, then the activation.
struct PostOps {
  bool bias = false;
  bool add = false;
  Activation activation = Activation::kNone;
  float alpha = 0;  // of kLeakyRelu

  // From the `fused_ops` attribute of _FusedConv2D and _FusedMatMul: {"BiasAdd", "Add", "Relu"}.
  // Errors: UNIMPLEMENTED naming an operation or a sequence that is not known.
  static absl::StatusOr<PostOps> Parse(const std::vector<std::string>& fused_ops, float alpha);
};

// What a loop of our own does to a sum, all but an activation that does not clamp. `bias` is null
// or has an element for each column.
Ending EndingOf(const PostOps& post_ops, const float* bias);

// The activation of one value.
double Apply(Activation activation, float alpha, double x);

}  // namespace tessera

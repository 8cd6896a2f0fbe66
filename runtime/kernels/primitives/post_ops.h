// The operations fused after a matrix product or convolution.
#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/kernels/primitives/activation.h"
#include "runtime/tensor/tensor.h"

namespace tessera {

// The bias comes first, then the addition of a tensor of the output's shape, then the activation.
struct PostOps {
  bool bias = false;
  bool add = false;
  Activation activation = Activation::kNone;
  float alpha = 0;  // used by kLeakyRelu

  // Parses the `fused_ops` attribute of _FusedConv2D and _FusedMatMul, for example {"BiasAdd",
  // "Add", "Relu"}. Errors: UNIMPLEMENTED, naming the unknown operation or sequence.
  static absl::StatusOr<PostOps> Parse(absl::Span<const std::string> fused_ops, float alpha);

  friend bool operator==(const PostOps&, const PostOps&) = default;
};

// The tensors that post-ops read, of the output's dtype.
struct PostOpInputs {
  // One element for each column or output channel. Null unless PostOps::bias.
  const Tensor* bias = nullptr;
  // Has the output's shape, and may be the output itself. Null unless PostOps::add.
  const Tensor* addend = nullptr;
};

}  // namespace tessera

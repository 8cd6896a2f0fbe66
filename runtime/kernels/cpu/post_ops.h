// What a fused kernel does to each result before it is stored.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace tessera {

enum class Activation {
  kNone,
  kRelu,
  kRelu6,
  kElu,
  kLeakyRelu,  // alpha
  kTanh,
  kSigmoid,
  kGeluErf,
  kGeluTanh,
};

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

// The activation of one value.
double Apply(Activation activation, float alpha, double x);

}  // namespace tessera

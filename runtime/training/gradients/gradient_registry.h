// The gradients of ops, one registration each, in the files <family>_gradients.cc.
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/training/gradients/gradient_op.h"

namespace tessera {

using GradientFunction = void (*)(GradientOp& op);

// Registers the formula of an op:
//   REGISTER_GRADIENT("Sin", [](GradientOp& op) { op.Set(0, op.dy() * Call("Cos", {op.in(0)})); });
#define REGISTER_GRADIENT(name, ...) TESSERA_REGISTER_GRADIENT(__COUNTER__, name, __VA_ARGS__)
// Registers that no gradient flows through an op: its outputs count as constants.
#define REGISTER_NO_GRADIENT(name) TESSERA_REGISTER_GRADIENT(__COUNTER__, name, nullptr)

// Returns true if the op has a gradient, or is registered as one through which none flows. Then
// *function is its formula, and null for the latter. Thread-safe.
bool FindGradient(absl::string_view op, GradientFunction* function);

// Implementation of the macros.
struct GradientRegistration {
  GradientRegistration(absl::string_view op, GradientFunction function);
};
#define TESSERA_REGISTER_GRADIENT(counter, ...) TESSERA_REGISTER_GRADIENT_AS(counter, __VA_ARGS__)
#define TESSERA_REGISTER_GRADIENT_AS(counter, ...)                             \
  static const ::tessera::GradientRegistration gradient_registration_##counter \
      [[maybe_unused]] (__VA_ARGS__)

}  // namespace tessera

// One step of an optimizer on a variable and its slots, in one pass over them.
#pragma once

#include <array>
#include <complex>
#include <cstdint>

#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The update rules. Each comment gives the slots; the scalars, in the order of
// OptimizerStep::scalars; and what `variant` selects. g is the gradient.
enum class OptimizerRule : uint8_t {
  // -; lr
  kGradientDescent,
  // accumulator; lr, momentum; variant: Nesterov
  kMomentum,
  // Like kMomentum, with the learning rate inside the accumulator, as in Keras.
  kKerasMomentum,
  // Sum of g^2; lr, epsilon; variant: the slot is updated
  kAdagrad,
  // Sum of g, sum of g^2; lr, l1, l2, the number of the step, 1 if the update is one of rows of
  // several elements and else 0
  kAdagradDa,
  // Mean of g^2, mean of squared updates; lr, rho, epsilon
  kAdadelta,
  // First moment, second moment; lr, beta1, beta2, epsilon, beta1^t, beta2^t; variant: Nesterov
  kAdam,
  // The slots of kAdam and the largest second moment; the scalars of kAdam
  kAdamWithAmsgrad,
  // First moment, infinity norm; lr, beta1, beta2, epsilon, beta1^t
  kAdaMax,
  // Mean of g^2, momentum; lr, rho, momentum, epsilon
  kRmsProp,
  // Mean of g, mean of g^2, momentum; lr, rho, momentum, epsilon
  kCenteredRmsProp,
  // Sum of g^2, linear term; lr, l1, l2, power of the learning rate, l2 shrinkage, 1 if the update
  // is sparse and else 0; variant: the linear term is scaled by lr
  kFtrl,
  // Sum of g^2; lr, l1, l2
  kProximalAdagrad,
  // -; lr, l1, l2
  kProximalGradientDescent,
  // Mean of g; lr, alpha, decay of the sign, beta
  kAddSign,
  // Mean of g; lr, base of the exponential, decay of the sign, beta
  kPowerSign,
};

inline constexpr int kMaxOptimizerScalars = 6;
inline constexpr int kMaxOptimizerSlots = 3;

// One step, without its tensors. Scalars of real dtypes have no imaginary part.
struct OptimizerStep {
  OptimizerRule rule = OptimizerRule::kGradientDescent;
  bool variant = false;
  std::array<std::complex<double>, kMaxOptimizerScalars> scalars{};
  // Scalars that lie in the memory of a device, which reads them when it takes the step; null for
  // those that `scalars` holds. Each is a number of the dtype of the variable, or an integer.
  std::array<const Tensor*, kMaxOptimizerScalars> on_device{};
};

struct OptimizerUpdate {
  // Updates `variable` and its slots in place; slots that the rule does not have are null. All
  // tensors have one dtype: half, bfloat16, float or double, or a complex dtype for rules that do
  // not compare numbers. The variable and its slots have one shape and share no memory.
  //
  // Without `indices`, the gradient has the shape of the variable. With them, a vector of int32 or
  // int64, row i of the gradient belongs to row indices[i] of the variable, whose other rows stay
  // as they are; a row whose index occurs several times is updated each time, in order.
  //
  // The CPU rounds half and bfloat16 after each step, as TensorFlow does. Errors: INVALID_ARGUMENT
  // for an index that is out of range, before anything is written; UNIMPLEMENTED for another dtype.
  using Function = absl::Status(KernelContext& ctx, const OptimizerStep& step,
                                const Tensor& gradient, const Tensor* indices, Tensor* variable,
                                Tensor* slot0, Tensor* slot1, Tensor* slot2);
};

}  // namespace tessera

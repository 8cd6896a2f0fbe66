#include "runtime/kernels/primitives/cpu/optimizer_narrow_loops.h"

#include "runtime/kernels/primitives/cpu/optimizer_row_loop.h"
#include "runtime/kernels/primitives/cpu/rounded_float.h"

namespace tessera {

// TensorFlow multiplies by the reciprocal of the root where there is no epsilon.
template <typename Storage>
Rounded<Storage> OverRoot(Rounded<Storage> x, Rounded<Storage> y, Rounded<Storage> epsilon) {
  const Rounded<Storage> reciprocal = 1 / std::sqrt(y.value());
  return epsilon == 0 ? x * reciprocal : x / (Sqrt(y) + epsilon);
}

OptimizerLoop NarrowOptimizerLoop(DType dtype, OptimizerRule rule, bool variant) {
  return dtype == DType::kHalf ? optimizers::LoopOf<Rounded<Eigen::half>>(rule, variant)
                               : optimizers::LoopOf<Rounded<Eigen::bfloat16>>(rule, variant);
}

}  // namespace tessera

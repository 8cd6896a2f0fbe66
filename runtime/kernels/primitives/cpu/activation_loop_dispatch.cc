#include "runtime/kernels/primitives/cpu/activation_loop.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"

namespace tessera {

ActivationLoop ActivationLoopOf(Activation activation) {
  static const auto loop_of = HasAvx512() ? avx512::ActivationLoopOf : avx2::ActivationLoopOf;
  return loop_of(activation);
}

}  // namespace tessera

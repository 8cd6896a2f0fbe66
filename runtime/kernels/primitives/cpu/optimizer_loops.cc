#include "runtime/kernels/primitives/cpu/optimizer_loops.h"

// The namespace of this instruction set.
#ifdef __AVX512F__
#define TESSERA_VECTOR_ABI avx512
#else
#define TESSERA_VECTOR_ABI avx2
#endif
#include "runtime/kernels/primitives/cpu/optimizer_row_loop.h"

namespace tessera::TESSERA_VECTOR_ABI {
namespace {

template <typename T>
OptimizerLoop LoopOf(OptimizerRule rule, bool variant) {
  switch (rule) {
    case OptimizerRule::kAdagradDa:
      return optimizers::UpdateRows<optimizers::AdagradDa<T>, T>;
    case OptimizerRule::kAdamWithAmsgrad:
      return optimizers::UpdateRows<optimizers::AdamWithAmsgrad<T>, T>;
    case OptimizerRule::kAdaMax:
      return optimizers::UpdateRows<optimizers::AdaMax<T>, T>;
    case OptimizerRule::kFtrl:
      return variant ? optimizers::FtrlRows<T, true> : optimizers::FtrlRows<T, false>;
    case OptimizerRule::kProximalAdagrad:
      return optimizers::UpdateRows<optimizers::ProximalAdagrad<T>, T>;
    case OptimizerRule::kProximalGradientDescent:
      return optimizers::UpdateRows<optimizers::ProximalGradientDescent<T>, T>;
    case OptimizerRule::kAddSign:
      return optimizers::UpdateRows<optimizers::AddSign<T>, T>;
    case OptimizerRule::kPowerSign:
      return optimizers::UpdateRows<optimizers::PowerSign<T>, T>;
    default:
      return optimizers::LoopOfUnordered<T>(rule, variant);
  }
}

}  // namespace

OptimizerLoop FloatOptimizerLoop(OptimizerRule rule, bool variant) {
  return LoopOf<float>(rule, variant);
}

OptimizerLoop DoubleOptimizerLoop(OptimizerRule rule, bool variant) {
  return LoopOf<double>(rule, variant);
}

}  // namespace tessera::TESSERA_VECTOR_ABI

#include "runtime/kernels/primitives/arithmetic_sequence.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"

namespace tessera::cuda {
namespace {

template <typename A>
__global__ void WriteSequence(int64_t count, A start, A step, Output<A> y) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    y.Set(i, start + static_cast<A>(i) * step);
  }
}

absl::Status RunArithmeticSequence(KernelContext& ctx, const Tensor& start, const Tensor& step,
                                   Tensor* y) {
  const int64_t count = y->num_elements();
  return VisitComputeType<kReal>(y->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, WriteSequence<A>, count, Input<A>(start)[0], Input<A>(step)[0],
                       Output<A>(y));
  });
}
REGISTER_CUDA_PRIMITIVE(ArithmeticSequence, RunArithmeticSequence);

}  // namespace
}  // namespace tessera::cuda

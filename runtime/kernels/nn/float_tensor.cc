#include "runtime/kernels/nn/float_tensor.h"

#include <algorithm>

#include "Eigen/Core"
#include "runtime/base/status.h"

namespace tessera {

absl::StatusOr<Tensor> FloatInput(KernelContext& ctx, int i) {
  const Tensor& input = ctx.input(i);
  if (input.dtype() == DType::kFloat) return input;
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, input.shape()));
  std::copy_n(input.data<Eigen::half>(), input.num_elements(), wide.data<float>());
  return wide;
}

absl::StatusOr<Tensor> FloatOutput(KernelContext& ctx, int i, const Shape& shape) {
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, shape));
  if (output->dtype() == DType::kFloat) return *output;
  return ctx.AllocateTemp(DType::kFloat, shape);
}

void StoreOutput(KernelContext& ctx, int i, const Tensor& value) {
  Tensor& output = ctx.output(i);
  if (output.dtype() == DType::kFloat) return;
  std::transform(value.data<float>(), value.data<float>() + value.num_elements(),
                 output.data<Eigen::half>(), [](float x) { return static_cast<Eigen::half>(x); });
}

}  // namespace tessera

#include "runtime/kernels/primitives/fill.h"

#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

absl::Status RunFill(KernelContext& ctx, const Tensor* value, Tensor* output) {
  const DType dtype = output->dtype();
  if (value == nullptr) {
    ZeroElements(dtype, output->mutable_raw(), output->num_elements());
    return absl::OkStatus();
  }
  const int64_t width = static_cast<int64_t>(DTypeSize(dtype));
  ctx.ParallelFor(
      output->num_elements(), 0.1 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        FillElements(dtype, value->raw(), output->mutable_raw() + begin * width, end - begin);
      });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Fill, kCpu, RunFill);

}  // namespace
}  // namespace tessera

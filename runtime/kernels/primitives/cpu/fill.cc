#include "runtime/kernels/primitives/fill.h"

#include <algorithm>

#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Returns true if the single element of `value` consists of zero bytes, so that memset() can write
// it.
bool IsZeroBits(const Tensor& value) {
  if (!IsTriviallyCopyable(value.dtype())) return false;
  const char* const bytes = value.raw();
  return std::all_of(bytes, bytes + DTypeSize(value.dtype()), [](char byte) { return byte == 0; });
}

absl::Status RunFill(KernelContext& ctx, const Tensor* value, Tensor* output) {
  const DType dtype = output->dtype();
  const int64_t width = static_cast<int64_t>(DTypeSize(dtype));
  if (value == nullptr || IsZeroBits(*value)) {
    ctx.ParallelFor(output->num_elements(), 0.02 * static_cast<double>(width),
                    [&](int64_t begin, int64_t end) {
                      ZeroElements(dtype, output->mutable_raw() + begin * width, end - begin);
                    });
    return absl::OkStatus();
  }
  ctx.ParallelFor(
      output->num_elements(), 0.1 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        FillElements(dtype, value->raw(), output->mutable_raw() + begin * width, end - begin);
      });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Fill, kCpu, RunFill);

}  // namespace
}  // namespace tessera

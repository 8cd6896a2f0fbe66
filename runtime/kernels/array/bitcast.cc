// Bitcast: the same bytes as elements of another dtype.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

// Wider elements become a last dimension of narrower ones, and the other way round. Shares the
// memory where it is aligned for the new dtype.
class BitcastKernel : public OpKernel {
 public:
  explicit BitcastKernel(const KernelBuild& build) : dtype_(build.attr<DType>("type")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int64_t from = static_cast<int64_t>(DTypeSize(input.dtype()));
    const int64_t to = static_cast<int64_t>(DTypeSize(dtype_));
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    if (from > to) {
      dims.push_back(from / to);
    } else if (from < to) {
      if (dims.empty() || dims.back() != to / from) {
        return absl::InvalidArgumentError(
            absl::StrCat("to make ", DTypeName(dtype_), " of ", DTypeName(input.dtype()),
                         ", the last dimension must be ", to / from, "; the shape is ",
                         input.shape().ToString()));
      }
      dims.pop_back();
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    if (input.num_elements() == 0) return ctx.AllocateOutput(0, shape).status();
    Tensor bytes = input;
    if (reinterpret_cast<uintptr_t>(input.address()) % to != 0) {
      ASSIGN_OR_RETURN(bytes, ctx.CopyOf(input));
    }
    const size_t offset = bytes.address() - bytes.buffer()->address();
    ctx.set_output(0, Tensor::View(dtype_, shape, bytes.buffer(), offset));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("Bitcast", kAnyDevice, BitcastKernel);

}  // namespace
}  // namespace tessera

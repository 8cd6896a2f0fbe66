// XlaDequantize: bytes that are packed into words become numbers of a range.
#include <algorithm>

#include "Eigen/Core"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// Input: words of four bytes, the first byte in the highest bits. Output: a number for each byte,
// so that the last axis is four times as long; with all axes in reverse order if `transpose_output`
// is set. Errors: INVALID_ARGUMENT for a scalar, and for another mode than MIN_COMBINED.
class DequantizeKernel final : public OpKernel {
 public:
  explicit DequantizeKernel(const KernelBuild& build)
      : min_(static_cast<Number>(build.attr<float>("min_range"))),
        level_(static_cast<Number>(
            (build.attr<float>("max_range") - build.attr<float>("min_range")) / 255.0f)),
        transposes_(build.attr<bool>("transpose_output")) {
    const auto mode = build.attr<std::string>("mode");
    if (mode == "MIN_COMBINED") return;
    build.Fail(
        absl::InvalidArgumentError(absl::StrCat("mode must be MIN_COMBINED, is '", mode, "'")));
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    const int rank = x.rank();
    if (rank == 0) return absl::InvalidArgumentError("the input must not be a scalar");
    IndexVector sizes(x.shape().dims().begin(), x.shape().dims().end());
    sizes.back() *= 4;
    IndexVector strides(rank), output_sizes = sizes;
    if (transposes_) std::reverse(output_sizes.begin(), output_sizes.end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(output_sizes));
    int64_t stride = 1;
    for (int i = 0; i < rank; ++i) {
      const int axis = transposes_ ? i : rank - 1 - i;
      strides[axis] = stride;
      stride *= sizes[axis];
    }
    ASSIGN_OR_RETURN(Tensor* const y, ctx.AllocateOutput(0, shape));
    const auto* const words = x.data<uint32_t>();
    auto* const out = y->data<Number>();
    ctx.ParallelFor(y->num_elements(), 4, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t rest = i, to = 0;
        for (int axis = rank - 1; axis >= 0; --axis) {
          to += rest % sizes[axis] * strides[axis];
          rest /= sizes[axis];
        }
        const uint32_t byte = words[i / 4] >> (24 - 8 * (i % 4)) & 0xff;
        out[to] = Number(static_cast<Number>(static_cast<float>(byte)) * level_) + min_;
      }
    });
    return absl::OkStatus();
  }

 private:
  using Number = Eigen::bfloat16;

  const Number min_, level_;  // every operation is rounded to bfloat16
  const bool transposes_;
};
REGISTER_KERNEL("XlaDequantize", kCpu, DequantizeKernel);

}  // namespace
}  // namespace tessera

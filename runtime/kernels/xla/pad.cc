// XlaPad: padding at the edges, which may be negative, and between elements.
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/xla/element_function.h"

namespace tessera {
namespace {

constexpr int64_t kMaxPadding = int64_t{1} << 40;
constexpr int64_t kMaxExtent = int64_t{1} << 62;  // of an operand without elements

class PadKernel final : public OpKernel {
 public:
  explicit PadKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int rank = input.rank();
    if (ctx.input(1).rank() != 0) {
      return absl::InvalidArgumentError("padding_value must be a scalar");
    }
    ASSIGN_OR_RETURN(const auto low, ReadInts(ctx.input(2), rank, "padding_low"));
    ASSIGN_OR_RETURN(const auto high, ReadInts(ctx.input(3), rank, "padding_high"));
    ASSIGN_OR_RETURN(const auto interior, ReadInts(ctx.input(4), rank, "padding_interior"));
    std::vector<int64_t> dims(rank);
    for (int d = 0; d < rank; ++d) {
      const int64_t extent = input.dim(d);
      const auto is_wrong = [](int64_t padding) {
        return padding < -kMaxPadding || padding > kMaxPadding;
      };
      if (is_wrong(low[d]) || is_wrong(high[d]) || interior[d] < 0 || interior[d] > kMaxPadding ||
          extent > kMaxExtent || (extent > 1 && interior[d] > kMaxPadding / extent)) {
        return absl::InvalidArgumentError(absl::StrCat("the padding of dimension ", d, " is ",
                                                       low[d], ", ", high[d], ", ", interior[d]));
      }
      dims[d] = low[d] + high[d] + extent + (extent > 1 ? (extent - 1) * interior[d] : 0);
      if (dims[d] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("the padding leaves dimension ", d, " with extent ", dims[d]));
      }
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(0, shape));
    const int64_t count = shape.num_elements();
    if (count == 0) return absl::OkStatus();
    const size_t size = DTypeSize(input.dtype());
    char* const out = output->mutable_raw();
    for (int64_t i = 0; i < count; ++i) {
      CopyElements(input.dtype(), ctx.input(1).raw(), out + i * size, 1);
    }
    if (input.num_elements() == 0) return absl::OkStatus();
    std::vector<int64_t> index(rank, 0);
    const char* in = input.raw();
    do {
      int64_t position = 0;
      for (int d = 0; d < rank && position >= 0; ++d) {
        const int64_t place = low[d] + index[d] * (interior[d] + 1);
        position = place < 0 || place >= dims[d] ? -1 : position * dims[d] + place;
      }
      if (position >= 0) CopyElements(input.dtype(), in, out + position * size, 1);
      in += size;
    } while (Step(input.shape().dims(), &index));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("XlaPad", kCpu, PadKernel);

}  // namespace
}  // namespace tessera

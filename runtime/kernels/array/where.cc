// Where: the coordinates of the elements that are not zero.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Output [n, rank], in row-major order. NaN is not zero.
class WhereKernel : public OpKernel {
 public:
  explicit WhereKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() == 0) {
      return absl::InvalidArgumentError("a scalar has no positions: input must have dimensions");
    }
    if (input.dtype() == DType::kBool) return Run<bool>(ctx, input);
    return VisitNumericType(input.dtype(), [&]<typename T>() { return Run<T>(ctx, input); });
  }

 private:
  template <typename T>
  static absl::Status Run(KernelContext& ctx, const Tensor& input) {
    const auto values = input.flat<T>();
    int64_t count = 0;
    for (const T& value : values) count += value != T(0);
    const int rank = input.rank();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, {count, rank}));
    if (count == 0 || rank == 0) return absl::OkStatus();
    int64_t* out = output->data<int64_t>();
    // The coordinates but the last one are those of a row.
    const int64_t columns = input.dim(rank - 1);
    const int64_t rows = input.num_elements() / columns;
    IndexVector position(rank - 1, 0);
    for (int64_t row = 0; row < rows; ++row) {
      const T* const of_row = values.data() + row * columns;
      for (int64_t c = 0; c < columns; ++c) {
        if (of_row[c] == T(0)) continue;
        out = std::copy(position.begin(), position.end(), out);
        *out++ = c;
      }
      for (int d = rank - 2; d >= 0; --d) {
        if (++position[d] < input.dim(d)) break;
        position[d] = 0;
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Where", kCpu, WhereKernel);

}  // namespace
}  // namespace tessera

// Where values would stand in sorted rows: LowerBound, UpperBound.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless both inputs are matrices of as many rows, or for rows too long
// for the dtype of the result.
template <bool kUpper>
class SearchSortedKernel : public OpKernel {
 public:
  explicit SearchSortedKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& sorted = ctx.input(0);
    const Tensor& values = ctx.input(1);
    if (!sorted.shape().IsMatrix() || !values.shape().IsMatrix() ||
        sorted.dim(0) != values.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sorted rows and values must be matrices of as many rows, have shapes ",
                       sorted.shape().ToString(), " and ", values.shape().ToString()));
    }
    const int64_t columns = sorted.dim(1), wanted = values.dim(1);
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, values.shape()));
    if (out->dtype() == DType::kInt32 && columns > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat("rows of ", columns, " elements need an int64 result"));
    }
    return VisitRealType(values.dtype(), [&]<typename T>() {
      for (int64_t i = 0; i < values.num_elements(); ++i) {
        const T* const row = sorted.data<T>() + i / wanted * columns;
        const T value = values.data<T>()[i];
        const T* const found = kUpper ? std::upper_bound(row, row + columns, value)
                                      : std::lower_bound(row, row + columns, value);
        VisitIndexType(out->dtype(),
                       [&]<typename I>() { out->data<I>()[i] = static_cast<I>(found - row); });
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("LowerBound", kCpu, SearchSortedKernel<false>)
    .TypeConstraint("T", DTypeList(kReal));
REGISTER_KERNEL("UpperBound", kCpu, SearchSortedKernel<true>).TypeConstraint("T", DTypeList(kReal));

}  // namespace
}  // namespace tessera

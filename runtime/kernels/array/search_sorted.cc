// Where values would stand in sorted rows: LowerBound, UpperBound.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// How many elements of a sorted row are below `value`, or, for kUpper, not above it. The search
// looks at the middle of what is left, as TensorFlow's does, so that rows that are not sorted give
// the same numbers, and selects the half by arithmetic: half of the branches would be mispredicted.
// So would be the end of a search that stops when nothing is left, which takes a step more for some
// values than for others. All but the last of std::bit_width(columns) steps have something left.
template <bool kUpper, typename T>
int64_t CountBefore(const T* row, int64_t columns, int steps, T value) {
  const auto is_before = [value](T element) {
    return int64_t{kUpper ? !(value < element) : element < value};
  };
  int64_t first = 0;
  for (int step = 1; step < steps; ++step) {
    const int64_t half = columns / 2;
    const int64_t is_right = is_before(row[first + half]);
    first += -is_right & (half + 1);
    columns = half - (is_right & ~columns);  // of an even number, one less is on the right
  }
  // One element is left or none, behind which there may be no memory.
  return first + (columns & is_before(row[first - 1 + columns]));
}

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
      VisitIndexType(out->dtype(), [&]<typename I>() {
        if (columns == 0) {
          std::fill_n(out->data<I>(), out->num_elements(), I{0});
          return;
        }
        const int steps = std::bit_width(static_cast<uint64_t>(columns));
        ctx.ParallelFor(values.num_elements(), 10, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end;) {
            const int64_t r = i / wanted;
            const T* const row = sorted.data<T>() + r * columns;
            for (const int64_t stop = std::min(end, (r + 1) * wanted); i < stop; ++i) {
              out->data<I>()[i] =
                  static_cast<I>(CountBefore<kUpper>(row, columns, steps, values.data<T>()[i]));
            }
          }
        });
      });
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("LowerBound", kCpu, SearchSortedKernel<false>)
    .TypeConstraint("T", DTypeList(kReal));
REGISTER_KERNEL("UpperBound", kCpu, SearchSortedKernel<true>).TypeConstraint("T", DTypeList(kReal));

}  // namespace
}  // namespace tessera

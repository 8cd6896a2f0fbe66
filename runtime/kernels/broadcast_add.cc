#include "runtime/kernels/broadcast_add.h"

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Strides of `shape` under the broadcast shape `full`: 0 where it repeats.
absl::InlinedVector<int64_t, 6> StridesUnder(const Shape& shape, const Shape& full) {
  absl::InlinedVector<int64_t, 6> strides(full.rank(), 0);
  int64_t stride = 1;
  for (int i = shape.rank() - 1, at = full.rank() - 1; i >= 0; --i, --at) {
    strides[at] = shape.dim(i) == 1 ? 0 : stride;
    stride *= shape.dim(i);
  }
  return strides;
}

}  // namespace

absl::StatusOr<Tensor> BroadcastAdd(KernelContext& ctx, const Tensor& a, const Tensor& b) {
  ASSIGN_OR_RETURN(const Shape full, BroadcastShape(a.shape(), b.shape()));
  ASSIGN_OR_RETURN(Tensor sum, ctx.AllocateTemp(a.dtype(), full));
  const auto a_strides = StridesUnder(a.shape(), full), b_strides = StridesUnder(b.shape(), full);
  if (full.num_elements() == 0) return sum;
  const int last = full.rank() - 1;
  const int64_t columns = last < 0 ? 1 : full.dim(last);
  const int64_t a_step = last < 0 ? 0 : a_strides[last], b_step = last < 0 ? 0 : b_strides[last];
  RETURN_IF_ERROR(VisitRealType(a.dtype(), [&]<typename T>() {
    const auto add_rows = [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        int64_t a_at = 0, b_at = 0, rest = row;
        for (int d = last - 1; d >= 0; --d) {
          const int64_t at = rest % full.dim(d);
          rest /= full.dim(d);
          a_at += at * a_strides[d];
          b_at += at * b_strides[d];
        }
        const T *from_a = a.data<T>() + a_at, *from_b = b.data<T>() + b_at;
        T* const to = sum.data<T>() + row * columns;
        for (int64_t i = 0; i < columns; ++i) {
          to[i] = static_cast<T>(from_a[i * a_step] + from_b[i * b_step]);
        }
      }
    };
    const int64_t rows = full.num_elements() / columns;
    ctx.ParallelFor(rows, 10 + static_cast<double>(columns), add_rows);
    return absl::OkStatus();
  }));
  return sum;
}

}  // namespace tessera

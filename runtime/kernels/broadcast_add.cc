#include "runtime/kernels/broadcast_add.h"

#include "absl/container/inlined_vector.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/numeric_type.h"

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
  RETURN_IF_ERROR(VisitRealType(a.dtype(), [&]<typename T>() {
    for (int64_t i = 0; i < full.num_elements(); ++i) {
      int64_t a_at = 0, b_at = 0, rest = i;
      for (int d = full.rank() - 1; d >= 0; --d) {
        const int64_t at = rest % full.dim(d);
        rest /= full.dim(d);
        a_at += at * a_strides[d];
        b_at += at * b_strides[d];
      }
      sum.data<T>()[i] = static_cast<T>(a.data<T>()[a_at] + b.data<T>()[b_at]);
    }
    return absl::OkStatus();
  }));
  return sum;
}

}  // namespace tessera

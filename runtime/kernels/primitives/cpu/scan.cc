#include "runtime/kernels/primitives/scan.h"

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera {
namespace {

// Computes the running totals of `count` rows of `inner` elements each, which are `inner` elements
// apart.
template <typename R, typename T>
void Accumulate(const T* x, T* y, int64_t count, int64_t inner, const ScanOptions& options) {
  const R r{};
  const bool exclusive = options.exclusive;
  const int64_t step = options.reverse ? -inner : inner;
  int64_t row = options.reverse ? (count - 1) * inner : 0;
  if (inner == 1) {
    T total = R::template Neutral<T>();
    for (int64_t i = 0; i < count; ++i, row += step) {
      const T value = x[row];
      const T next = r.Add(total, value);
      y[row] = exclusive ? total : next;
      total = next;
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i, row += step) {
    T* const out = y + row;
    const T* const previous = out - step;
    if (i == 0) {
      const T start = R::template Neutral<T>();
      for (int64_t j = 0; j < inner; ++j) out[j] = exclusive ? start : r.Add(start, x[row + j]);
    } else {
      const T* const in = x + (exclusive ? row - step : row);
      for (int64_t j = 0; j < inner; ++j) out[j] = r.Add(previous[j], in[j]);
    }
  }
}

template <typename R, DTypeSet kTypes>
void ScanWith(KernelContext& ctx, const ScanOptions& options, const Tensor& x, Tensor* y) {
  const int64_t count = x.dim(options.axis);
  int64_t inner = 1;
  for (int d = options.axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
  const int64_t block = count * inner;
  ForEachType<kTypes & ~kNarrowFloat>([&]<typename T>(TypeTag<T>) {
    if (DTypeOf<T> != x.dtype()) return;
    const T* const in = x.data<T>();
    T* const out = y->data<T>();
    ctx.ParallelFor(x.num_elements() / block, static_cast<double>(block),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t o = begin; o < end; ++o) {
                        Accumulate<R>(in + o * block, out + o * block, count, inner, options);
                      }
                    });
  });
}

void ScanInOwnType(KernelContext& ctx, const ScanOptions& options, const Tensor& x, Tensor* y) {
  switch (options.kind) {
    case ScanKind::kSum:
      return ScanWith<reduce::Sum, kNumeric>(ctx, options, x, y);
    case ScanKind::kProd:
      return ScanWith<reduce::Prod, kNumeric>(ctx, options, x, y);
    case ScanKind::kLogSumExp:
      return ScanWith<reduce::LogSumExp, kFloating>(ctx, options, x, y);
  }
}

absl::Status RunScan(KernelContext& ctx, const ScanOptions& options, const Tensor& x, Tensor* y) {
  if (x.num_elements() == 0) return absl::OkStatus();
  if (!IsNarrowFloat(x.dtype())) {
    ScanInOwnType(ctx, options, x, y);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const Tensor wide, WidenToFloat(x, ctx.host_allocator()));
  ASSIGN_OR_RETURN(Tensor totals, ctx.AllocateTemp(DType::kFloat, x.shape()));
  ScanInOwnType(ctx, options, wide, &totals);
  NarrowFromFloat(totals, y);
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Scan, kCpu, RunScan);

}  // namespace
}  // namespace tessera

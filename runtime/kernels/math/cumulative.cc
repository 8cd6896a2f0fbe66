// Running totals along an axis: Cumsum, Cumprod, CumulativeLogsumexp.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

struct RunningSum {
  template <typename T>
  static T Start() {
    return T{0};
  }
  template <typename T>
  T operator()(T total, T x) const {
    return total + x;
  }
};
struct RunningProduct {
  template <typename T>
  static T Start() {
    return T{1};
  }
  template <typename T>
  T operator()(T total, T x) const {
    return total * x;
  }
};
// log(exp(total) + exp(x)), without overflow.
struct RunningLogSumExp {
  template <typename T>
  static T Start() {
    return -std::numeric_limits<T>::infinity();
  }
  template <typename T>
  T operator()(T total, T x) const {
    const T high = std::max(total, x), low = std::min(total, x);
    if (!(low > Start<T>())) return total != total || x != x ? total + x : high;
    return high + std::log1p(std::exp(low - high));
  }
};

// The running totals of `count` rows of `inner` elements each, `inner` elements apart, from the
// last row on if `reverse`; without the row itself if `exclusive`.
template <typename F, typename T>
void Accumulate(const T* x, T* y, int64_t count, int64_t inner, bool reverse, bool exclusive) {
  const F f{};
  const int64_t step = reverse ? -inner : inner;
  int64_t row = reverse ? (count - 1) * inner : 0;
  if (inner == 1) {
    T total = F::template Start<T>();
    for (int64_t i = 0; i < count; ++i, row += step) {
      const T value = x[row];
      const T next = f(total, value);
      y[row] = exclusive ? total : next;
      total = next;
    }
    return;
  }
  for (int64_t i = 0; i < count; ++i, row += step) {
    T* const out = y + row;
    const T* const previous = out - step;
    if (i == 0) {
      for (int64_t j = 0; j < inner; ++j) {
        out[j] = exclusive ? F::template Start<T>() : f(F::template Start<T>(), x[row + j]);
      }
    } else {
      const T* const in = x + (exclusive ? row - step : row);
      for (int64_t j = 0; j < inner; ++j) out[j] = f(previous[j], in[j]);
    }
  }
}

// Errors: INVALID_ARGUMENT for an axis out of range or that is no scalar.
template <typename F>
class CumulativeKernel : public OpKernel {
 public:
  explicit CumulativeKernel(const KernelBuild& build)
      : exclusive_(build.attr<bool>("exclusive")), reverse_(build.attr<bool>("reverse")) {}

  absl::Status Compute(KernelContext& ctx) override {
    Tensor x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'axis' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(1), x.rank(), "axis"));
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    if (!IsNarrowFloat(x.dtype())) return Run(ctx, x, axis, y);
    ASSIGN_OR_RETURN(x, WidenToFloat(x, ctx.host_allocator()));
    ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kFloat, x.shape()));
    RETURN_IF_ERROR(Run(ctx, x, axis, &wide));
    NarrowFromFloat(wide, y);
    return absl::OkStatus();
  }

 private:
  absl::Status Run(KernelContext& ctx, const Tensor& x, int axis, Tensor* y) const {
    const int64_t count = x.dim(axis), inner = DimProduct(x.shape(), axis + 1, x.rank());
    if (x.num_elements() == 0) return absl::OkStatus();
    constexpr DTypeSet kTypes = std::is_same_v<F, RunningLogSumExp> ? kFloating : kNumeric;
    absl::Status status = absl::UnimplementedError(DTypeName(x.dtype()));
    ForEachType<kTypes & ~kNarrowFloat>([&]<typename T>(TypeTag<T>) {
      if (DTypeOf<T> != x.dtype()) return;
      const T* const in = x.data<T>();
      T* const out = y->data<T>();
      ctx.ParallelFor(x.num_elements() / (count * inner), static_cast<double>(count * inner),
                      [&](int64_t begin, int64_t end) {
                        for (int64_t o = begin; o < end; ++o) {
                          Accumulate<F>(in + o * count * inner, out + o * count * inner, count,
                                        inner, reverse_, exclusive_);
                        }
                      });
      status = absl::OkStatus();
    });
    return status;
  }

  const bool exclusive_, reverse_;
};
REGISTER_KERNEL("Cumsum", kCpu, CumulativeKernel<RunningSum>)
    .TypeConstraint("T", DTypeList(kNumeric))
    .HostMemory("axis");
REGISTER_KERNEL("Cumprod", kCpu, CumulativeKernel<RunningProduct>)
    .TypeConstraint("T", DTypeList(kNumeric))
    .HostMemory("axis");
REGISTER_KERNEL("CumulativeLogsumexp", kCpu, CumulativeKernel<RunningLogSumExp>)
    .TypeConstraint("T", DTypeList(kFloating))
    .HostMemory("axis");

}  // namespace
}  // namespace tessera

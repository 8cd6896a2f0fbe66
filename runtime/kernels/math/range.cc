// Sequences of numbers: Range, LinSpace.
#include <algorithm>
#include <cmath>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/arithmetic_sequence.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Returns whether the tensor has one element and at most `max_rank` dimensions.
absl::Status CheckScalar(const Tensor& tensor, absl::string_view name, int max_rank) {
  if (tensor.num_elements() == 1 && tensor.rank() <= max_rank) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' must be a scalar, has shape ", tensor.shape().ToString()));
}

// How many steps of `delta` lead from `start` to before `limit`. The quotient is rounded to T, as
// TensorFlow's is: that tells whether a limit that is a multiple of the step is reached.
// Errors: INVALID_ARGUMENT for a zero step, one in the wrong direction, or too many.
template <typename T>
absl::StatusOr<int64_t> CountSteps(T start, T limit, T delta) {
  using Printed = std::conditional_t<std::is_integral_v<T>, T, double>;
  const auto text = [&] {
    return absl::StrCat(static_cast<Printed>(start), " to ", static_cast<Printed>(limit), " by ",
                        static_cast<Printed>(delta));
  };
  if (delta == T{0}) return absl::InvalidArgumentError("'delta' must not be 0");
  if (delta > T{0} ? start > limit : start < limit) {
    return absl::InvalidArgumentError(
        absl::StrCat("the steps of a range from ", text(), " lead away from its end"));
  }
  if constexpr (std::is_integral_v<T>) {
    // The distance may overflow T, but not its unsigned counterpart.
    using U = std::make_unsigned_t<T>;
    const U distance = delta > T{0} ? U(limit) - U(start) : U(start) - U(limit);
    const U step = delta > T{0} ? U(delta) : U{0} - U(delta);
    const uint64_t count = distance / step + (distance % step != 0 ? 1 : 0);
    if (count > static_cast<uint64_t>(INT64_MAX)) {
      return absl::InvalidArgumentError("the range has more elements than a tensor can");
    }
    return static_cast<int64_t>(count);
  } else {
    const T steps = static_cast<T>(static_cast<T>(limit - start) / delta);
    const double count = std::ceil(std::abs(static_cast<double>(steps)));
    if (!(count < 9e18)) {
      return absl::InvalidArgumentError(absl::StrCat("a range from ", text(), " has no end"));
    }
    return static_cast<int64_t>(count);
  }
}

// Returns the number of elements of the range from input 0 to input 1 by input 2.
absl::StatusOr<int64_t> CountElements(const KernelContext& ctx) {
  int64_t count = 0;
  RETURN_IF_ERROR(VisitRealType(ctx.input(0).dtype(), [&]<typename T>() -> absl::Status {
    ASSIGN_OR_RETURN(count, CountSteps(ctx.input(0).scalar<T>(), ctx.input(1).scalar<T>(),
                                       ctx.input(2).scalar<T>()));
    return absl::OkStatus();
  }));
  return count;
}

absl::Status ComputeRange(KernelContext& ctx, ArithmeticSequence::Function* sequence) {
  RETURN_IF_ERROR(CheckScalar(ctx.input(0), "start", /*max_rank=*/1));
  RETURN_IF_ERROR(CheckScalar(ctx.input(1), "limit", /*max_rank=*/1));
  RETURN_IF_ERROR(CheckScalar(ctx.input(2), "delta", /*max_rank=*/1));
  ASSIGN_OR_RETURN(const int64_t count, CountElements(ctx));
  ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, Shape{count}));
  return sequence(ctx, ctx.input(0), ctx.input(2), y);
}

class RangeKernel final : public OpKernel {
 public:
  explicit RangeKernel(const KernelBuild& build) : sequence_(build) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override { return ComputeRange(ctx, sequence_); }

 private:
  const Primitive<ArithmeticSequence> sequence_;
};
REGISTER_KERNEL("Range", DevicesOf<ArithmeticSequence>, RangeKernel)
    .TypeConstraint("Tidx", DTypeList(kReal))
    .HostMemory("start")
    .HostMemory("limit")
    .HostMemory("delta");

// int32 ranges are axes and shapes more often than not, so that they are the host's on every
// device, as TensorFlow has them.
class HostRangeKernel final : public OpKernel {
 public:
  explicit HostRangeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    return ComputeRange(ctx, PrimitiveImplementations<ArithmeticSequence>::Find(kCpu));
  }
};
REGISTER_KERNEL("Range", kAnyDevice, HostRangeKernel)
    .TypeConstraint<int32_t>("Tidx")
    .HostMemory("start")
    .HostMemory("limit")
    .HostMemory("delta")
    .HostMemory("output")
    .Priority(1);

// Errors: INVALID_ARGUMENT unless num > 0.
class LinSpaceKernel : public OpKernel {
 public:
  explicit LinSpaceKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckScalar(ctx.input(0), "start", /*max_rank=*/0));
    RETURN_IF_ERROR(CheckScalar(ctx.input(1), "stop", /*max_rank=*/0));
    ASSIGN_OR_RETURN(const int64_t num, ReadIntegerOfScalar(ctx.input(2), "num"));
    if (num <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("'num' must be positive, is ", num));
    }
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, Shape{num}));
    return VisitRealType(y->dtype(), [&]<typename T>() {
      const T start = ctx.input(0).scalar<T>();
      const T stop = ctx.input(1).scalar<T>();
      const T step = num > 1 ? (stop - start) / static_cast<T>(num - 1) : T{0};
      T* const out = y->data<T>();
      for (int64_t i = 0; i < num; ++i) out[i] = start + step * static_cast<T>(i);
      if (num > 1) out[num - 1] = stop;
      return absl::OkStatus();
    });
  }
};
// The host makes the few numbers for every device.
REGISTER_KERNEL("LinSpace", kAnyDevice, LinSpaceKernel)
    .TypeConstraint("T", DTypeList(kFloating))
    .HostMemory("start")
    .HostMemory("stop")
    .HostMemory("num")
    .HostMemory("output");

}  // namespace
}  // namespace tessera

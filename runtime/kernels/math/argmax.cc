// ArgMax and ArgMin along one dimension.
#include <limits>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Halves compare as floats.
template <typename T>
using Compared =
    std::conditional_t<std::is_same_v<T, Eigen::half> || std::is_same_v<T, Eigen::bfloat16>, float,
                       T>;

// Where the greatest (least) of `count` elements, `stride` apart, is: the first of equal ones. NaN
// is never chosen, unless there is nothing else: then it is 0.
template <typename T, bool kMax>
int64_t FindExtreme(const T* x, int64_t count, int64_t stride) {
  using C = Compared<T>;
  using Limits = std::numeric_limits<C>;
  C best = kMax ? Limits::lowest() : Limits::max();
  int64_t index = 0;
  for (int64_t i = 0; i < count; ++i) {
    const C value = static_cast<C>(x[i * stride]);
    if (kMax ? value > best : value < best) {
      best = value;
      index = i;
    }
  }
  return index;
}

// Errors: INVALID_ARGUMENT for an axis that is no scalar, out of range, or of size 0.
template <bool kMax>
class ArgKernel : public OpKernel {
 public:
  explicit ArgKernel(const KernelBuild& build) : output_type_(build.output_types()[0]) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat("'dimension' must be a scalar, has shape ",
                                                     ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(1), x.rank(), "dimension"));
    if (x.dim(axis) == 0) {
      return absl::InvalidArgumentError(absl::StrCat("nothing to choose from along axis ", axis,
                                                     " of shape ", x.shape().ToString()));
    }
    Shape shape = x.shape();
    shape.RemoveDim(axis);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, shape));
    if (x.dtype() == DType::kBool) return Find<bool>(ctx, x, axis, y);
    return VisitRealType(x.dtype(), [&]<typename T>() { return Find<T>(ctx, x, axis, y); });
  }

 private:
  template <typename T>
  absl::Status Find(KernelContext& ctx, const Tensor& x, int axis, Tensor* y) const {
    const int64_t count = x.dim(axis), inner = DimProduct(x.shape(), axis + 1, x.rank());
    const T* const data = x.data<T>();
    ctx.ParallelFor(y->num_elements(), static_cast<double>(count), [&](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        const T* const first = data + o / inner * count * inner + o % inner;
        Store(FindExtreme<T, kMax>(first, count, inner), o, y);
      }
    });
    return absl::OkStatus();
  }

  void Store(int64_t index, int64_t o, Tensor* y) const {
    switch (output_type_) {
      case DType::kInt16:
        y->data<int16_t>()[o] = static_cast<int16_t>(index);
        break;
      case DType::kUint16:
        y->data<uint16_t>()[o] = static_cast<uint16_t>(index);
        break;
      case DType::kInt32:
        y->data<int32_t>()[o] = static_cast<int32_t>(index);
        break;
      default:
        y->data<int64_t>()[o] = index;
    }
  }

  const DType output_type_;
};
REGISTER_KERNEL("ArgMax", kCpu, ArgKernel<true>)
    .TypeConstraint("T", DTypeList(kReal | kBool))
    .HostMemory("dimension");
REGISTER_KERNEL("ArgMin", kCpu, ArgKernel<false>)
    .TypeConstraint("T", DTypeList(kReal | kBool))
    .HostMemory("dimension");

}  // namespace
}  // namespace tessera

// Tensors of one value: Fill, ZerosLike, OnesLike, Empty, OneHot.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/tensor_list.h"

namespace tessera {
namespace {

// Sets all elements to the one at `value`, on several threads if they are many.
void FillTensor(KernelContext& ctx, const char* value, Tensor* output) {
  const int64_t width = static_cast<int64_t>(DTypeSize(output->dtype()));
  ctx.ParallelFor(
      output->num_elements(), 0.1 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        FillElements(output->dtype(), value, output->mutable_raw() + begin * width, end - begin);
      });
}

class FillKernel : public OpKernel {
 public:
  explicit FillKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0), "dims"));
    const Tensor& value = ctx.input(1);
    if (value.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("value must be a scalar, has shape ", value.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    FillTensor(ctx, value.raw(), output);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Fill", kCpu, FillKernel).HostMemory("dims");

// Zeros of the input's shape; for tensor lists, lists of zeros.
class ZerosLikeKernel : public OpKernel {
 public:
  explicit ZerosLikeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).dtype() == DType::kVariant) return SetZeroLists(ctx);
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
    return absl::OkStatus();
  }

 private:
  static absl::Status SetZeroLists(KernelContext& ctx) {
    const auto lists = ctx.input(0).flat<Variant>();
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, ctx.input(0).shape()));
    for (size_t i = 0; i < lists.size(); ++i) {
      ASSIGN_OR_RETURN(const auto list, GetTensorList(lists[i]));
      ASSIGN_OR_RETURN(output->flat<Variant>()[i],
                       ZerosLikeTensorList(*list, ctx.host_allocator()));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("ZerosLike", kCpu, ZerosLikeKernel);

class OnesLikeKernel : public OpKernel {
 public:
  explicit OnesLikeKernel(const KernelBuild& build) {
    const DType dtype = build.output_types()[0];
    if (dtype == DType::kBool) {
      one_ = Tensor::Scalar(true);
    } else {
      const absl::Status status = VisitNumericType(dtype, [&]<typename T>() {
        one_ = Tensor::Scalar(T(1));
        return absl::OkStatus();
      });
      if (!status.ok()) build.Fail(status);
    }
  }
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.ForwardOrAllocateOutput({0}, 0, ctx.input(0).shape()));
    FillTensor(ctx, one_.raw(), output);
    return absl::OkStatus();
  }

 private:
  Tensor one_;
};
REGISTER_KERNEL("OnesLike", kCpu, OnesLikeKernel);

// Zeros even without `init`: what memory held before is nobody's business.
class EmptyKernel : public OpKernel {
 public:
  explicit EmptyKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    if (ctx.input(0).rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("shape must be a vector, has shape ", ctx.input(0).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const Shape shape, ReadShape(ctx.input(0), "shape"));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Empty", kCpu, EmptyKernel).HostMemory("shape");

// A new dimension `axis` of size `depth`: on_value at the index, off_value elsewhere. Indices out
// of range have no on_value.
class OneHotKernel : public OpKernel {
 public:
  explicit OneHotKernel(const KernelBuild& build) : axis_(build.attr<int64_t>("axis")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& indices = ctx.input(0);
    const Tensor& on = ctx.input(2);
    const Tensor& off = ctx.input(3);
    ASSIGN_OR_RETURN(const int axis, NormalizeAxis(axis_, indices.rank() + 1, "axis"));
    if (ctx.input(1).rank() != 0 || on.rank() != 0 || off.rank() != 0) {
      return absl::InvalidArgumentError("depth, on_value and off_value must be scalars");
    }
    ASSIGN_OR_RETURN(const int64_t depth, ReadIndexScalar(ctx.input(1), "depth"));
    IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.begin() + axis, depth);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    FillTensor(ctx, off.raw(), output);
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t inner = DimProduct(indices.shape(), axis, indices.rank());
    VisitIndexType(indices.dtype(), [&]<typename Index>() {
      VisitStorageType(output->dtype(), [&]<typename T>() {
        const T& value = *reinterpret_cast<const T*>(on.raw());
        T* out = reinterpret_cast<T*>(output->mutable_raw());
        const auto index = indices.flat<Index>();
        for (size_t i = 0; i < index.size(); ++i) {
          const int64_t hot = static_cast<int64_t>(index[i]);
          if (hot < 0 || hot >= depth) continue;
          const int64_t row = static_cast<int64_t>(i) / inner,
                        column = static_cast<int64_t>(i) % inner;
          out[(row * depth + hot) * inner + column] = value;
        }
      });
    });
    return absl::OkStatus();
  }

 private:
  const int64_t axis_;
};
REGISTER_KERNEL("OneHot", kCpu, OneHotKernel).HostMemory("depth");

}  // namespace
}  // namespace tessera

// Kernels that give the same elements another shape. They share the input's memory.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

absl::Status SetReshaped(KernelContext& ctx, const Shape& shape) {
  const Tensor input = ctx.TakeInput(0);
  ASSIGN_OR_RETURN(Tensor output, input.Reshaped(shape));
  ctx.set_output(0, std::move(output));
  return absl::OkStatus();
}

// The product of the sizes that are not 0; negative if it is too large.
int64_t ProductButZeros(absl::Span<const int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes) {
    if (size > 0 && product > 0) product = MultiplyWithoutOverflow(product, size);
  }
  return product;
}

// The new shape, a vector or the scalar of one dimension, may hold one -1, which stands for what is
// left: of the sizes that are not 0, if the new shape has a 0.
// Errors: INVALID_ARGUMENT for two of them, other negative sizes, or another number of elements.
class ReshapeKernel : public OpKernel {
 public:
  explicit ReshapeKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    ASSIGN_OR_RETURN(IndexVector dims, ReadIndexVector(ctx.input(1), "shape"));
    int unknown = -1;
    int64_t known = 1;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] == -1) {
        if (unknown >= 0) {
          return absl::InvalidArgumentError(absl::StrCat(
              "only one size may be -1, not both that of dimension ", unknown, " and ", i));
        }
        unknown = static_cast<int>(i);
        dims[i] = 1;
      } else if (dims[i] < 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("size of dimension ", i, " must be non-negative or -1, is ", dims[i]));
      } else {
        known = MultiplyWithoutOverflow(known, dims[i]);
        if (known < 0) return absl::InvalidArgumentError("the new shape has too many elements");
      }
    }
    if (unknown >= 0) {
      if (known == 0 ? input.num_elements() != 0 : input.num_elements() % known != 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("a tensor of ", input.num_elements(),
                         " elements cannot take a shape whose known sizes multiply to ", known));
      }
      int64_t left = input.num_elements(), taken = known;
      if (known == 0) {
        left = ProductButZeros(input.shape().dims());
        taken = ProductButZeros(dims);
        if (left < 0 || taken < 0) {
          return absl::InvalidArgumentError("there are too many elements but for sizes of 0");
        }
      }
      dims[unknown] = left / taken;
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    return SetReshaped(ctx, shape);
  }
};
REGISTER_KERNEL("Reshape", kAnyDevice, ReshapeKernel).HostMemory("shape");

// Inserts a dimension of size 1 at an axis in [-rank - 1, rank].
class ExpandDimsKernel : public OpKernel {
 public:
  explicit ExpandDimsKernel(const KernelBuild&) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    Shape shape = ctx.input(0).shape();
    ASSIGN_OR_RETURN(const int axis, ReadAxis(ctx.input(1), shape.rank() + 1, "dim"));
    shape.InsertDim(axis, 1);
    return SetReshaped(ctx, shape);
  }
};
REGISTER_KERNEL("ExpandDims", kAnyDevice, ExpandDimsKernel).HostMemory("dim");

// Removes the named dimensions of size 1, or all of them if none is named.
class SqueezeKernel : public OpKernel {
 public:
  explicit SqueezeKernel(const KernelBuild& build)
      : axes_(build.attr<std::vector<int64_t>>("squeeze_dims")) {}
  bool IsExpensive() const override { return false; }
  absl::Status Compute(KernelContext& ctx) override {
    const Shape& shape = ctx.input(0).shape();
    absl::InlinedVector<bool, 8> remove(shape.rank(), axes_.empty());
    for (int64_t named : axes_) {
      ASSIGN_OR_RETURN(const int axis, NormalizeAxis(named, shape.rank(), "squeeze dimension"));
      if (shape.dim(axis) != 1) {
        return absl::InvalidArgumentError(absl::StrCat("cannot squeeze dimension ", axis,
                                                       " of shape ", shape.ToString(),
                                                       ": its size is not 1"));
      }
      remove[axis] = true;
    }
    Shape squeezed;
    for (int i = 0; i < shape.rank(); ++i) {
      if (!remove[i] || shape.dim(i) != 1) squeezed.AddDim(shape.dim(i));
    }
    return SetReshaped(ctx, squeezed);
  }

 private:
  const std::vector<int64_t> axes_;
};
REGISTER_KERNEL("Squeeze", kAnyDevice, SqueezeKernel);

}  // namespace
}  // namespace tessera

// MatMul, the batched products, and their fused forms.
#include "runtime/kernels/primitives/matmul.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fused_ops.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/cast.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

// The product of two matrices, either of which may be transposed, with the post-ops of the fused
// form.
class MatMulKernel : public OpKernel {
 public:
  explicit MatMulKernel(const KernelBuild& build)
      : transpose_a_(build.attr<bool>("transpose_a")),
        transpose_b_(build.attr<bool>("transpose_b")),
        fused_(build, FusedOpNames(build)),
        product_(Primitive<MatMul>(build)(build, /*b_input=*/1)) {}

  absl::Status Prepare(const PrepareContext& context) override {
    return product_->Prepare(context, transpose_b_, WeightUse::kOnceARun);
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& a = ctx.input(0);
    const Tensor& b = ctx.input(1);
    if (a.rank() != 2 || b.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("MatMul needs two matrices, has shapes ",
                                                     a.shape().ToString(), " and ",
                                                     b.shape().ToString()));
    }
    MatMulShape shape;
    shape.transpose_a = transpose_a_;
    shape.transpose_b = transpose_b_;
    shape.m = a.dim(transpose_a_ ? 1 : 0);
    shape.k = a.dim(transpose_a_ ? 0 : 1);
    shape.n = b.dim(transpose_b_ ? 0 : 1);
    if (b.dim(transpose_b_ ? 1 : 0) != shape.k) {
      return absl::InvalidArgumentError(absl::StrCat(
          "matrix sizes do not fit: ", a.shape().ToString(), transpose_a_ ? " (transposed)" : "",
          " times ", b.shape().ToString(), transpose_b_ ? " (transposed)" : ""));
    }
    return fused_.Run(ctx, {shape.m, shape.n}, shape.n,
                      [&](const PostOps& post_ops, const PostOpInputs& inputs, Tensor* output) {
                        return product_->Run(ctx, shape, post_ops, a, b, inputs, output);
                      });
  }

 private:
  const bool transpose_a_, transpose_b_;
  const FusedOps fused_;
  const std::unique_ptr<MatMul> product_;
};
REGISTER_KERNEL("MatMul", FusedDevicesOf<MatMul>, MatMulKernel);
REGISTER_KERNEL("_FusedMatMul", FusedDevicesOf<MatMul>, MatMulKernel);

// Matrices in the last two dimensions; the others are batch dimensions, which broadcast. The fused
// form has post-ops.
class BatchMatMulKernel : public OpKernel {
 public:
  explicit BatchMatMulKernel(const KernelBuild& build)
      : adjoint_x_(build.attr<bool>("adj_x")),
        adjoint_y_(build.attr<bool>("adj_y")),
        broadcasts_(build.op().name != "BatchMatMul"),
        cast_(build),
        fused_(build, FusedOpNames(build)),
        product_(Primitive<MatMul>(build)(build, /*b_input=*/1)) {
    const DType output = build.output_types()[0];
    for (const DType input : build.input_types()) {
      if (input == output || (Contains(kReal, input) && Contains(kReal, output))) continue;
      build.Fail(absl::UnimplementedError(
          absl::StrCat("products of ", DTypeName(input), " as ", DTypeName(output))));
    }
    multiplies_input_ = build.input_types()[1] == output;
  }

  absl::Status Prepare(const PrepareContext& context) override {
    if (!multiplies_input_) return absl::OkStatus();
    return product_->Prepare(context, adjoint_y_, WeightUse::kOnceARun);
  }

  absl::Status Compute(KernelContext& ctx) override {
    // BatchMatMulV3 may be given two dtypes; it computes in the output's.
    ASSIGN_OR_RETURN(const Tensor x, InOutputType(ctx, ctx.input(0)));
    ASSIGN_OR_RETURN(const Tensor y, InOutputType(ctx, ctx.input(1)));
    if (x.rank() < 2 || y.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("BatchMatMul needs inputs of rank 2 or more, has shapes ",
                       x.shape().ToString(), " and ", y.shape().ToString()));
    }
    MatMulShape shape;
    shape.transpose_a = shape.conjugate_a = adjoint_x_;
    shape.transpose_b = shape.conjugate_b = adjoint_y_;
    const int xr = x.rank(), yr = y.rank();
    shape.m = x.dim(xr - (adjoint_x_ ? 1 : 2));
    shape.k = x.dim(xr - (adjoint_x_ ? 2 : 1));
    shape.n = y.dim(yr - (adjoint_y_ ? 2 : 1));
    if (y.dim(yr - (adjoint_y_ ? 1 : 2)) != shape.k || (!broadcasts_ && xr != yr)) {
      return Mismatch(x, y);
    }

    const int batch_rank = std::max(xr, yr) - 2;
    Shape out_shape;
    for (int i = 0; i < batch_rank; ++i) {
      const int xi = i - (batch_rank - (xr - 2)), yi = i - (batch_rank - (yr - 2));
      const int64_t xd = xi < 0 ? 1 : x.dim(xi), yd = yi < 0 ? 1 : y.dim(yi);
      if (xd != yd && (!broadcasts_ || (xd != 1 && yd != 1))) return Mismatch(x, y);
      out_shape.AddDim(xd == 1 ? yd : xd);
      shape.batch.push_back(out_shape.dim(i));
      shape.a_stride.push_back(xd == 1 ? 0 : DimProduct(x.shape(), xi + 1, xr - 2));
      shape.b_stride.push_back(yd == 1 ? 0 : DimProduct(y.shape(), yi + 1, yr - 2));
    }
    out_shape.AddDim(shape.m);
    out_shape.AddDim(shape.n);
    return fused_.Run(ctx, out_shape, shape.n,
                      [&](const PostOps& post_ops, const PostOpInputs& inputs, Tensor* output) {
                        return product_->Run(ctx, shape, post_ops, x, y, inputs, output);
                      });
  }

 private:
  absl::StatusOr<Tensor> InOutputType(KernelContext& ctx, const Tensor& input) const {
    if (input.dtype() == ctx.output_type(0)) return input;
    ASSIGN_OR_RETURN(Tensor converted, ctx.AllocateTemp(ctx.output_type(0), input.shape()));
    RETURN_IF_ERROR(cast_(ctx, input, /*cleared_bits=*/0, &converted));
    return converted;
  }

  absl::Status Mismatch(const Tensor& x, const Tensor& y) const {
    return absl::InvalidArgumentError(
        absl::StrCat("shapes do not fit: ", x.shape().ToString(), adjoint_x_ ? " (adjoint)" : "",
                     " times ", y.shape().ToString(), adjoint_y_ ? " (adjoint)" : ""));
  }

  const bool adjoint_x_, adjoint_y_, broadcasts_;
  bool multiplies_input_ = false;  // by `y` as it is, which has the output's dtype already
  const Primitive<Cast> cast_;
  const FusedOps fused_;
  const std::unique_ptr<MatMul> product_;
};
constexpr auto kBatchDevices = FusedDevicesOf<MatMul, Cast>;
REGISTER_KERNEL("BatchMatMul", kBatchDevices, BatchMatMulKernel);
REGISTER_KERNEL("BatchMatMulV2", kBatchDevices, BatchMatMulKernel);
REGISTER_KERNEL("BatchMatMulV3", kBatchDevices, BatchMatMulKernel);
REGISTER_KERNEL("_FusedBatchMatMulV2", kBatchDevices, BatchMatMulKernel);

}  // namespace
}  // namespace tessera

// A step of a gated recurrent unit as one op: GRUBlockCell and its gradient (K. Cho et al.,
// Learning phrase representations using RNN encoder-decoder, 2014).
#include <memory>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/cell_widths.h"
#include "runtime/kernels/nn/float_tensor.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// The inputs that both ops share, as floats. Weights are taken apart into the rows of the input and
// those of the output.
struct GruInputs {
  Tensor x, h_prev, b_ru, b_c;
  Tensor x_ru, h_ru, x_c, h_c;  // weights
  int64_t batch = 0, inputs = 0, cells = 0;

  // Errors: INVALID_ARGUMENT for shapes that do not fit each other.
  static absl::StatusOr<GruInputs> Read(KernelContext& ctx) {
    const Shape& x = ctx.input(0).shape();
    const Shape& h = ctx.input(1).shape();
    if (x.rank() != 2 || h.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("x and h_prev must be matrices, have shapes ",
                                                     x.ToString(), " and ", h.ToString()));
    }
    GruInputs in;
    in.batch = x.dim(0);
    in.inputs = x.dim(1);
    in.cells = h.dim(1);
    RETURN_IF_ERROR(CheckCellWidths(in.inputs, in.cells));
    const int64_t rows = in.inputs + in.cells;
    const Shape expected[] = {x,
                              Shape{in.batch, in.cells},
                              Shape{rows, 2 * in.cells},
                              Shape{rows, in.cells},
                              Shape{2 * in.cells},
                              Shape{in.cells}};
    static constexpr const char* kNames[] = {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"};
    for (int i = 1; i < 6; ++i) {
      if (!(ctx.input(i).shape() == expected[i])) {
        return absl::InvalidArgumentError(absl::StrCat(kNames[i], " must have shape ",
                                                       expected[i].ToString(), ", has ",
                                                       ctx.input(i).shape().ToString()));
      }
    }
    Tensor w_ru, w_c;
    Tensor* const tensors[] = {&in.x, &in.h_prev, &w_ru, &w_c, &in.b_ru, &in.b_c};
    for (int i = 0; i < 6; ++i) {
      ASSIGN_OR_RETURN(*tensors[i], FloatInput(ctx, i));
    }
    in.x_ru = w_ru.Slice(0, in.inputs);
    in.h_ru = w_ru.Slice(in.inputs, rows);
    in.x_c = w_c.Slice(0, in.inputs);
    in.h_c = w_c.Slice(in.inputs, rows);
    return in;
  }
};

// The products with each part of the weights. What a product derives from constant weights belongs
// to one part.
struct GruProducts {
  explicit GruProducts(const KernelBuild& build)
      : x_ru(Primitive<MatMul>(build)(build, /*b_input=*/2)),
        h_ru(Primitive<MatMul>(build)(build, /*b_input=*/2)),
        x_c(Primitive<MatMul>(build)(build, /*b_input=*/3)),
        h_c(Primitive<MatMul>(build)(build, /*b_input=*/3)) {
    for (int i = 2; i < 4; ++i) {
      const Tensor* const w = build.constant_input(i);
      if (w == nullptr || w->rank() != 2) continue;
      rows = w->dim(0);
      cells = w->dim(1) / (i == 2 ? 2 : 1);
    }
  }

  // Packs the weights that are constant. Errors: those of MatMul::PrepareRows().
  absl::Status Prepare(const PrepareContext& context) const {
    const int64_t inputs = rows - cells;
    for (MatMul* const product : {x_ru.get(), x_c.get()}) {
      RETURN_IF_ERROR(product->PrepareRows(context, 0, inputs, WeightUse::kOnceARun));
    }
    for (MatMul* const product : {h_ru.get(), h_c.get()}) {
      RETURN_IF_ERROR(product->PrepareRows(context, inputs, rows, WeightUse::kOnceARun));
    }
    return absl::OkStatus();
  }

  int64_t rows = 0, cells = 0;  // of constant weights
  const std::unique_ptr<MatMul> x_ru, h_ru, x_c, h_c;
};

class GruBlockCellKernel : public OpKernel {
 public:
  explicit GruBlockCellKernel(const KernelBuild& build) : products_(build) {}

  absl::Status Prepare(const PrepareContext& context) override {
    return products_.Prepare(context);
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const GruInputs in, GruInputs::Read(ctx));
    const int64_t cells = in.cells;
    Tensor outputs[4];
    for (int i = 0; i < 4; ++i) {
      ASSIGN_OR_RETURN(outputs[i], FloatOutput(ctx, i, {in.batch, cells}));
    }
    ASSIGN_OR_RETURN(Tensor ru, ctx.AllocateTemp(DType::kFloat, {in.batch, 2 * cells}));
    ASSIGN_OR_RETURN(Tensor hr, ctx.AllocateTemp(DType::kFloat, {in.batch, cells}));
    RETURN_IF_ERROR(Multiply(ctx, *products_.x_ru, in.x, in.x_ru, in.b_ru, *products_.h_ru,
                             in.h_prev, in.h_ru, &ru));
    float *const r = outputs[0].data<float>(), *const u = outputs[1].data<float>(),
                 *const c = outputs[2].data<float>(), *const h = outputs[3].data<float>();
    const float* const h_prev = in.h_prev.data<float>();
    for (int64_t row = 0; row < in.batch; ++row) {
      const float *const sum_r = ru.data<float>() + row * 2 * cells, *const sum_u = sum_r + cells;
      float* const reset = hr.data<float>();
#pragma GCC ivdep
      for (int64_t j = 0; j < cells; ++j) {
        const int64_t at = row * cells + j;
        r[at] = math::Sigmoid(sum_r[j]);
        u[at] = math::Sigmoid(sum_u[j]);
        reset[at] = h_prev[at] * r[at];
      }
    }
    RETURN_IF_ERROR(Multiply(ctx, *products_.x_c, in.x, in.x_c, in.b_c, *products_.h_c, hr, in.h_c,
                             &outputs[2]));
    const int64_t count = in.batch * cells;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) {
      c[i] = math::Tanh(c[i]);
      h[i] = u[i] * h_prev[i] + (1 - u[i]) * c[i];
    }
    for (int i = 0; i < 4; ++i) StoreOutput(ctx, i, outputs[i]);
    return absl::OkStatus();
  }

 private:
  // sum = x * x_weights + h * h_weights + bias.
  static absl::Status Multiply(KernelContext& ctx, MatMul& x_product, const Tensor& x,
                               const Tensor& x_weights, const Tensor& bias, MatMul& h_product,
                               const Tensor& h, const Tensor& h_weights, Tensor* sum) {
    MatMulShape shape{.m = x.dim(0), .n = x_weights.dim(1), .k = x.dim(1)};
    RETURN_IF_ERROR(x_product.Run(ctx, shape, {.bias = true}, x, x_weights, {.bias = &bias}, sum));
    shape.k = h.dim(1);
    return h_product.Run(ctx, shape, {.add = true}, h, h_weights, {.addend = sum}, sum);
  }

  const GruProducts products_;
};
REGISTER_KERNEL("GRUBlockCell", kCpu, GruBlockCellKernel);

class GruBlockCellGradKernel : public OpKernel {
 public:
  explicit GruBlockCellGradKernel(const KernelBuild& build) : products_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const GruInputs in, GruInputs::Read(ctx));
    Tensor given[4];  // r, u, c and the gradient of h
    for (int i = 0; i < 4; ++i) {
      if (!(ctx.input(6 + i).shape() == ctx.input(1).shape())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", 6 + i, " must have the shape of h_prev, ", ctx.input(1).shape().ToString(),
            ", has ", ctx.input(6 + i).shape().ToString()));
      }
      ASSIGN_OR_RETURN(given[i], FloatInput(ctx, 6 + i));
    }
    const int64_t cells = in.cells, count = in.batch * cells;
    ASSIGN_OR_RETURN(Tensor d_x, FloatOutput(ctx, 0, {in.batch, in.inputs}));
    ASSIGN_OR_RETURN(Tensor d_h_prev, FloatOutput(ctx, 1, {in.batch, cells}));
    ASSIGN_OR_RETURN(Tensor d_c_bar, FloatOutput(ctx, 2, {in.batch, cells}));
    ASSIGN_OR_RETURN(Tensor d_ru_bar, FloatOutput(ctx, 3, {in.batch, 2 * cells}));
    ASSIGN_OR_RETURN(Tensor d_hr, ctx.AllocateTemp(DType::kFloat, {in.batch, cells}));
    const float *const r = given[0].data<float>(), *const u = given[1].data<float>(),
                       *const c = given[2].data<float>(), *const d_h = given[3].data<float>(),
                       *const h_prev = in.h_prev.data<float>();
    float* const through_c = d_c_bar.data<float>();
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) through_c[i] = d_h[i] * (1 - u[i]) * (1 - c[i] * c[i]);
    RETURN_IF_ERROR(Multiply(ctx, *products_.h_c, d_c_bar, in.h_c, /*add=*/false, &d_hr));
    const float* const through_reset = d_hr.data<float>();
    float* const kept = d_h_prev.data<float>();
    for (int64_t row = 0; row < in.batch; ++row) {
      float *const d_r = d_ru_bar.data<float>() + row * 2 * cells, *const d_u = d_r + cells;
#pragma GCC ivdep
      for (int64_t j = 0; j < cells; ++j) {
        const int64_t i = row * cells + j;
        d_r[j] = through_reset[i] * h_prev[i] * r[i] * (1 - r[i]);
        d_u[j] = d_h[i] * (h_prev[i] - c[i]) * u[i] * (1 - u[i]);
        kept[i] = through_reset[i] * r[i] + d_h[i] * u[i];
      }
    }
    RETURN_IF_ERROR(Multiply(ctx, *products_.h_ru, d_ru_bar, in.h_ru, /*add=*/true, &d_h_prev));
    RETURN_IF_ERROR(Multiply(ctx, *products_.x_c, d_c_bar, in.x_c, /*add=*/false, &d_x));
    RETURN_IF_ERROR(Multiply(ctx, *products_.x_ru, d_ru_bar, in.x_ru, /*add=*/true, &d_x));
    StoreOutput(ctx, 0, d_x);
    StoreOutput(ctx, 1, d_h_prev);
    StoreOutput(ctx, 2, d_c_bar);
    StoreOutput(ctx, 3, d_ru_bar);
    return absl::OkStatus();
  }

 private:
  // product = gradient * weights^T, plus what is there already if `add` says so.
  static absl::Status Multiply(KernelContext& ctx, MatMul& matmul, const Tensor& gradient,
                               const Tensor& weights, bool add, Tensor* product) {
    const MatMulShape shape{
        .m = gradient.dim(0), .n = weights.dim(0), .k = gradient.dim(1), .transpose_b = true};
    return matmul.Run(ctx, shape, {.add = add}, gradient, weights,
                      {.addend = add ? product : nullptr}, product);
  }

  const GruProducts products_;
};
REGISTER_KERNEL("GRUBlockCellGrad", kCpu, GruBlockCellGradKernel);

}  // namespace
}  // namespace tessera

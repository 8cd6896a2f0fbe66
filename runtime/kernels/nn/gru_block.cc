// A step of a gated recurrent unit as one op: GRUBlockCell and its gradient (K. Cho et al.,
// Learning phrase representations using RNN encoder-decoder, 2014).
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/float_matrix.h"

namespace tessera {
namespace {

// The inputs that both ops share.
struct GruInputs {
  RowMatrix x, h_prev, w_ru, w_c;
  Eigen::RowVectorXf b_ru, b_c;

  int64_t inputs() const { return x.cols(); }
  int64_t cells() const { return h_prev.cols(); }

  // Errors: INVALID_ARGUMENT for shapes that do not fit each other.
  static absl::StatusOr<GruInputs> Read(const KernelContext& ctx) {
    const Shape& x = ctx.input(0).shape();
    const Shape& h = ctx.input(1).shape();
    if (x.rank() != 2 || h.rank() != 2) {
      return absl::InvalidArgumentError(absl::StrCat("x and h_prev must be matrices, have shapes ",
                                                     x.ToString(), " and ", h.ToString()));
    }
    const int64_t batch = x.dim(0), inputs = x.dim(1), cells = h.dim(1);
    const Shape expected[] = {x,
                              Shape{batch, cells},
                              Shape{inputs + cells, 2 * cells},
                              Shape{inputs + cells, cells},
                              Shape{2 * cells},
                              Shape{cells}};
    static constexpr const char* kNames[] = {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c"};
    for (int i = 1; i < 6; ++i) {
      if (!(ctx.input(i).shape() == expected[i])) {
        return absl::InvalidArgumentError(absl::StrCat(kNames[i], " must have shape ",
                                                       expected[i].ToString(), ", has ",
                                                       ctx.input(i).shape().ToString()));
      }
    }
    return GruInputs{ReadMatrix(ctx.input(0), 0, batch, inputs),
                     ReadMatrix(ctx.input(1), 0, batch, cells),
                     ReadMatrix(ctx.input(2), 0, inputs + cells, 2 * cells),
                     ReadMatrix(ctx.input(3), 0, inputs + cells, cells),
                     ReadRow(ctx.input(4)),
                     ReadRow(ctx.input(5))};
  }
};

absl::Status SetOutput(KernelContext& ctx, int i, const RowMatrix& value) {
  ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, Shape{value.rows(), value.cols()}));
  WriteMatrix(value, 0, output);
  return absl::OkStatus();
}

class GruBlockCellKernel : public OpKernel {
 public:
  explicit GruBlockCellKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const GruInputs in, GruInputs::Read(ctx));
    RowMatrix xh(in.x.rows(), in.inputs() + in.cells());
    xh << in.x, in.h_prev;
    RowMatrix ru = xh * in.w_ru;
    ru.rowwise() += in.b_ru;
    ru = (1 + (-ru.array()).exp()).inverse().matrix();
    const RowMatrix r = ru.leftCols(in.cells()), u = ru.rightCols(in.cells());
    xh.rightCols(in.cells()) = (in.h_prev.array() * r.array()).matrix();
    RowMatrix c = xh * in.w_c;
    c.rowwise() += in.b_c;
    c = c.array().tanh().matrix();
    const RowMatrix h = (u.array() * in.h_prev.array() + (1 - u.array()) * c.array()).matrix();
    RETURN_IF_ERROR(SetOutput(ctx, 0, r));
    RETURN_IF_ERROR(SetOutput(ctx, 1, u));
    RETURN_IF_ERROR(SetOutput(ctx, 2, c));
    return SetOutput(ctx, 3, h);
  }
};
REGISTER_KERNEL("GRUBlockCell", kCpu, GruBlockCellKernel);

class GruBlockCellGradKernel : public OpKernel {
 public:
  explicit GruBlockCellGradKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const GruInputs in, GruInputs::Read(ctx));
    RowMatrix given[4];  // r, u, c and the gradient of h
    for (int i = 0; i < 4; ++i) {
      if (!(ctx.input(6 + i).shape() == ctx.input(1).shape())) {
        return absl::InvalidArgumentError(absl::StrCat(
            "input ", 6 + i, " must have the shape of h_prev, ", ctx.input(1).shape().ToString(),
            ", has ", ctx.input(6 + i).shape().ToString()));
      }
      given[i] = ReadMatrix(ctx.input(6 + i), 0, in.x.rows(), in.cells());
    }
    const auto r = given[0].array(), u = given[1].array(), c = given[2].array(),
               d_h = given[3].array();
    const auto h_prev = in.h_prev.array();
    const RowMatrix d_c_bar = (d_h * (1 - u) * (1 - c * c)).matrix();
    const RowMatrix through_c = d_c_bar * in.w_c.transpose();  // of x and of h_prev * r
    const RowMatrix d_hr = through_c.rightCols(in.cells());
    RowMatrix d_ru_bar(in.x.rows(), 2 * in.cells());
    d_ru_bar << (d_hr.array() * h_prev * r * (1 - r)).matrix(),
        (d_h * (h_prev - c) * u * (1 - u)).matrix();
    const RowMatrix through_ru = d_ru_bar * in.w_ru.transpose();
    const RowMatrix d_x = through_c.leftCols(in.inputs()) + through_ru.leftCols(in.inputs());
    const RowMatrix d_h_prev =
        (through_ru.rightCols(in.cells()).array() + d_hr.array() * r + d_h * u).matrix();
    RETURN_IF_ERROR(SetOutput(ctx, 0, d_x));
    RETURN_IF_ERROR(SetOutput(ctx, 1, d_h_prev));
    RETURN_IF_ERROR(SetOutput(ctx, 2, d_c_bar));
    return SetOutput(ctx, 3, d_ru_bar);
  }
};
REGISTER_KERNEL("GRUBlockCellGrad", kCpu, GruBlockCellGradKernel);

}  // namespace
}  // namespace tessera

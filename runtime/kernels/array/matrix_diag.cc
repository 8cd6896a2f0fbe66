// Diagonals of (batches of) matrices: MatrixDiag*, MatrixDiagPart*, MatrixSetDiag*, MatrixBandPart.
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/band_part.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/strided_copy.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/variable_update.h"

namespace tessera {
namespace {

// Diagonals [lower, upper] of matrices of `rows` by `columns`, packed as the rows of a
// [upper - lower + 1, longest] matrix, the uppermost first. Diagonal d holds the elements (i, i +
// d). Shorter ones are padded at one end: which, the op's `align` says for those above and those
// below the main diagonal.
struct Diagonals {
  int64_t lower = 0, upper = 0;
  bool given_as_range = false;
  bool left_above = true, left_below = true;
  int64_t rows = 0, columns = 0;

  int64_t count() const { return upper - lower + 1; }
  int64_t Length(int64_t d) const {
    return std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0));
  }
  int64_t longest() const {
    return std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0));
  }
  // Where diagonal d begins in its packed row.
  int64_t Offset(int64_t d) const {
    const bool left = (d >= 0 && left_above) || (d <= 0 && left_below);
    return left ? 0 : longest() - Length(d);
  }
  // Whether a packed row is longer than its diagonal.
  bool HasPadding() const { return Length(lower) < longest() || Length(upper) < longest(); }
  // Copies the diagonals out of matrices into packed ones, or the other way round.
  enum Direction { kPack, kUnpack };
  absl::Status Copy(KernelContext& ctx, const Primitive<StridedCopy>& copy, Direction direction,
                    const Tensor& from, Tensor* to) const {
    if (from.num_elements() == 0 || to->num_elements() == 0) return absl::OkStatus();
    const int64_t matrix_strides[] = {rows * columns, columns + 1};
    const int64_t packed_strides[] = {count() * longest(), 1};
    const int64_t batch =
        (direction == kPack ? from.num_elements() : to->num_elements()) / (rows * columns);
    for (int64_t d = upper; d >= lower; --d) {
      if (Length(d) <= 0) continue;  // outside of the matrices
      const StridedView matrix{matrix_strides,
                               std::max<int64_t>(-d, 0) * columns + std::max<int64_t>(d, 0)};
      const StridedView packed{packed_strides, (upper - d) * longest() + Offset(d)};
      RETURN_IF_ERROR(copy(ctx, {batch, Length(d)}, from, direction == kPack ? matrix : packed, to,
                           direction == kPack ? packed : matrix));
    }
    return absl::OkStatus();
  }

  // Errors: INVALID_ARGUMENT unless k is a scalar or [lower, upper] in order.
  absl::Status ReadK(const Tensor& k) {
    ASSIGN_OR_RETURN(const IndexVector values, ReadIndexVector(k, "k"));
    if (values.empty() || values.size() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("k must be one or two integers, has shape ", k.shape().ToString()));
    }
    lower = values.front();
    upper = values.back();
    given_as_range = lower != upper;
    if (lower > upper) {
      return absl::InvalidArgumentError(
          absl::StrCat("k = [", lower, ", ", upper, "] must be in order"));
    }
    return absl::OkStatus();
  }
  // Errors: INVALID_ARGUMENT if the matrix has no such diagonals.
  absl::Status CheckInside() const {
    for (int64_t d : {lower, upper}) {
      if (d != 0 && (d <= -rows || d >= columns)) {
        return absl::InvalidArgumentError(
            absl::StrCat("diagonal ", d, " lies outside matrices of ", rows, " by ", columns));
      }
    }
    return absl::OkStatus();
  }
  void ReadAlign(const KernelBuild& build) {
    if (!build.has_attr("align")) return;
    const std::string align = build.attr<std::string>("align");
    left_above = align == "LEFT_LEFT" || align == "LEFT_RIGHT";
    left_below = align == "LEFT_LEFT" || align == "RIGHT_LEFT";
  }
};

// The batch dimensions, then what `k` selects: [longest], or [count, longest] for a range.
Shape PackedShape(absl::Span<const int64_t> batch, const Diagonals& diagonals) {
  Shape shape(batch);
  if (diagonals.given_as_range) shape.AddDim(diagonals.count());
  shape.AddDim(diagonals.longest());
  return shape;
}

// Matrices with given diagonals. Inputs after the first (V2, V3): k, num_rows, num_cols,
// padding_value.
class MatrixDiagKernel : public OpKernel {
 public:
  explicit MatrixDiagKernel(const KernelBuild& build) : copy_(build), fill_(build) {
    template_.ReadAlign(build);
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& packed = ctx.input(0);
    if (packed.rank() < 1) return absl::InvalidArgumentError("diagonal must be at least a vector");
    Diagonals diagonals = template_;
    int64_t rows = -1, columns = -1;
    const Tensor* padding = nullptr;
    if (ctx.num_inputs() > 1) {
      RETURN_IF_ERROR(diagonals.ReadK(ctx.input(1)));
      ASSIGN_OR_RETURN(rows, ReadIntegerOfScalar(ctx.input(2), "num_rows"));
      ASSIGN_OR_RETURN(columns, ReadIntegerOfScalar(ctx.input(3), "num_cols"));
      if (!ctx.input(4).shape().IsScalar()) {
        return absl::InvalidArgumentError("padding_value must be a scalar");
      }
      padding = &ctx.input(4);
    }
    if (diagonals.given_as_range &&
        (packed.rank() < 2 || packed.dim(packed.rank() - 2) != diagonals.count())) {
      return absl::InvalidArgumentError(absl::StrCat("diagonal must hold ", diagonals.count(),
                                                     " diagonals, has shape ",
                                                     packed.shape().ToString()));
    }
    const int64_t longest = packed.dim(packed.rank() - 1);
    RETURN_IF_ERROR(SetSize(longest, rows, columns, &diagonals));
    const int batch_rank = packed.rank() - (diagonals.given_as_range ? 2 : 1);
    IndexVector dims(packed.shape().dims().begin(), packed.shape().dims().begin() + batch_rank);
    dims.push_back(diagonals.rows);
    dims.push_back(diagonals.columns);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(fill_(ctx, padding, output));
    return diagonals.Copy(ctx, copy_, Diagonals::kUnpack, packed, output);
  }

 private:
  // The smallest matrix that holds the diagonals, where the size is left open (-1).
  static absl::Status SetSize(int64_t longest, int64_t rows, int64_t columns,
                              Diagonals* diagonals) {
    const int64_t least_rows = longest - std::min<int64_t>(diagonals->upper, 0);
    const int64_t least_columns = longest + std::max<int64_t>(diagonals->lower, 0);
    if (rows == -1 && columns == -1) rows = columns = std::max(least_rows, least_columns);
    if (rows == -1) rows = least_rows;
    if (columns == -1) columns = least_columns;
    if (rows < least_rows || columns < least_columns ||
        (rows != least_rows && columns != least_columns)) {
      return absl::InvalidArgumentError(
          absl::StrCat("diagonals [", diagonals->lower, ", ", diagonals->upper, "] of ", longest,
                       " elements do not make matrices of ", rows, " by ", columns));
    }
    diagonals->rows = rows;
    diagonals->columns = columns;
    return absl::OkStatus();
  }

  const Primitive<StridedCopy> copy_;
  const Primitive<Fill> fill_;
  Diagonals template_;
};
REGISTER_KERNEL("BatchMatrixDiag", (DevicesOf<StridedCopy, Fill>), MatrixDiagKernel);
REGISTER_KERNEL("MatrixDiag", (DevicesOf<StridedCopy, Fill>), MatrixDiagKernel);
REGISTER_KERNEL("MatrixDiagV2", (DevicesOf<StridedCopy, Fill>), MatrixDiagKernel)
    .HostMemory("k")
    .HostMemory("num_rows")
    .HostMemory("num_cols");
REGISTER_KERNEL("MatrixDiagV3", (DevicesOf<StridedCopy, Fill>), MatrixDiagKernel)
    .HostMemory("k")
    .HostMemory("num_rows")
    .HostMemory("num_cols");

absl::Status CheckMatrices(const Tensor& input) {
  if (input.rank() >= 2) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input must hold matrices, has shape ", input.shape().ToString()));
}

// The diagonals of matrices. Inputs after the first (V2, V3): k, padding_value.
class MatrixDiagPartKernel : public OpKernel {
 public:
  explicit MatrixDiagPartKernel(const KernelBuild& build) : copy_(build), fill_(build) {
    template_.ReadAlign(build);
  }
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(input));
    Diagonals diagonals = template_;
    diagonals.rows = input.dim(input.rank() - 2);
    diagonals.columns = input.dim(input.rank() - 1);
    const Tensor* padding = nullptr;
    if (ctx.num_inputs() > 1) {
      RETURN_IF_ERROR(diagonals.ReadK(ctx.input(1)));
      if (ctx.input(2).num_elements() != 1) {
        return absl::InvalidArgumentError("padding_value must be a scalar");
      }
      padding = &ctx.input(2);
    }
    RETURN_IF_ERROR(diagonals.CheckInside());
    const Shape shape = PackedShape(input.shape().dims().subspan(0, input.rank() - 2), diagonals);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (diagonals.HasPadding()) RETURN_IF_ERROR(fill_(ctx, padding, output));
    return diagonals.Copy(ctx, copy_, Diagonals::kPack, input, output);
  }

 private:
  const Primitive<StridedCopy> copy_;
  const Primitive<Fill> fill_;
  Diagonals template_;
};
REGISTER_KERNEL("BatchMatrixDiagPart", (DevicesOf<StridedCopy, Fill>), MatrixDiagPartKernel);
REGISTER_KERNEL("MatrixDiagPart", (DevicesOf<StridedCopy, Fill>), MatrixDiagPartKernel);
REGISTER_KERNEL("MatrixDiagPartV2", (DevicesOf<StridedCopy, Fill>), MatrixDiagPartKernel)
    .HostMemory("k");
REGISTER_KERNEL("MatrixDiagPartV3", (DevicesOf<StridedCopy, Fill>), MatrixDiagPartKernel)
    .HostMemory("k");

// Matrices with their diagonals replaced. Inputs: matrices, diagonals, k (V2, V3).
class MatrixSetDiagKernel : public OpKernel {
 public:
  explicit MatrixSetDiagKernel(const KernelBuild& build) : copy_(build) {
    template_.ReadAlign(build);
  }
  absl::Status Compute(KernelContext& ctx) override {
    Tensor output = ctx.TakeInput(0);
    const Tensor& packed = ctx.input(1);
    RETURN_IF_ERROR(CheckMatrices(output));
    Diagonals diagonals = template_;
    diagonals.rows = output.dim(output.rank() - 2);
    diagonals.columns = output.dim(output.rank() - 1);
    if (ctx.num_inputs() > 2) RETURN_IF_ERROR(diagonals.ReadK(ctx.input(2)));
    RETURN_IF_ERROR(diagonals.CheckInside());
    const Shape expected =
        PackedShape(output.shape().dims().subspan(0, output.rank() - 2), diagonals);
    if (!(packed.shape() == expected)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "diagonal must have shape ", expected.ToString(), ", has ", packed.shape().ToString()));
    }
    RETURN_IF_ERROR(MakeWritable(ctx, &output));
    RETURN_IF_ERROR(diagonals.Copy(ctx, copy_, Diagonals::kUnpack, packed, &output));
    ctx.set_output(0, std::move(output));
    return absl::OkStatus();
  }

 private:
  const Primitive<StridedCopy> copy_;
  Diagonals template_;
};
REGISTER_KERNEL("BatchMatrixSetDiag", DevicesOf<StridedCopy>, MatrixSetDiagKernel);
REGISTER_KERNEL("MatrixSetDiag", DevicesOf<StridedCopy>, MatrixSetDiagKernel);
REGISTER_KERNEL("MatrixSetDiagV2", DevicesOf<StridedCopy>, MatrixSetDiagKernel).HostMemory("k");
REGISTER_KERNEL("MatrixSetDiagV3", DevicesOf<StridedCopy>, MatrixSetDiagKernel).HostMemory("k");

// Zeros all but the band of num_lower diagonals below the main one and num_upper above; negative
// numbers stand for all.
class MatrixBandPartKernel : public OpKernel {
 public:
  explicit MatrixBandPartKernel(const KernelBuild& build) : keep_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& matrices = ctx.input(0);
    RETURN_IF_ERROR(CheckMatrices(matrices));
    const int64_t rows = matrices.dim(matrices.rank() - 2);
    const int64_t columns = matrices.dim(matrices.rank() - 1);
    if (!ctx.input(1).shape().IsScalar() || !ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("num_lower and num_upper must be scalars, have shapes ",
                       ctx.input(1).shape().ToString(), " and ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(int64_t lower, ReadIndexScalar(ctx.input(1), "num_lower"));
    ASSIGN_OR_RETURN(int64_t upper, ReadIndexScalar(ctx.input(2), "num_upper"));
    if (lower > rows || upper > columns) {
      return absl::InvalidArgumentError(absl::StrCat("num_lower ", lower, " and num_upper ", upper,
                                                     " must not exceed the matrices' ", rows,
                                                     " rows and ", columns, " columns"));
    }
    if (lower < 0) lower = rows;
    if (upper < 0) upper = columns;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.ForwardOrAllocateOutput({0}, 0, matrices.shape()));
    return keep_(ctx, {.rows = rows, .columns = columns, .lower = lower, .upper = upper},
                 matrices.has_value() ? matrices : *output, output);
  }

 private:
  const Primitive<BandPart> keep_;
};
REGISTER_KERNEL("BatchMatrixBandPart", DevicesOf<BandPart>, MatrixBandPartKernel)
    .HostMemory("num_lower")
    .HostMemory("num_upper");
REGISTER_KERNEL("MatrixBandPart", DevicesOf<BandPart>, MatrixBandPartKernel)
    .HostMemory("num_lower")
    .HostMemory("num_upper");

// A tensor of twice the rank whose diagonal is the input (Diag), and back (DiagPart).
class DiagKernel : public OpKernel {
 public:
  explicit DiagKernel(const KernelBuild& build) : copy_(build), fill_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() < 1) return absl::InvalidArgumentError("diagonal must be at least a vector");
    IndexVector dims(input.shape().dims().begin(), input.shape().dims().end());
    dims.insert(dims.end(), input.shape().dims().begin(), input.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(fill_(ctx, nullptr, output));
    const int64_t size = input.num_elements();
    return copy_(ctx, {size}, input, {{1}}, output, {{size + 1}});
  }

 private:
  const Primitive<StridedCopy> copy_;
  const Primitive<Fill> fill_;
};
REGISTER_KERNEL("Diag", (DevicesOf<StridedCopy, Fill>), DiagKernel);

class DiagPartKernel : public OpKernel {
 public:
  explicit DiagPartKernel(const KernelBuild& build) : copy_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int half = input.rank() / 2;
    bool fits = input.rank() % 2 == 0;
    for (int d = 0; fits && d < half; ++d) fits = input.dim(d) == input.dim(half + d);
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("the second half of the dimensions must repeat the first: shape ",
                       input.shape().ToString()));
    }
    const Shape shape(input.shape().dims().subspan(0, half));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    const int64_t size = shape.num_elements();
    return copy_(ctx, {size}, input, {{size + 1}}, output, {{1}});
  }

 private:
  const Primitive<StridedCopy> copy_;
};
REGISTER_KERNEL("DiagPart", DevicesOf<StridedCopy>, DiagPartKernel);

}  // namespace
}  // namespace tessera

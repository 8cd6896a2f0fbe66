#include "runtime/kernels/nn/fused_loop.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Floats of the products with the input that are made at once, so that they are still in the cache
// when the steps read them.
constexpr int64_t kChunkFloats = 128 << 10;

absl::Status DoesNotFit(absl::string_view name, const Shape& shape, const Shape& expected) {
  return absl::InvalidArgumentError(absl::StrCat(name, " of the loop must have shape ",
                                                 expected.ToString(), ", has ", shape.ToString()));
}

// [1, ...] with the same elements.
Tensor AsOneStep(const Tensor& matrix) {
  Tensor step = matrix;
  step.Reshape({1, matrix.dim(0), matrix.dim(1)});
  return step;
}

// [steps, rows, width] of [steps, 1, width]: each step's row `rows` times.
absl::StatusOr<Tensor> RowForEach(KernelContext& ctx, const Tensor& x, int64_t rows) {
  const int64_t width = x.dim(2);
  ASSIGN_OR_RETURN(Tensor all, ctx.AllocateTemp(DType::kFloat, {x.dim(0), rows, width}));
  for (int64_t i = 0; i < x.dim(0) * rows; ++i) {
    std::copy_n(x.data<float>() + i / rows * width, width, all.data<float>() + i * width);
  }
  return all;
}

}  // namespace

struct FusedLoopKernel::Extent {
  Tensor x;  // with a row for each state
  int64_t steps = 0, batch = 0, units = 0, size = 0;
};

FusedLoopKernel::FusedLoopKernel(const KernelBuild& build, int num_gates, int num_states)
    : num_gates_(num_gates),
      gates_(build.attr<std::vector<int64_t>>("gates")),
      kernel_(build.inputs("kernel")),
      bias_(build.inputs("bias")),
      states_(build.inputs("states")),
      limits_(build.inputs("limits")),
      recurrent_(build.inputs("recurrent").begin),
      size_(build.inputs("size").begin),
      last_only_(build.attr<bool>("last_only")) {
  bool fits = static_cast<int>(gates_.size()) == num_gates && states_.size() == num_states &&
              kernel_.size() <= 1 && bias_.size() <= kernel_.size();
  for (const int64_t gate : gates_) fits = fits && gate >= 0 && gate < num_gates;
  if (!fits) build.Fail(absl::InvalidArgumentError("is not a loop of this cell"));
  if (kernel_.size() > 0) input_product_ = Primitive<MatMul>(build)(build, kernel_.begin);
}

absl::Status FusedLoopKernel::Prepare(const PrepareContext& context) {
  if (input_product_ == nullptr) return absl::OkStatus();
  return input_product_->Prepare(context, /*transpose_b=*/false, WeightUse::kOnceARun);
}

absl::StatusOr<FusedLoopKernel::Extent> FusedLoopKernel::ReadExtent(KernelContext& ctx) const {
  const Tensor &x = ctx.input(0), &recurrent = ctx.input(recurrent_);
  if (x.rank() != 3 || recurrent.rank() != 2 || recurrent.dim(1) % num_gates_ != 0 ||
      recurrent.dim(1) / num_gates_ != recurrent.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat("a loop over ", x.shape().ToString(),
                                                   " cannot have recurrent weights of ",
                                                   recurrent.shape().ToString()));
  }
  Extent extent{.x = x, .batch = x.dim(1), .units = recurrent.dim(0)};
  const int64_t columns = recurrent.dim(1);
  if (kernel_.size() == 0) {
    if (x.dim(2) != columns) {
      return DoesNotFit("x", x.shape(), Shape{x.dim(0), x.dim(1), columns});
    }
  } else if (const Tensor& kernel = ctx.input(kernel_.begin);
             !(kernel.shape() == Shape{x.dim(2), columns})) {
    return DoesNotFit("the kernel", kernel.shape(), Shape{x.dim(2), columns});
  }
  if (bias_.size() > 0 && !(ctx.input(bias_.begin).shape() == Shape{columns})) {
    return DoesNotFit("the bias", ctx.input(bias_.begin).shape(), Shape{columns});
  }
  // Products with one row of x are added to those with all rows of the states.
  if (extent.batch == 1) {
    for (int i = states_.begin; i < states_.end; ++i) {
      if (ctx.input(i).rank() == 2) extent.batch = std::max(extent.batch, ctx.input(i).dim(0));
    }
    if (extent.batch > 1) {
      ASSIGN_OR_RETURN(extent.x, RowForEach(ctx, x, extent.batch));
    }
  }
  for (int i = states_.begin; i < states_.end; ++i) {
    const Shape& shape = ctx.input(i).shape();
    if (shape == Shape{extent.batch, extent.units} || shape == Shape{1, extent.units}) continue;
    return DoesNotFit("a state", shape, Shape{extent.batch, extent.units});
  }
  ASSIGN_OR_RETURN(extent.size, ReadIndexScalar(ctx.input(size_), "size"));
  if (extent.size < 0) return absl::InvalidArgumentError("a list cannot have a negative size");
  ASSIGN_OR_RETURN(extent.steps, ReadIndexScalar(ctx.input(limits_.begin), "limits"));
  for (int i = limits_.begin + 1; i < limits_.end; ++i) {
    ASSIGN_OR_RETURN(const int64_t limit, ReadIndexScalar(ctx.input(i), "limits"));
    extent.steps = std::min(extent.steps, limit);
  }
  extent.steps = std::max<int64_t>(extent.steps, 0);
  if (extent.steps > x.dim(0)) {
    return absl::InvalidArgumentError(absl::StrCat("Trying to access element ", x.dim(0),
                                                   " in a list with ", x.dim(0), " elements."));
  }
  if (!last_only_ && extent.steps > extent.size) {
    return absl::InvalidArgumentError(absl::StrCat("Trying to modify element ", extent.size,
                                                   " in a list with ", extent.size, " elements."));
  }
  return extent;
}

absl::StatusOr<std::vector<Tensor>> FusedLoopKernel::InitialStates(KernelContext& ctx,
                                                                   const Extent& extent) const {
  std::vector<Tensor> states;
  for (int i = 0; i < states_.size(); ++i) {
    const int input = states_.begin + i;
    const Tensor from = ctx.input(input);
    ASSIGN_OR_RETURN(Tensor* const state, ctx.AllocateOutput(1 + i, {extent.batch, extent.units}));
    const bool repeats = from.dim(0) != extent.batch;
    for (int64_t row = 0; row < extent.batch; ++row) {
      std::copy_n(from.data<float>() + (repeats ? 0 : row * extent.units), extent.units,
                  state->data<float>() + row * extent.units);
    }
    states.push_back(*state);
  }
  return states;
}

absl::Status FusedLoopKernel::Compute(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const Extent extent, ReadExtent(ctx));
  RETURN_IF_ERROR(CheckCell(ctx, extent.units));
  ASSIGN_OR_RETURN(std::vector<Tensor> states, InitialStates(ctx, extent));
  ASSIGN_OR_RETURN(Tensor* const y,
                   ctx.AllocateOutput(0, {extent.size, extent.batch, extent.units}));
  if (y->num_elements() > 0) {
    const int64_t written = last_only_ ? std::min<int64_t>(extent.steps, 1) : extent.steps;
    Tensor rest = y->Slice(written, extent.size);
    std::memset(rest.mutable_raw(), 0, rest.size_bytes());
  }
  if (extent.steps == 0 || states[0].num_elements() == 0) return absl::OkStatus();
  RETURN_IF_ERROR(RunAll(ctx, extent, absl::MakeSpan(states), y));
  if (!last_only_) {
    std::memcpy(states[0].mutable_raw(), y->SubSlice(extent.steps - 1).raw(),
                states[0].size_bytes());
  } else if (extent.size > 0) {
    std::memcpy(y->mutable_raw(), states[0].raw(), states[0].size_bytes());
  }
  return absl::OkStatus();
}

absl::Status FusedLoopKernel::RunAll(KernelContext& ctx, const Extent& extent,
                                     absl::Span<Tensor> states, Tensor* y) const {
  const Tensor& x = extent.x;
  const int64_t columns = num_gates_ * extent.units;
  const int64_t most = std::max<int64_t>(1, kChunkFloats / (extent.batch * columns));
  const int64_t chunks = (extent.steps + most - 1) / most;
  const int64_t length = (extent.steps + chunks - 1) / chunks;
  Tensor products;
  if (input_product_ != nullptr) {
    ASSIGN_OR_RETURN(products, ctx.AllocateTemp(DType::kFloat, {length, extent.batch, columns}));
  }
  for (int64_t first = 0; first < extent.steps; first += length) {
    const int64_t count = std::min(length, extent.steps - first);
    Tensor inputs = x.Slice(first, first + count);
    if (input_product_ != nullptr) {
      Tensor output = products.Slice(0, count);
      const MatMulShape shape{.m = count * extent.batch, .n = columns, .k = x.dim(2)};
      const bool has_bias = bias_.size() > 0;
      RETURN_IF_ERROR(
          input_product_->Run(ctx, shape, {.bias = has_bias}, inputs, ctx.input(kernel_.begin),
                              {.bias = has_bias ? &ctx.input(bias_.begin) : nullptr}, &output));
      inputs = std::move(output);
    }
    const Tensor h0 = last_only_ || first == 0 ? states[0] : y->SubSlice(first - 1);
    const Tensor h = last_only_ ? AsOneStep(states[0]) : y->Slice(first, first + count);
    RETURN_IF_ERROR(RunSteps(ctx, {.count = count,
                                   .batch = extent.batch,
                                   .units = extent.units,
                                   .inputs = inputs,
                                   .states = states,
                                   .h0 = h0,
                                   .h = h}));
  }
  return absl::OkStatus();
}

}  // namespace tessera

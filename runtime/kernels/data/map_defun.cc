// MapDefun: a function of each row of some tensors.
#include "runtime/kernels/data/dataset_kernel.h"
#include "runtime/kernels/data_flow/tensor_batch.h"

namespace tessera {
namespace {

class MapDefunKernel final : public OpKernel {
 public:
  explicit MapDefunKernel(const KernelBuild& build)
      : function_(build, "f", "captured_inputs"),
        rows_(build.inputs("arguments")),
        shapes_(build.attr<std::vector<PartialShape>>("output_shapes")) {
    if (static_cast<int>(shapes_.size()) != build.num_outputs()) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "there are ", shapes_.size(), " output_shapes for ", build.num_outputs(), " outputs")));
    }
  }
  // Errors: INVALID_ARGUMENT unless the arguments have the same number of rows, and for results
  // that differ in shape or are not of the declared types.
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const FunctionPtr function,
                     function_.Capture(ctx, rows_.size(), ctx.num_outputs()));
    ASSIGN_OR_RETURN(const int64_t count, CountRows(ctx));
    std::vector<Element> results;
    for (int64_t row = 0; row < count; ++row) {
      Element args;
      for (int i = rows_.begin; i < rows_.end; ++i) {
        ASSIGN_OR_RETURN(Tensor arg, RowOf(ctx, ctx.input(i), row));
        args.push_back(std::move(arg));
      }
      RETURN_IF_ERROR(function->Call(ctx.step(), std::move(args), &results.emplace_back()));
    }
    for (int c = 0; c < ctx.num_outputs(); ++c) {
      std::vector<const Tensor*> column;
      for (const Element& result : results) {
        if (result[c].dtype() != ctx.output_type(c) ||
            !shapes_[c].IsCompatibleWith(result[c].shape())) {
          return absl::InvalidArgumentError(
              absl::StrCat("result ", c, " of the function is ", result[c].ToString(),
                           ", declared is ", DTypeName(ctx.output_type(c)), shapes_[c].ToString()));
        }
        column.push_back(&result[c]);
      }
      ASSIGN_OR_RETURN(Tensor joined, JoinTensors(ctx.output_type(c), shapes_[c], column,
                                                  /*pads=*/false, ctx.host_allocator()));
      ctx.set_output(c, std::move(joined));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<int64_t> CountRows(const KernelContext& ctx) const {
    for (int i = rows_.begin; i < rows_.end; ++i) {
      const Tensor& argument = ctx.input(i);
      if (argument.rank() == 0) {
        return absl::InvalidArgumentError("All inputs must have rank at least 1. Input " +
                                          std::to_string(i) + " has a rank of 0.");
      }
      if (argument.dim(0) == ctx.input(rows_.begin).dim(0)) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "All inputs must have the same dimension 0. Input ", i, " has leading ", argument.dim(0),
          ", while others have leading dimension ", ctx.input(rows_.begin).dim(0)));
    }
    return ctx.input(rows_.begin).dim(0);
  }
  // Kernels expect memory that is aligned.
  static absl::StatusOr<Tensor> RowOf(KernelContext& ctx, const Tensor& rows, int64_t row) {
    Tensor slice = rows.SubSlice(row);
    if (slice.IsAligned() || !IsTriviallyCopyable(slice.dtype())) return slice;
    return ctx.CopyOf(slice);
  }

  const FunctionAttr function_;
  const ArgRange rows_;
  const std::vector<PartialShape> shapes_;
};
REGISTER_KERNEL("MapDefun", kCpu, MapDefunKernel);

}  // namespace
}  // namespace tessera

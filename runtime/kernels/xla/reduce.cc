// Reductions over dimensions by any function: XlaReduce, XlaVariadicReduce and its second version.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/xla/element_function.h"

namespace tessera {
namespace {

// Reduces by halves: the elements that are left are combined in pairs, all pairs by one call.
class ReduceKernel final : public OpKernel {
 public:
  explicit ReduceKernel(const KernelBuild& build)
      : reducer_(build, "reducer"),
        dimensions_(build.attr<std::vector<int64_t>>("dimensions_to_reduce")),
        types_(build.output_types()) {}

  absl::Status Compute(KernelContext& ctx) override {
    const int count = ctx.num_outputs();
    const Shape& shape = ctx.input(0).shape();
    std::vector<bool> is_reduced(shape.rank(), false);
    for (int64_t d : dimensions_) {
      if (d < 0 || d >= shape.rank() || is_reduced[d]) {
        return absl::InvalidArgumentError(absl::StrCat("dimensions_to_reduce has ", d,
                                                       ", which shape ", shape.ToString(),
                                                       " does not have once"));
      }
      is_reduced[d] = true;
    }
    std::vector<int64_t> kept, reduced, order;
    for (int d = 0; d < shape.rank(); ++d) (is_reduced[d] ? reduced : kept).push_back(d);
    std::vector<int64_t> kept_dims;
    for (int64_t d : kept) kept_dims.push_back(shape.dim(d));
    ASSIGN_OR_RETURN(const Shape result_shape, Shape::Make(kept_dims));
    const int64_t columns = result_shape.num_elements();
    for (int i = 0; i < count; ++i) {
      // XLA does not look at what an empty result begins with, but for quantised and complex
      // numbers, of which it makes no constants.
      const bool has_init = (columns == 0 && !IsQuantized(types_[i]) && !IsComplex(types_[i])) ||
                            ctx.input(count + i).num_elements() == 1;
      if (ctx.input(i).shape() != shape || !has_init) {
        return absl::InvalidArgumentError("the inputs differ in shape, or an init is no scalar");
      }
    }
    int64_t rows = columns == 0 ? 0 : shape.num_elements() / columns;
    ASSIGN_OR_RETURN(std::vector<Tensor> values, ToRows(ctx, shape, reduced, kept));
    while (rows > 1) RETURN_IF_ERROR(Halve(ctx, columns, &rows, &values));
    std::vector<Tensor> args;
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(Tensor init, Repeated(ctx, ctx.input(count + i), columns));
      args.push_back(std::move(init));
    }
    if (rows == 1) {
      args.insert(args.end(), values.begin(), values.end());
      RETURN_IF_ERROR(reducer_.Apply(ctx, args, types_, &values));
      args = std::move(values);
    }
    for (int i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(Tensor * output, ctx.AllocateOutput(i, result_shape));
      CopyElements(output->dtype(), args[i].raw(), output->mutable_raw(), columns);
    }
    return absl::OkStatus();
  }

 private:
  // The inputs as vectors in which the reduced dimensions stand before the others.
  static absl::StatusOr<std::vector<Tensor>> ToRows(KernelContext& ctx, const Shape& shape,
                                                    const std::vector<int64_t>& reduced,
                                                    const std::vector<int64_t>& kept) {
    std::vector<int64_t> order = reduced, dims;
    order.insert(order.end(), kept.begin(), kept.end());
    for (int64_t d : order) dims.push_back(shape.dim(d));
    std::vector<int64_t> source;
    if (shape.num_elements() > 0) {
      std::vector<int64_t> strides(shape.rank(), 1);
      for (int d = shape.rank() - 2; d >= 0; --d) strides[d] = strides[d + 1] * shape.dim(d + 1);
      source.reserve(shape.num_elements());
      std::vector<int64_t> index(order.size(), 0);
      do {
        int64_t position = 0;
        for (size_t i = 0; i < order.size(); ++i) position += index[i] * strides[order[i]];
        source.push_back(position);
      } while (Step(dims, &index));
    }
    std::vector<Tensor> rows;
    for (int i = 0; i < ctx.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(Tensor row, Pick(ctx, ctx.input(i), source));
      rows.push_back(std::move(row));
    }
    return rows;
  }

  // Combines the first rows with as many last ones. A row in the middle stays.
  absl::Status Halve(KernelContext& ctx, int64_t columns, int64_t* rows,
                     std::vector<Tensor>* values) const {
    const int64_t half = *rows / 2, left = *rows - half;
    std::vector<Tensor> args, combined;
    for (const Tensor& value : *values) args.push_back(value.Slice(0, half * columns));
    for (const Tensor& value : *values) {
      args.push_back(value.Slice(left * columns, *rows * columns));
    }
    RETURN_IF_ERROR(reducer_.Apply(ctx, args, types_, &combined));
    if (left == half) {
      *values = std::move(combined);
    } else {
      for (size_t i = 0; i < values->size(); ++i) {
        ASSIGN_OR_RETURN(Tensor joined, ctx.AllocateTemp(types_[i], {left * columns}));
        const size_t bytes = combined[i].size_bytes(), row = columns * DTypeSize(types_[i]);
        CopyElements(types_[i], combined[i].raw(), joined.mutable_raw(),
                     combined[i].num_elements());
        CopyElements(types_[i], (*values)[i].raw() + half * row, joined.mutable_raw() + bytes,
                     columns);
        (*values)[i] = std::move(joined);
      }
    }
    *rows = left;
    return absl::OkStatus();
  }

  const ElementFunction reducer_;
  const std::vector<int64_t> dimensions_;
  const std::vector<DType> types_;
};
REGISTER_KERNEL("XlaReduce", kCpu, ReduceKernel);
REGISTER_KERNEL("XlaVariadicReduce", kCpu, ReduceKernel);
REGISTER_KERNEL("XlaVariadicReduceV2", kCpu, ReduceKernel);
REGISTER_KERNEL("_CapturingXlaVariadicReduceV2", kCpu, ReduceKernel);

}  // namespace
}  // namespace tessera

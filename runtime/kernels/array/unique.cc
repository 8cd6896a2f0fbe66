// Sets of values in order of first occurrence: Unique, UniqueV2, UniqueWithCounts, ListDiff.
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/find_unique.h"
#include "runtime/kernels/primitives/gather.h"
#include "runtime/kernels/primitives/number_key.h"
#include "runtime/kernels/primitives/strided_copy.h"

namespace tessera {
namespace {

absl::Status WriteIndices(absl::Span<const int64_t> values, Tensor* output) {
  if (output->dtype() == DType::kInt64) {
    std::copy(values.begin(), values.end(), output->data<int64_t>());
  } else {
    if (values.size() > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("more than 2^31 - 1 elements: set out_idx to int64");
    }
    std::copy(values.begin(), values.end(), output->data<int32_t>());
  }
  return absl::OkStatus();
}

// Outputs: the distinct elements (or slices along an axis), for each element which one it is and,
// in the WithCounts ops, how often each stands there.
class UniqueKernel : public OpKernel {
 public:
  explicit UniqueKernel(const KernelBuild& build) : copy_(build), find_(build), gather_(build) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    int axis = 0;
    bool by_slice = false;
    if (ctx.num_inputs() > 1) {
      if (ctx.input(1).rank() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis must be a vector, has shape ", ctx.input(1).shape().ToString()));
      }
      ASSIGN_OR_RETURN(const IndexVector axes, ReadIndexVector(ctx.input(1), "axis"));
      if (axes.size() > 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("axis must have at most one element, has ", axes.size()));
      }
      if (axes.size() == 1) {
        by_slice = true;
        ASSIGN_OR_RETURN(axis, NormalizeAxis(axes[0], input.rank(), "axis"));
      }
    }
    if (!by_slice && input.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("without an axis, x must be a vector; it has "
                       "shape ",
                       input.shape().ToString()));
    }
    // Slices along the axis, each made one contiguous row.
    const int64_t count = input.dim(axis);
    const int64_t outer = DimProduct(input.shape(), 0, axis);
    const int64_t inner = DimProduct(input.shape(), axis + 1, input.rank());
    Tensor rows = input;
    if (outer != 1 && input.num_elements() > 0) {
      ASSIGN_OR_RETURN(rows, ctx.AllocateTemp(input.dtype(), Shape{count, outer, inner}));
      RETURN_IF_ERROR(copy_(ctx, {count, outer, inner}, input, {{inner, count * inner, 1}}, &rows,
                            {{outer * inner, inner, 1}}));
    }
    ASSIGN_OR_RETURN(rows, rows.Reshaped(Shape{count, outer * inner}));
    if (ctx.output_type(1) == DType::kInt32 && count > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError("more than 2^31 - 1 elements: set out_idx to int64");
    }
    ASSIGN_OR_RETURN(Tensor* const which, ctx.AllocateOutput(1, Shape{count}));
    ASSIGN_OR_RETURN(FindUnique::Distinct distinct,
                     find_(ctx, rows, /*with_counts=*/ctx.num_outputs() > 2, which));
    Shape shape = input.shape();
    shape.SetDim(axis, distinct.firsts.dim(0));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, shape));
    const Gather::Geometry slices{
        .outer = outer, .size = count, .picks = distinct.firsts.dim(0), .slice = inner};
    RETURN_IF_ERROR(gather_(ctx, slices, input, distinct.firsts, BadIndices::kSkip, values));
    if (ctx.num_outputs() > 2) ctx.set_output(2, std::move(distinct.counts));
    return absl::OkStatus();
  }

 private:
  const Primitive<StridedCopy> copy_;
  const Primitive<FindUnique> find_;
  const Primitive<Gather> gather_;
};
constexpr KernelDevices::Predicate kUniqueDevices = DevicesOf<StridedCopy, FindUnique, Gather>;
REGISTER_KERNEL("Unique", kUniqueDevices, UniqueKernel);
REGISTER_KERNEL("UniqueWithCounts", kUniqueDevices, UniqueKernel);
// Slices along an axis are told apart on the CPU alone.
REGISTER_KERNEL("UniqueV2", kCpu, UniqueKernel);
REGISTER_KERNEL("UniqueWithCountsV2", kCpu, UniqueKernel);

// The elements of x that are not in y, and where they stand in x.
class ListDiffKernel : public OpKernel {
 public:
  explicit ListDiffKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    for (int i : {0, 1}) {
      if (ctx.input(i).rank() != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            i == 0 ? "x" : "y", " must be a vector, has shape ", ctx.input(i).shape().ToString()));
      }
    }
    return VisitComparableType(ctx.input(0).dtype(), [&]<typename T>() -> absl::Status {
      const auto x = ctx.input(0).flat<T>();
      absl::flat_hash_set<MapKey<T>> excluded;
      for (const T& value : ctx.input(1).flat<T>()) excluded.insert(AsKey(value));
      std::vector<int64_t> kept;
      for (size_t i = 0; i < x.size(); ++i) {
        if (!excluded.contains(AsKey(x[i]))) kept.push_back(static_cast<int64_t>(i));
      }
      const Shape shape{static_cast<int64_t>(kept.size())};
      ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, shape));
      auto out = values->flat<T>();
      for (size_t i = 0; i < kept.size(); ++i) out[i] = x[kept[i]];
      ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(1, shape));
      return WriteIndices(kept, indices);
    });
  }
};
REGISTER_KERNEL("ListDiff", kCpu, ListDiffKernel);

}  // namespace
}  // namespace tessera

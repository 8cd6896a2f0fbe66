// Reductions of rows that belong together by number: SegmentSum and its kin, whose numbers are
// sorted, and UnsortedSegmentSum and its kin.
#include <limits>

#include "absl/strings/match.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/segment_reduce.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

ReduceKind KindOf(absl::string_view op) {
  if (absl::EndsWith(op, "Sum")) return ReduceKind::kSum;
  if (absl::EndsWith(op, "Mean")) return ReduceKind::kMean;
  if (absl::EndsWith(op, "Prod")) return ReduceKind::kProd;
  return absl::EndsWith(op, "Max") ? ReduceKind::kMax : ReduceKind::kMin;
}

// As many rows as the last number says; those without a number in `segment_ids` hold 0, or 1 for a
// product. Errors: INVALID_ARGUMENT for numbers that are negative, not sorted, or not one a row.
class SortedSegmentKernel : public OpKernel {
 public:
  explicit SortedSegmentKernel(const KernelBuild& build)
      : reduce_(Primitive<SegmentReduce>(build)(
            KindOf(build.op().name), build.output_types()[0],
            build.op().name == "SegmentProd" ? EmptySegment::kOne : EmptySegment::kZero,
            SegmentOrder::kSorted)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& segment_ids = ctx.input(1);
    if (!segment_ids.shape().IsVector() || data.rank() < 1 || data.dim(0) != segment_ids.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'segment_ids' must have one number a row of 'data'; shapes are ",
                       segment_ids.shape().ToString(), " and ", data.shape().ToString()));
    }
    Shape shape = data.shape();
    shape.SetDim(0, 0);
    if (segment_ids.num_elements() > 0) {
      const int64_t last = segment_ids.dtype() == DType::kInt32
                               ? LastIfSorted(segment_ids.flat<int32_t>())
                               : LastIfSorted(segment_ids.flat<int64_t>());
      if (last < 0) {
        return absl::InvalidArgumentError("'segment_ids' must be sorted and not negative");
      }
      ASSIGN_OR_RETURN(shape, WithRows(shape, last));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return reduce_->Run(ctx, data, segment_ids, out);
  }

 private:
  // Returns the last of some numbers, or -1 if they are not sorted or negative.
  template <typename Id>
  static int64_t LastIfSorted(absl::Span<const Id> ids) {
    Id falls = ids.front() < 0;  // of the numbers' width, for a loop of vectors
    for (size_t i = 1; i < ids.size(); ++i) falls |= static_cast<Id>(ids[i] < ids[i - 1]);
    return falls != 0 ? -1 : static_cast<int64_t>(ids.back());
  }

  // Checked, for the last number comes from outside.
  static absl::StatusOr<Shape> WithRows(const Shape& shape, int64_t last) {
    absl::InlinedVector<int64_t, 6> dims(shape.dims().begin(), shape.dims().end());
    if (last == std::numeric_limits<int64_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("segment number ", last, " is too large"));
    }
    dims[0] = last + 1;
    return Shape::Make(dims);
  }

  const std::unique_ptr<SegmentReduce> reduce_;
};
#define REGISTER_SORTED(op, dtypes)                                  \
  REGISTER_KERNEL(op, DevicesOf<SegmentReduce>, SortedSegmentKernel) \
      .TypeConstraint("T", DTypeList(dtypes))                        \
      .HostMemory("segment_ids")
REGISTER_SORTED("SegmentSum", kNumeric);
REGISTER_SORTED("SegmentMean", kNumeric);
REGISTER_SORTED("SegmentProd", kNumeric);
REGISTER_SORTED("SegmentMax", kReal);
REGISTER_SORTED("SegmentMin", kReal);

EmptySegment UnsortedEmpty(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kProd:
      return EmptySegment::kOne;
    case ReduceKind::kMax:
      return EmptySegment::kLowest;
    case ReduceKind::kMin:
      return EmptySegment::kHighest;
    default:
      return EmptySegment::kZero;
  }
}

// As many rows as `num_segments` says. The numbers may have several dimensions, which are the first
// ones of `data`; rows with negative numbers are dropped.
// Errors: INVALID_ARGUMENT for shapes that do not fit, or a number of num_segments or more.
class UnsortedSegmentKernel : public OpKernel {
 public:
  explicit UnsortedSegmentKernel(const KernelBuild& build)
      : UnsortedSegmentKernel(build, KindOf(build.op().name)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& segment_ids = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t segments, ReadIntegerOfScalar(ctx.input(2), "num_segments"));
    if (segments < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("'num_segments' must not be negative, is ", segments));
    }
    const int rank = segment_ids.rank();
    bool fits = rank <= data.rank();
    for (int d = 0; fits && d < rank; ++d) fits = segment_ids.dim(d) == data.dim(d);
    if (!fits) {
      return absl::InvalidArgumentError(
          absl::StrCat("the shape of 'segment_ids', ", segment_ids.shape().ToString(),
                       ", must begin that of 'data', ", data.shape().ToString()));
    }
    absl::InlinedVector<int64_t, 6> dims = {segments};
    dims.insert(dims.end(), data.shape().dims().begin() + rank, data.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return reduce_->Run(ctx, data, segment_ids, out);
  }

 private:
  UnsortedSegmentKernel(const KernelBuild& build, ReduceKind kind)
      : reduce_(Primitive<SegmentReduce>(build)(kind, build.output_types()[0], UnsortedEmpty(kind),
                                                SegmentOrder::kAny)) {}

  const std::unique_ptr<SegmentReduce> reduce_;
};
#define REGISTER_UNSORTED(op, dtypes)                                  \
  REGISTER_KERNEL(op, DevicesOf<SegmentReduce>, UnsortedSegmentKernel) \
      .TypeConstraint("T", DTypeList(dtypes))                          \
      .HostMemory("num_segments")
REGISTER_UNSORTED("UnsortedSegmentSum", kNumeric);
REGISTER_UNSORTED("UnsortedSegmentProd", kNumeric);
REGISTER_UNSORTED("UnsortedSegmentMax", kReal);
REGISTER_UNSORTED("UnsortedSegmentMin", kReal);

}  // namespace
}  // namespace tessera

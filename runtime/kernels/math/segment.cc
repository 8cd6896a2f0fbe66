// Reductions of rows that belong together by number: SegmentSum and its kin, whose numbers are
// sorted, and UnsortedSegmentSum and its kin.
#include <algorithm>
#include <limits>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/math/reduction.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/dtype_set.h"

namespace tessera {
namespace {

// What a segment without rows holds.
enum class Fill { kZero, kOne, kLeast, kGreatest };

template <typename T>
T FillValue(Fill fill) {
  switch (fill) {
    case Fill::kOne:
      return T(1);
    case Fill::kLeast:
      return Eigen::NumTraits<T>::lowest();
    case Fill::kGreatest:
      return Eigen::NumTraits<T>::highest();
    default:
      return T(0);
  }
}

// Sets row `segment` of `out` to the value of nothing.
void FillRow(Fill fill, int64_t segment, int64_t columns, Tensor* out) {
  auto set = [&]<typename T>(TypeTag<T>) {
    if (DTypeOf<T> == out->dtype()) {
      std::fill_n(out->data<T>() + segment * columns, columns, FillValue<T>(fill));
    }
  };
  ForEachType<kReal & ~kNarrowFloat>(set);
  set(TypeTag<Eigen::half>());
  set(TypeTag<Eigen::bfloat16>());
  if (IsComplex(out->dtype())) {
    const std::complex<double> value = fill == Fill::kOne ? 1 : 0;
    for (int64_t i = segment * columns; i < (segment + 1) * columns; ++i) {
      if (out->dtype() == DType::kComplex64) {
        out->data<std::complex<float>>()[i] = std::complex<float>(value);
      } else {
        out->data<std::complex<double>>()[i] = value;
      }
    }
  }
}

class SegmentKernel : public OpKernel {
 public:
  // `reduction` names the op whose loops are used.
  SegmentKernel(const KernelBuild& build, absl::string_view reduction, Fill fill)
      : loops_(FindReductionLoops(reduction, build.output_types()[0])), fill_(fill) {}

 protected:
  // Row s of *out gets the rows i of `data` with ids[i] == s; negative ids are left out. `data` has
  // ids.size() rows. Requires ids below the number of rows of *out.
  absl::Status Reduce(KernelContext& ctx, const Tensor& data, absl::Span<const int64_t> ids,
                      Tensor* out) const {
    if (out->num_elements() == 0) return absl::OkStatus();
    const bool narrow = IsNarrowFloat(data.dtype());
    Tensor from = data, to = *out;
    if (narrow) {
      ASSIGN_OR_RETURN(from, WidenToFloat(data, ctx.host_allocator()));
      ASSIGN_OR_RETURN(to, ctx.AllocateTemp(DType::kFloat, out->shape()));
    }
    const int64_t segments = to.dim(0), columns = to.num_elements() / segments;
    const int64_t size = loops_.size;
    ASSIGN_OR_RETURN(Tensor sizes, ctx.AllocateTemp(DType::kInt64, {segments}));
    int64_t* const counts = sizes.data<int64_t>();
    std::fill_n(counts, segments, 0);
    for (const int64_t id : ids) {
      if (id >= 0) ++counts[id];
    }
    ctx.ParallelFor(
        columns, 0.5 * static_cast<double>(ids.size()), [&](int64_t begin, int64_t end) {
          const int64_t count = end - begin;
          char* const acc = to.mutable_raw() + begin * size;
          const char* const in = from.raw() + begin * size;
          const int64_t row = columns * size;
          for (int64_t s = 0; s < segments; ++s) loops_.init(acc + s * row, count);
          for (size_t i = 0; i < ids.size(); ++i) {
            if (ids[i] < 0) continue;
            loops_.rows(acc + ids[i] * row, in + static_cast<int64_t>(i) * row, 0, 1, count);
          }
          for (int64_t s = 0; s < segments; ++s) {
            if (counts[s] > 0) loops_.finish(acc + s * row, count, counts[s], acc + s * row);
          }
        });
    if (narrow) NarrowFromFloat(to, out);
    for (int64_t s = 0; s < segments; ++s) {
      if (counts[s] == 0) FillRow(fill_, s, columns, out);
    }
    return absl::OkStatus();
  }

 private:
  const ReductionLoops loops_;
  const Fill fill_;
};

absl::string_view ReductionName(absl::string_view op) {
  absl::ConsumePrefix(&op, "Unsorted");
  absl::ConsumePrefix(&op, "Segment");
  return op;
}

// As many rows as the last number says; those without a number in `segment_ids` hold 0, or 1 for a
// product. Errors: INVALID_ARGUMENT for numbers that are negative, not sorted, or not one a row.
class SortedSegmentKernel : public SegmentKernel {
 public:
  explicit SortedSegmentKernel(const KernelBuild& build)
      : SegmentKernel(build, ReductionName(build.op().name),
                      build.op().name == "SegmentProd" ? Fill::kOne : Fill::kZero) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0);
    const Tensor& segment_ids = ctx.input(1);
    if (!segment_ids.shape().IsVector() || data.rank() < 1 || data.dim(0) != segment_ids.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'segment_ids' must have one number a row of 'data'; shapes are ",
                       segment_ids.shape().ToString(), " and ", data.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector ids, ReadIndexVector(segment_ids, "segment_ids"));
    if (!std::is_sorted(ids.begin(), ids.end()) || (!ids.empty() && ids.front() < 0)) {
      return absl::InvalidArgumentError("'segment_ids' must be sorted and not negative");
    }
    Shape shape = data.shape();
    shape.SetDim(0, 0);
    if (!ids.empty()) {
      ASSIGN_OR_RETURN(shape, WithRows(shape, ids.back()));
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return Reduce(ctx, data, ids, out);
  }

 private:
  // Checked, for the last number comes from outside.
  static absl::StatusOr<Shape> WithRows(const Shape& shape, int64_t last) {
    absl::InlinedVector<int64_t, 6> dims(shape.dims().begin(), shape.dims().end());
    if (last == std::numeric_limits<int64_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("segment number ", last, " is too large"));
    }
    dims[0] = last + 1;
    return Shape::Make(dims);
  }
};
REGISTER_KERNEL("SegmentSum", kCpu, SortedSegmentKernel).TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("SegmentMean", kCpu, SortedSegmentKernel).TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("SegmentProd", kCpu, SortedSegmentKernel).TypeConstraint("T", DTypeList(kNumeric));
REGISTER_KERNEL("SegmentMax", kCpu, SortedSegmentKernel).TypeConstraint("T", DTypeList(kReal));
REGISTER_KERNEL("SegmentMin", kCpu, SortedSegmentKernel).TypeConstraint("T", DTypeList(kReal));

Fill UnsortedFill(absl::string_view op) {
  if (absl::EndsWith(op, "Prod")) return Fill::kOne;
  if (absl::EndsWith(op, "Max")) return Fill::kLeast;
  return absl::EndsWith(op, "Min") ? Fill::kGreatest : Fill::kZero;
}

// As many rows as `num_segments` says. The numbers may have several dimensions, which are the first
// ones of `data`; rows with negative numbers are dropped.
// Errors: INVALID_ARGUMENT for shapes that do not fit, or a number of num_segments or more.
class UnsortedSegmentKernel : public SegmentKernel {
 public:
  explicit UnsortedSegmentKernel(const KernelBuild& build)
      : SegmentKernel(build, ReductionName(build.op().name), UnsortedFill(build.op().name)) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor data = ctx.input(0);
    const Tensor& segment_ids = ctx.input(1);
    ASSIGN_OR_RETURN(const int64_t segments, ReadIndexScalar(ctx.input(2), "num_segments"));
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
    ASSIGN_OR_RETURN(const Tensor flat, segment_ids.Reshaped(Shape{segment_ids.num_elements()}));
    ASSIGN_OR_RETURN(const IndexVector ids, ReadIndexVector(flat, "segment_ids"));
    for (const int64_t id : ids) {
      if (id >= segments) {
        return absl::InvalidArgumentError(
            absl::StrCat("segment number ", id, " is not below 'num_segments', ", segments));
      }
    }
    absl::InlinedVector<int64_t, 6> dims = {segments};
    dims.insert(dims.end(), data.shape().dims().begin() + rank, data.shape().dims().end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    return Reduce(ctx, data, ids, out);
  }
};
#define REGISTER_UNSORTED(op, dtypes)              \
  REGISTER_KERNEL(op, kCpu, UnsortedSegmentKernel) \
      .TypeConstraint("T", DTypeList(dtypes))      \
      .HostMemory("num_segments")
REGISTER_UNSORTED("UnsortedSegmentSum", kNumeric);
REGISTER_UNSORTED("UnsortedSegmentProd", kNumeric);
REGISTER_UNSORTED("UnsortedSegmentMax", kReal);
REGISTER_UNSORTED("UnsortedSegmentMin", kReal);

}  // namespace
}  // namespace tessera

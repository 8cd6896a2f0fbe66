// Gradients of SparseSegmentSum, Mean and SqrtN: dense ones, and with only the rows that have any.
#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/segment_lookup.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Inputs: the gradient, of which segment s is row s; the indices and segment ids of the forward op;
// and its number of rows. Row indices[i] of the data gets that of segment_ids[i], divided by the
// number of rows in the segment (Mean) or its square root (SqrtN).
class SparseSegmentGradientKernel : public OpKernel {
 public:
  explicit SparseSegmentGradientKernel(const KernelBuild& build)
      : divisor_(absl::StartsWith(build.op().name, "SparseSegmentMean") ? SegmentDivisor::kCount
                 : absl::StartsWith(build.op().name, "SparseSegmentSqrtN")
                     ? SegmentDivisor::kRootOfCount
                     : SegmentDivisor::kOne),
        only_touched_rows_(build.num_outputs() == 2),
        add_up_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    const Tensor& segment_ids = ctx.input(2);
    Tensor indices = ctx.input(1);
    if (gradient.rank() < 1 || indices.rank() != 1 || segment_ids.rank() != 1 ||
        ctx.input(3).rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "grad must have a rank of at least 1, indices and segment_ids must be vectors and the "
          "number of rows a scalar; they have shapes ",
          gradient.shape().ToString(), ", ", indices.shape().ToString(), ", ",
          segment_ids.shape().ToString(), ", ", ctx.input(3).shape().ToString()));
    }
    if (indices.dim(0) != segment_ids.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", indices.dim(0), " indices but ",
                                                     segment_ids.dim(0), " segment ids"));
    }
    ASSIGN_OR_RETURN(int64_t rows, ReadIntegerOfScalar(ctx.input(3), "output_dim0"));
    if (rows < 0) return absl::InvalidArgumentError(absl::StrCat("output_dim0 is ", rows));
    if (only_touched_rows_) RETURN_IF_ERROR(NumberTouchedRows(ctx, &indices, &rows));
    IndexVector dims(gradient.shape().dims().begin(), gradient.shape().dims().end());
    dims[0] = rows;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return add_up_(ctx, divisor_, gradient, indices, segment_ids, output);
  }

 private:
  // Gives output 1, the rows that the indices name, in order, and replaces each index by the number
  // of its row among them.
  static absl::Status NumberTouchedRows(KernelContext& ctx, Tensor* indices, int64_t* rows) {
    ASSIGN_OR_RETURN(IndexVector numbers, ReadIndexVector(*indices, "indices"));
    for (const int64_t index : numbers) {
      if (index < 0 || index >= *rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("Index ", index, " out of range [0, ", *rows, ")."));
      }
    }
    IndexVector unique(numbers);
    std::sort(unique.begin(), unique.end());
    unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
    for (int64_t& number : numbers) {
      number = std::lower_bound(unique.begin(), unique.end(), number) - unique.begin();
    }
    *rows = static_cast<int64_t>(unique.size());
    ASSIGN_OR_RETURN(Tensor* const sorted, ctx.AllocateOutput(1, Shape{*rows}));
    VisitIndexType(sorted->dtype(), [&]<typename I>() {
      std::copy(unique.begin(), unique.end(), sorted->data<I>());
    });
    ASSIGN_OR_RETURN(*indices,
                     ctx.AllocateTemp(DType::kInt64, indices->shape(), MemoryKind::kHost));
    std::copy(numbers.begin(), numbers.end(), indices->data<int64_t>());
    return absl::OkStatus();
  }

  const SegmentDivisor divisor_;
  const bool only_touched_rows_;
  const Primitive<SegmentLookupGradient> add_up_;
};
constexpr KernelDevices::Predicate kDevices = DevicesOf<SegmentLookupGradient>;
REGISTER_KERNEL("SparseSegmentSumGrad", kDevices, SparseSegmentGradientKernel)
    .HostMemory("output_dim0");
REGISTER_KERNEL("SparseSegmentMeanGrad", kDevices, SparseSegmentGradientKernel)
    .HostMemory("output_dim0");
REGISTER_KERNEL("SparseSegmentSqrtNGrad", kDevices, SparseSegmentGradientKernel)
    .HostMemory("output_dim0");
REGISTER_KERNEL("SparseSegmentSumGradV2", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentMeanGradV2", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentSqrtNGradV2", kCpu, SparseSegmentGradientKernel);

}  // namespace
}  // namespace tessera

// SparseSegmentSum, Mean and SqrtN: gathered rows summed by segment; the heart of embedding
// look-ups.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/segment_lookup.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// Inputs: data, indices into its rows, sorted segment ids (one an index), and, for the forms with
// num_segments, how many rows the output has. Without, the last segment tells, for which a device
// with a stream is waited for. Segments without an index are zero.
class SparseSegmentKernel : public OpKernel {
 public:
  explicit SparseSegmentKernel(const KernelBuild& build)
      : divisor_(absl::StrContains(build.op().name, "Mean")    ? SegmentDivisor::kCount
                 : absl::StrContains(build.op().name, "SqrtN") ? SegmentDivisor::kRootOfCount
                                                               : SegmentDivisor::kOne),
        has_count_(build.num_inputs() == 4),
        look_up_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    const Tensor& indices = ctx.input(1);
    const Tensor& segment_ids = ctx.input(2);
    if (data.rank() < 1) return absl::InvalidArgumentError("data must have rank 1 or more");
    if (indices.rank() != 1 || segment_ids.rank() != 1) {
      return absl::InvalidArgumentError("indices and segment_ids must be vectors");
    }
    if (indices.dim(0) != segment_ids.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", indices.dim(0), " indices but ",
                                                     segment_ids.dim(0), " segment ids"));
    }
    ASSIGN_OR_RETURN(const int64_t rows, CountSegments(ctx));
    Shape shape = data.shape();
    if (MultiplyWithoutOverflow(rows, DimProduct(shape, 1, shape.rank())) < 0) {
      return absl::InvalidArgumentError(absl::StrCat("too many segments: ", rows));
    }
    shape.SetDim(0, rows);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    return look_up_(ctx, divisor_, data, indices, segment_ids, output);
  }

 private:
  absl::StatusOr<int64_t> CountSegments(KernelContext& ctx) const {
    if (has_count_) {
      ASSIGN_OR_RETURN(const int64_t rows, ReadIntegerOfScalar(ctx.input(3), "num_segments"));
      if (rows < 0) return absl::InvalidArgumentError(absl::StrCat("num_segments is ", rows));
      return rows;
    }
    const Tensor& segment_ids = ctx.input(2);
    const int64_t count = segment_ids.dim(0);
    if (count == 0) return 0;
    Tensor last = segment_ids.Slice(count - 1, count);
    if (!IsHostAccessible(last.memory_kind())) {
      ASSIGN_OR_RETURN(Tensor on_host,
                       ctx.AllocateTemp(last.dtype(), last.shape(), MemoryKind::kPinned));
      ctx.stream()->Copy(last, &on_host);
      RETURN_IF_ERROR(ctx.stream()->Synchronize());
      last = std::move(on_host);
    }
    ASSIGN_OR_RETURN(const int64_t greatest, ReadIndexScalar(last, "segment_ids"));
    if (greatest < 0 || greatest == INT64_MAX) {
      return absl::InvalidArgumentError(absl::StrCat("segment_ids[", count - 1, "] is ", greatest));
    }
    return greatest + 1;
  }

  const SegmentDivisor divisor_;
  const bool has_count_;
  const Primitive<SegmentLookup> look_up_;
};
REGISTER_KERNEL("SparseSegmentSum", DevicesOf<SegmentLookup>, SparseSegmentKernel);
REGISTER_KERNEL("SparseSegmentMean", DevicesOf<SegmentLookup>, SparseSegmentKernel);
REGISTER_KERNEL("SparseSegmentSqrtN", DevicesOf<SegmentLookup>, SparseSegmentKernel);
REGISTER_KERNEL("SparseSegmentSumWithNumSegments", DevicesOf<SegmentLookup>, SparseSegmentKernel)
    .HostMemory("num_segments");
REGISTER_KERNEL("SparseSegmentMeanWithNumSegments", DevicesOf<SegmentLookup>, SparseSegmentKernel)
    .HostMemory("num_segments");
REGISTER_KERNEL("SparseSegmentSqrtNWithNumSegments", DevicesOf<SegmentLookup>, SparseSegmentKernel)
    .HostMemory("num_segments");

}  // namespace
}  // namespace tessera

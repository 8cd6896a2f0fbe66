// SegmentLookup and its gradient. Indices and segments are sorted first, so that one thread adds up
// an element in the order that the contract asks for.
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/segment_lookup.h"

namespace tessera::cuda {
namespace {

template <typename A>
__device__ A Divided(SegmentDivisor divisor, A sum, int64_t count) {
  if (count == 0 || divisor == SegmentDivisor::kOne) return sum;
  const double number = static_cast<double>(count);
  return static_cast<A>(sum / (divisor == SegmentDivisor::kCount ? number : sqrt(number)));
}

template <typename A>
__global__ void AddLookedUpRows(int64_t count, SegmentDivisor divisor, IndexRuns segments,
                                int64_t columns, int64_t rows, Input<A> data, Indices indices,
                                Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t segment = i / columns, column = i % columns;
    const int64_t begin = segments.Begin(segment);
    A sum = 0;
    int64_t at = begin;
    for (; at < segments.count && segments.pairs[at].key == static_cast<uint64_t>(segment); ++at) {
      const int64_t row = indices[segments.pairs[at].index];
      if (row >= 0 && row < rows) sum += data[row * columns + column];
    }
    // Sums of narrow integers wrap around before they are divided.
    if constexpr (std::is_integral_v<A>) sum = Rounded(output.dtype, sum);
    output.Set(i, Divided(divisor, sum, at - begin));
  }
}

absl::Status RunSegmentLookup(KernelContext& ctx, SegmentDivisor divisor, const Tensor& data,
                              const Tensor& indices, const Tensor& segment_ids, Tensor* output) {
  const int64_t count = output->num_elements();
  if (count == 0) return absl::OkStatus();
  const int64_t segments = output->dim(0), columns = count / segments;
  Tensor memory;
  ASSIGN_OR_RETURN(const IndexRuns runs,
                   SortIndices(ctx, segment_ids, segments, BadIndices::kSkip, memory));
  return VisitComputeType<kReal>(data.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, AddLookedUpRows<A>, count, divisor, runs, columns, data.dim(0),
                       Input<A>(data), Indices(indices), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(SegmentLookup, RunSegmentLookup);

template <typename A>
__global__ void AddRowGradients(int64_t count, SegmentDivisor divisor, IndexRuns rows,
                                IndexRuns segments, int64_t columns, int64_t num_segments,
                                Input<A> gradient, Indices segment_ids, Output<A> output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t row = i / columns, column = i % columns;
    A sum = 0;
    for (int64_t at = rows.Begin(row);
         at < rows.count && rows.pairs[at].key == static_cast<uint64_t>(row); ++at) {
      const int64_t segment = segment_ids[rows.pairs[at].index];
      if (segment < 0 || segment >= num_segments) continue;
      const int64_t size = divisor == SegmentDivisor::kOne
                               ? 1
                               : segments.Begin(segment + 1) - segments.Begin(segment);
      sum += Divided(divisor, gradient[segment * columns + column], size);
    }
    output.Set(i, sum);
  }
}

absl::Status RunSegmentLookupGradient(KernelContext& ctx, SegmentDivisor divisor,
                                      const Tensor& gradient, const Tensor& indices,
                                      const Tensor& segment_ids, Tensor* output) {
  const int64_t count = output->num_elements();
  if (count == 0) return absl::OkStatus();
  const int64_t rows = output->dim(0), columns = count / rows, num_segments = gradient.dim(0);
  Tensor row_memory, segment_memory;
  ASSIGN_OR_RETURN(const IndexRuns by_row,
                   SortIndices(ctx, indices, rows, BadIndices::kSkip, row_memory));
  ASSIGN_OR_RETURN(const IndexRuns by_segment,
                   SortIndices(ctx, segment_ids, num_segments, BadIndices::kSkip, segment_memory));
  return VisitComputeType<kReal>(gradient.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, AddRowGradients<A>, count, divisor, by_row, by_segment, columns,
                       num_segments, Input<A>(gradient), Indices(segment_ids), Output<A>(output));
  });
}
REGISTER_CUDA_PRIMITIVE(SegmentLookupGradient, RunSegmentLookupGradient);

}  // namespace
}  // namespace tessera::cuda

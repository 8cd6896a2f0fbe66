// Counting: Bincount, Histogram and Bucketize. What is counted is sorted first, so that a thread
// finds all elements of a bin side by side, in their order.
#include "runtime/kernels/primitives/bincount.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/histogram.h"

namespace tessera::cuda {
namespace {

// The number of boundaries that are not above `value`; of all for NaN.
template <typename V, typename B>
TESSERA_DEVICE_FUNCTION int64_t CountBelow(const B* boundaries, int64_t count, V value) {
  int64_t begin = 0, end = count;
  while (begin < end) {
    const int64_t middle = begin + (end - begin) / 2;
    if (value < boundaries[middle]) {
      end = middle;
    } else {
      begin = middle + 1;
    }
  }
  return begin;
}

// The bin of each element among those of all rows, or -1.
__global__ void FindBins(int64_t count, Indices values, const int64_t* splits, int64_t rows,
                         int64_t size, int64_t* bins) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t row = CountBelow(splits, rows + 1, i) - 1;
    const int64_t value = values[i];
    bins[i] = value >= 0 && value < size && row < rows ? row * size + value : -1;
  }
}

template <typename A>
__global__ void SumBins(int64_t num_bins, IndexRuns runs, Input<A> weights, bool binary,
                        Output<A> bins) {
  for (int64_t bin = FirstItem(); bin < num_bins; bin += ItemStep()) {
    const int64_t begin = runs.Begin(bin), end = runs.Begin(bin + 1);
    if (binary || weights.data == nullptr) {
      bins.Set(bin, static_cast<A>(binary ? begin < end : end - begin));
      continue;
    }
    A sum = 0;
    for (int64_t i = begin; i < end; ++i) {
      sum = Rounded(bins.dtype, sum + weights[runs.pairs[i].index]);
    }
    bins.Set(bin, sum);
  }
}

absl::Status RunBincount(KernelContext& ctx, absl::Span<const int64_t> row_splits,
                         const Tensor& values, const Tensor& weights, bool binary, Tensor* bins) {
  const int64_t count = values.num_elements(), num_bins = bins->num_elements();
  if (num_bins == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const Tensor splits, Upload(ctx, row_splits));
  ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt64, Shape{count}));
  RETURN_IF_ERROR(LaunchItems(ctx, count, FindBins, count, Indices(values),
                              DataOf<const int64_t>(splits),
                              static_cast<int64_t>(row_splits.size()) - 1,
                              bins->dim(bins->rank() - 1), DataOf<int64_t>(places)));
  Tensor memory;
  ASSIGN_OR_RETURN(const IndexRuns runs,
                   SortIndices(ctx, places, num_bins, BadIndices::kSkip, memory));
  const void* const weight_data = weights.num_elements() > 0 ? weights.address() : nullptr;
  return VisitComputeType<kReal>(bins->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, num_bins, SumBins<A>, num_bins, runs,
                       Input<A>(weight_data, bins->dtype()), binary, Output<A>(bins));
  });
}
REGISTER_CUDA_PRIMITIVE(Bincount, RunBincount);

template <typename A>
__global__ void FindParts(int64_t count, double low, double step, int64_t parts, Input<A> values,
                          int64_t* places) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const double place = std::floor((static_cast<double>(values[i]) - low) / step);
    const double last = static_cast<double>(parts - 1);
    places[i] = place > 0 ? static_cast<int64_t>(place < last ? place : last) : 0;
  }
}

absl::Status RunHistogram(KernelContext& ctx, double low, double high, const Tensor& values,
                          Tensor* counts) {
  const int64_t count = values.num_elements(), parts = counts->num_elements();
  ASSIGN_OR_RETURN(Tensor places, ctx.AllocateTemp(DType::kInt64, Shape{count}));
  RETURN_IF_ERROR(VisitComputeType<kReal>(values.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, FindParts<A>, count, low,
                       (high - low) / static_cast<double>(parts), parts, Input<A>(values),
                       DataOf<int64_t>(places));
  }));
  Tensor memory;
  ASSIGN_OR_RETURN(const IndexRuns runs,
                   SortIndices(ctx, places, parts, BadIndices::kSkip, memory));
  return LaunchItems(ctx, parts, SumBins<int64_t>, parts, runs,
                     Input<int64_t>(nullptr, counts->dtype()), false, Output<int64_t>(counts));
}
REGISTER_CUDA_PRIMITIVE(Histogram, RunHistogram);

template <typename A>
__global__ void FindBuckets(int64_t count, const float* boundaries, int64_t num_boundaries,
                            Input<A> values, int32_t* buckets) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    buckets[i] = static_cast<int32_t>(CountBelow(boundaries, num_boundaries, values[i]));
  }
}

absl::Status RunBucketize(KernelContext& ctx, absl::Span<const float> boundaries,
                          const Tensor& values, Tensor* buckets) {
  const int64_t count = values.num_elements();
  ASSIGN_OR_RETURN(const Tensor uploaded, Upload(ctx, boundaries));
  return VisitComputeType<kReal>(values.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, FindBuckets<A>, count, DataOf<const float>(uploaded),
                       static_cast<int64_t>(boundaries.size()), Input<A>(values),
                       DataOf<int32_t>(*buckets));
  });
}
REGISTER_CUDA_PRIMITIVE(Bucketize, RunBucketize);

}  // namespace
}  // namespace tessera::cuda

#include "runtime/kernels/primitives/histogram.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

absl::Status RunHistogram(KernelContext& ctx, double low, double high, const Tensor& values,
                          Tensor* counts) {
  const int64_t bins = counts->num_elements();
  ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt64, Shape{bins}));
  int64_t* const histogram = wide.data<int64_t>();
  std::fill_n(histogram, bins, 0);
  const double step = (high - low) / static_cast<double>(bins);
  const double last = static_cast<double>(bins - 1);
  RETURN_IF_ERROR(VisitRealType(values.dtype(), [&]<typename T>() {
    for (const T v : values.flat<T>()) {
      if (v != v) return absl::InvalidArgumentError("Histogram values must not contain NaN");
      const double place = std::floor((static_cast<double>(v) - low) / step);
      ++histogram[static_cast<int64_t>(place > 0 ? std::min(place, last) : 0)];
    }
    return absl::OkStatus();
  }));
  if (counts->dtype() == DType::kInt32) {
    std::copy_n(histogram, bins, counts->data<int32_t>());
  } else {
    std::copy_n(histogram, bins, counts->data<int64_t>());
  }
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Histogram, kCpu, RunHistogram);

// The largest number of boundaries for which comparing with all of them is faster than a search.
constexpr size_t kFewBoundaries = 32;

// Counts the boundaries that do not exceed each value, in loops over the values.
template <typename T>
void CompareWithAll(absl::Span<const float> boundaries, const T* values, int64_t count,
                    int32_t* buckets) {
  std::fill_n(buckets, count, 0);
  for (const float boundary : boundaries) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) buckets[i] += values[i] < boundary ? 0 : 1;
  }
}

absl::Status RunBucketize(KernelContext& ctx, absl::Span<const float> boundaries,
                          const Tensor& values, Tensor* buckets) {
  return VisitRealType(values.dtype(), [&]<typename T>() {
    ctx.ParallelFor(values.num_elements(), 10, [&](int64_t begin, int64_t end) {
      constexpr int64_t kChunk = 1024;
      if (boundaries.size() <= kFewBoundaries) {
        for (; begin < end; begin += kChunk) {
          CompareWithAll(boundaries, values.data<T>() + begin, std::min(kChunk, end - begin),
                         buckets->data<int32_t>() + begin);
        }
      }
      for (int64_t i = begin; i < end; ++i) {
        const auto above =
            std::upper_bound(boundaries.begin(), boundaries.end(), values.data<T>()[i],
                             [](T v, float b) { return v < b; });
        buckets->data<int32_t>()[i] = static_cast<int32_t>(above - boundaries.begin());
      }
    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(Bucketize, kCpu, RunBucketize);

}  // namespace
}  // namespace tessera

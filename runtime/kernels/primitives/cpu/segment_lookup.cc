#include "runtime/kernels/primitives/segment_lookup.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;

Numbers Widened(const Tensor& indices) {
  Numbers wide(indices.num_elements());
  VisitIndexType(indices.dtype(), [&]<typename Index>() {
    std::copy_n(indices.data<Index>(), wide.size(), wide.begin());
  });
  return wide;
}

double DivisorOf(SegmentDivisor divisor, double count) {
  return divisor == SegmentDivisor::kOne     ? 1
         : divisor == SegmentDivisor::kCount ? count
                                             : std::sqrt(count);
}

// The distance, in indices, at which rows are prefetched. They are seldom in the cache.
constexpr int64_t kAhead = 8;

// Reduces the whole segments that indices [begin, last) belong to.
template <typename T>
void AddRows(SegmentDivisor divisor, const Tensor& data, const Numbers& indices,
             const Numbers& segments, int64_t begin, int64_t last, int64_t width, Tensor* output) {
  using Sum = std::conditional_t<std::is_integral_v<T> || std::is_same_v<T, double>, T, float>;
  const T* const rows = data.data<T>();
  const int64_t bytes = width * static_cast<int64_t>(sizeof(T));
  std::vector<Sum> kept(width);
  Sum* const sums = kept.data();
  while (begin < last) {
    int64_t end = begin;
    std::fill_n(sums, width, Sum(0));
    for (; end < last && segments[end] == segments[begin]; ++end) {
      if (end + kAhead < last) {
        const char* const next =
            reinterpret_cast<const char*>(rows + indices[end + kAhead] * width);
        for (int64_t line = 0; line < std::min<int64_t>(bytes, 512); line += 64) {
          __builtin_prefetch(next + line);
        }
      }
      const T* const row = rows + indices[end] * width;
#pragma GCC ivdep
      for (int64_t i = 0; i < width; ++i) sums[i] += static_cast<Sum>(row[i]);
    }
    T* const to = output->data<T>() + segments[begin] * width;
    const double by = DivisorOf(divisor, static_cast<double>(end - begin));
    for (int64_t i = 0; i < width; ++i) {
      to[i] = static_cast<T>(divisor == SegmentDivisor::kOne ? sums[i]
                                                             : static_cast<Sum>(sums[i] / by));
    }
    begin = end;
  }
}

absl::Status RunSegmentLookup(KernelContext& ctx, SegmentDivisor divisor, const Tensor& data,
                              const Tensor& indices, const Tensor& segment_ids, Tensor* output) {
  const Numbers places = Widened(indices), segments = Widened(segment_ids);
  const int64_t rows = output->dim(0);
  for (size_t i = 0; i < segments.size(); ++i) {
    if (segments[i] < 0 || segments[i] >= rows || (i > 0 && segments[i] < segments[i - 1])) {
      return absl::InvalidArgumentError(absl::StrCat(
          "segment_ids[", i, "] is ", segments[i], ": they must be sorted and in [0, ", rows, ")"));
    }
    if (places[i] < 0 || places[i] >= data.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", i, "] is ", places[i], ", data has ", data.dim(0), " rows"));
    }
  }
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(data.dtype(), [&]<typename T>() {
    const int64_t width = output->num_elements() / rows;
    std::memset(output->mutable_raw(), 0, output->size_bytes());
    // Threads take ranges of indices, whose ends are moved to the start of a segment.
    const int64_t count = static_cast<int64_t>(segments.size());
    const auto start = [&](int64_t at) {
      while (at > 0 && at < count && segments[at] == segments[at - 1]) ++at;
      return at;
    };
    ctx.ParallelFor(count, 5 + 0.3 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
      AddRows<T>(divisor, data, places, segments, start(begin), start(end), width, output);
    });
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(SegmentLookup, kCpu, RunSegmentLookup);

template <typename T>
absl::Status AddGradients(KernelContext& ctx, SegmentDivisor divisor, const Tensor& gradient,
                          const Numbers& indices, const Numbers& segments, Tensor* output) {
  // Narrow floats are summed in float.
  using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
  const int64_t width = output->num_elements() / output->dim(0);
  std::vector<double> counts(gradient.dim(0), 0);
  for (const int64_t segment : segments) ++counts[segment];
  ASSIGN_OR_RETURN(Tensor scratch, ctx.AllocateTemp(DTypeOf<Sum>, output->shape()));
  Sum* const sums = scratch.data<Sum>();
  std::fill_n(sums, output->num_elements(), Sum(0));
  for (size_t i = 0; i < indices.size(); ++i) {
    const T* const from = gradient.data<T>() + segments[i] * width;
    Sum* const row = sums + indices[i] * width;
    const Sum scale = static_cast<Sum>(1 / DivisorOf(divisor, counts[segments[i]]));
    for (int64_t c = 0; c < width; ++c) row[c] += static_cast<Sum>(from[c]) * scale;
  }
  std::transform(sums, sums + output->num_elements(), output->data<T>(),
                 [](Sum sum) { return static_cast<T>(sum); });
  return absl::OkStatus();
}

absl::Status RunSegmentLookupGradient(KernelContext& ctx, SegmentDivisor divisor,
                                      const Tensor& gradient, const Tensor& indices,
                                      const Tensor& segment_ids, Tensor* output) {
  const Numbers places = Widened(indices), segments = Widened(segment_ids);
  const int64_t rows = output->dim(0), num_segments = gradient.dim(0);
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("Index ", places[i], " out of range [0, ", rows, ")."));
    }
    if (segments[i] < 0 || segments[i] >= num_segments) {
      return absl::InvalidArgumentError(
          absl::StrCat("Segment id ", segments[i], " out of range [0, ", num_segments, ")."));
    }
  }
  if (output->num_elements() == 0) return absl::OkStatus();
  return VisitRealType(gradient.dtype(), [&]<typename T>() {
    return AddGradients<T>(ctx, divisor, gradient, places, segments, output);
  });
}
REGISTER_PRIMITIVE(SegmentLookupGradient, kCpu, RunSegmentLookupGradient);

}  // namespace
}  // namespace tessera

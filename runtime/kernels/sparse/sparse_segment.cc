// SparseSegmentSum, Mean and SqrtN: gathered rows summed by segment; the heart of embedding
// look-ups.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

enum class Segment { kSum, kMean, kSqrtN };

// Inputs: data, indices into its rows, sorted segment ids (one an index), and, for the forms with
// num_segments, how many rows the output has. Segments without an index are zero.
template <Segment kKind, bool kHasCount>
class SparseSegmentKernel : public OpKernel {
 public:
  explicit SparseSegmentKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    if (data.rank() < 1) return absl::InvalidArgumentError("data must have rank 1 or more");
    if (ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1) {
      return absl::InvalidArgumentError("indices and segment_ids must be vectors");
    }
    ASSIGN_OR_RETURN(const IndexVector indices, ReadIndexVector(ctx.input(1), "indices"));
    ASSIGN_OR_RETURN(const IndexVector segments, ReadIndexVector(ctx.input(2), "segment_ids"));
    if (indices.size() != segments.size()) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", indices.size(), " indices but ",
                                                     segments.size(), " segment ids"));
    }
    int64_t rows = segments.empty() ? 0 : segments.back() + 1;
    if (kHasCount) {
      ASSIGN_OR_RETURN(rows, ReadIndexScalar(ctx.input(3), "num_segments"));
      if (rows < 0) return absl::InvalidArgumentError(absl::StrCat("num_segments is ", rows));
    }
    for (size_t i = 0; i < segments.size(); ++i) {
      if (segments[i] < 0 || segments[i] >= rows || (i > 0 && segments[i] < segments[i - 1])) {
        return absl::InvalidArgumentError(absl::StrCat("segment_ids[", i, "] is ", segments[i],
                                                       ": they must be sorted and in [0, ", rows,
                                                       ")"));
      }
      if (indices[i] < 0 || indices[i] >= data.dim(0)) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices[", i, "] is ", indices[i], ", data has ", data.dim(0), " rows"));
      }
    }
    Shape shape = data.shape();
    if (MultiplyWithoutOverflow(rows, DimProduct(shape, 1, shape.rank())) < 0) {
      return absl::InvalidArgumentError(absl::StrCat("too many segments: ", rows));
    }
    shape.SetDim(0, rows);
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(data.dtype(), [&]<typename T>() {
      const int64_t width = DimProduct(shape, 1, shape.rank());
      std::memset(output->mutable_raw(), 0, output->size_bytes());
      // Threads take ranges of indices, whose ends move to where a segment starts.
      const int64_t count = static_cast<int64_t>(segments.size());
      const auto start = [&](int64_t at) {
        while (at > 0 && at < count && segments[at] == segments[at - 1]) ++at;
        return at;
      };
      ctx.ParallelFor(count, 5 + 0.3 * static_cast<double>(width), [&](int64_t begin, int64_t end) {
        Reduce<T>(data, indices, segments, start(begin), start(end), width, output);
      });
      return absl::OkStatus();
    });
  }

 private:
  // Indices this far ahead are prefetched: their rows are seldom in the cache.
  static constexpr int64_t kAhead = 8;

  // Reduces the whole segments that indices [begin, last) belong to.
  template <typename T>
  static void Reduce(const Tensor& data, const IndexVector& indices, const IndexVector& segments,
                     int64_t begin, int64_t last, int64_t width, Tensor* output) {
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
      T* to = output->data<T>() + segments[begin] * width;
      const double count = static_cast<double>(end - begin);
      const double divisor = kKind == Segment::kMean    ? count
                             : kKind == Segment::kSqrtN ? std::sqrt(count)
                                                        : 1;
      for (int64_t i = 0; i < width; ++i) {
        to[i] =
            static_cast<T>(kKind == Segment::kSum ? sums[i] : static_cast<Sum>(sums[i] / divisor));
      }
      begin = end;
    }
  }
};
using SegmentSum = SparseSegmentKernel<Segment::kSum, false>;
using SegmentMean = SparseSegmentKernel<Segment::kMean, false>;
using SegmentSqrtN = SparseSegmentKernel<Segment::kSqrtN, false>;
using CountedSum = SparseSegmentKernel<Segment::kSum, true>;
using CountedMean = SparseSegmentKernel<Segment::kMean, true>;
using CountedSqrtN = SparseSegmentKernel<Segment::kSqrtN, true>;
REGISTER_KERNEL("SparseSegmentSum", kCpu, SegmentSum);
REGISTER_KERNEL("SparseSegmentMean", kCpu, SegmentMean);
REGISTER_KERNEL("SparseSegmentSqrtN", kCpu, SegmentSqrtN);
REGISTER_KERNEL("SparseSegmentSumWithNumSegments", kCpu, CountedSum);
REGISTER_KERNEL("SparseSegmentMeanWithNumSegments", kCpu, CountedMean);
REGISTER_KERNEL("SparseSegmentSqrtNWithNumSegments", kCpu, CountedSqrtN);

}  // namespace
}  // namespace tessera

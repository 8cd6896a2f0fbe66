#include "runtime/kernels/primitives/segment_reduce.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/reduction_table.h"
#include "runtime/kernels/primitives/cpu/stepwise_segment.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

template <typename T>
T ValueOf(EmptySegment empty) {
  switch (empty) {
    case EmptySegment::kOne:
      return T(1);
    case EmptySegment::kLowest:
      return Eigen::NumTraits<T>::lowest();
    case EmptySegment::kHighest:
      return Eigen::NumTraits<T>::highest();
    case EmptySegment::kZero:
      break;
  }
  return T(0);
}

// Returns the end of a run of equal segment numbers. Long runs are compared a block at a time.
template <typename Id>
size_t EndOfRun(absl::Span<const Id> ids, size_t first) {
  constexpr size_t kBlock = 16;
  const Id id = ids[first];
  size_t end = first + 1;
  if (end == ids.size() || ids[end] != id) return end;
  for (; end + kBlock <= ids.size(); end += kBlock) {
    const Id* const block = ids.data() + end;
    Id differences = 0;
    for (size_t i = 0; i < kBlock; ++i) differences |= block[i] ^ id;
    if (differences != 0) break;
  }
  while (end < ids.size() && ids[end] == id) ++end;
  return end;
}

class CpuSegmentReduce final : public SegmentReduce {
 public:
  CpuSegmentReduce(ReduceKind kind, DType dtype, EmptySegment empty, SegmentOrder order)
      : loops_(LoopsFor(kind, dtype, order)),
        empty_(empty),
        begins_with_empty_(IsFloating(dtype) &&
                           (kind == ReduceKind::kMax
                                ? empty == EmptySegment::kLowest
                                : kind == ReduceKind::kMin && empty == EmptySegment::kHighest)) {}

  absl::Status Run(KernelContext& ctx, const Tensor& data, const Tensor& segment_ids,
                   Tensor* out) const override {
    switch (segment_ids.dtype()) {
      case DType::kInt16:
        return Reduce(ctx, data, segment_ids.flat<int16_t>(), out);
      case DType::kInt32:
        return Reduce(ctx, data, segment_ids.flat<int32_t>(), out);
      default:
        return Reduce(ctx, data, segment_ids.flat<int64_t>(), out);
    }
  }

 private:
  static ReductionLoops LoopsFor(ReduceKind kind, DType dtype, SegmentOrder order) {
    const absl::optional<ReductionLoops> stepwise = FindStepwiseSegmentLoops(kind, dtype, order);
    return stepwise.has_value() ? *stepwise : FindReductionLoops(kind, dtype);
  }

  template <typename Id>
  absl::Status Reduce(KernelContext& ctx, const Tensor& data, absl::Span<const Id> ids,
                      Tensor* out) const {
    const int64_t segments = out->dim(0);
    Id largest = -1;
    for (const Id id : ids) largest = std::max(largest, id);
    // If rows have no elements, any segment number is allowed, as in TensorFlow.
    if (largest >= segments && data.num_elements() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("segment number ", largest, " is not below 'num_segments', ", segments));
    }
    if (out->num_elements() == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor sizes, ctx.AllocateTemp(DType::kInt64, {segments}));
    int64_t* const counts = sizes.data<int64_t>();
    std::fill_n(counts, segments, 0);
    for (size_t i = 0; i < ids.size();) {
      const size_t next = EndOfRun(ids, i);
      if (ids[i] >= 0) counts[ids[i]] += static_cast<int64_t>(next - i);
      i = next;
    }
    const int64_t columns = out->num_elements() / segments;
    const int64_t size = static_cast<int64_t>(DTypeSize(data.dtype()));
    Tensor sums = *out;
    if (loops_.size != size) {  // those of narrow floats
      ASSIGN_OR_RETURN(sums, ctx.AllocateTemp(DType::kFloat, out->shape()));
    }
    // Every thread reads all segment numbers, which pays only for whole cache lines of columns.
    constexpr int64_t kColumns = 16;
    ctx.ParallelFor((columns + kColumns - 1) / kColumns, 0.1 * kColumns * ids.size(),
                    [&](int64_t first_block, int64_t end_block) {
                      const int64_t begin = first_block * kColumns;
                      const int64_t count = std::min(end_block * kColumns, columns) - begin;
                      const char* const in = data.raw() + begin * size;
                      const auto acc = [&](int64_t segment) {
                        return sums.mutable_raw() + (segment * columns + begin) * loops_.size;
                      };
                      for (int64_t s = 0; s < segments; ++s) loops_.init(acc(s), count);
                      for (size_t i = 0; i < ids.size();) {
                        const size_t first = i;
                        i = EndOfRun(ids, first);
                        if (ids[first] < 0) continue;
                        loops_.rows(acc(ids[first]),
                                    in + static_cast<int64_t>(first) * columns * size,
                                    columns * size, static_cast<int64_t>(i - first), count);
                      }
                      for (int64_t s = 0; s < segments; ++s) {
                        if (counts[s] == 0) continue;
                        loops_.finish(acc(s), count, counts[s],
                                      out->mutable_raw() + (s * columns + begin) * size);
                      }
                    });
    return AddEmpty(ctx, counts, segments, columns, out);
  }

  // Sets segments without rows, and brings the others to the value that they begin with.
  absl::Status AddEmpty(KernelContext& ctx, const int64_t* counts, int64_t segments,
                        int64_t columns, Tensor* out) const {
    return VisitNumericType(out->dtype(), [&]<typename T>() {
      const T value = ValueOf<T>(empty_);
      const double cost = 0.2 * static_cast<double>(columns);
      ctx.ParallelFor(segments, cost, [&](int64_t begin, int64_t end) {
        for (int64_t s = begin; s < end; ++s) {
          T* const row = out->data<T>() + s * columns;
          if (counts[s] == 0) {
            std::fill_n(row, columns, value);
          } else if (begins_with_empty_) {
            Bound(value, columns, row);
          }
        }
      });
      return absl::OkStatus();
    });
  }

  // Replaces infinities beyond the finite number `value`.
  template <typename T>
  void Bound(T value, int64_t count, T* row) const {
    if constexpr (!Eigen::NumTraits<T>::IsComplex) {
      if (empty_ == EmptySegment::kLowest) {
        for (int64_t i = 0; i < count; ++i) row[i] = row[i] < value ? value : row[i];
      } else {
        for (int64_t i = 0; i < count; ++i) row[i] = value < row[i] ? value : row[i];
      }
    }
  }

  const ReductionLoops loops_;
  const EmptySegment empty_;
  const bool begins_with_empty_;  // only infinities are beyond it, which other numbers replace
};

REGISTER_PRIMITIVE(SegmentReduce, kCpu,
                   [](ReduceKind kind, DType dtype, EmptySegment empty,
                      SegmentOrder order) -> std::unique_ptr<SegmentReduce> {
                     return std::make_unique<CpuSegmentReduce>(kind, dtype, empty, order);
                   });

}  // namespace
}  // namespace tessera

// Writing and adding up slices by index: Scatter and SegmentReduce. The indices are sorted first,
// so that the results are the CPU's, whatever stands there several times.
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/reducers.h"
#include "runtime/kernels/primitives/scatter.h"
#include "runtime/kernels/primitives/segment_reduce.h"

namespace tessera::cuda {
namespace {

template <typename T>
__global__ void UpdateSlices(IndexRuns runs, int64_t slice, bool scalar, const T* updates,
                             T* target) {
  for (int64_t i = FirstItem(); i < runs.count * slice; i += ItemStep()) {
    const int64_t column = i % slice;
    runs.ForEach(i / slice, [&](int64_t row, int64_t place) {
      target[row * slice + column] = updates[scalar ? 0 : place * slice + column];
    });
  }
}

template <typename A>
TESSERA_DEVICE_FUNCTION A Combined(ScatterOp op, A to, A from) {
  switch (op) {
    case ScatterOp::kSub:
      return to - from;
    case ScatterOp::kMul:
      return to * from;
    case ScatterOp::kDiv:
      if constexpr (std::is_integral_v<A>) {
        // A division by zero, which nobody on the host hears of, changes nothing.
        if (from == 0) return to;
        if constexpr (std::is_signed_v<A>) {
          if (from == -1) return static_cast<A>(0 - static_cast<uint64_t>(to));
        }
      }
      return to / from;
    case ScatterOp::kMin:
      if constexpr (std::is_arithmetic_v<A>) return from < to ? from : to;
      return to;
    case ScatterOp::kMax:
      if constexpr (std::is_arithmetic_v<A>) return to < from ? from : to;
      return to;
    default:
      return to + from;
  }
}

template <typename A>
__global__ void CombineSlices(IndexRuns runs, ScatterOp op, int64_t slice, bool scalar,
                              Input<A> updates, Output<A> target) {
  for (int64_t i = FirstItem(); i < runs.count * slice; i += ItemStep()) {
    const int64_t column = i % slice;
    runs.ForEach(i / slice, [&](int64_t row, int64_t place) {
      const int64_t at = row * slice + column;
      target.Set(at, Combined(op, target[at], updates[scalar ? 0 : place * slice + column]));
    });
  }
}

absl::Status RunScatter(KernelContext& ctx, ScatterOp op, const Scatter::Geometry& geometry,
                        const Tensor& indices, BadIndices bad_indices, const Tensor& updates,
                        Tensor* target) {
  const int64_t count = indices.num_elements() * geometry.slice;
  if (count == 0 || geometry.size == 0) return absl::OkStatus();
  Tensor memory;
  ASSIGN_OR_RETURN(const IndexRuns runs,
                   SortIndices(ctx, indices, geometry.size, bad_indices, memory));
  const bool scalar = updates.rank() == 0;
  if (op == ScatterOp::kUpdate) {
    return VisitBySize(ElementSize(*target), [&]<typename T>() {
      return LaunchItems(ctx, count, UpdateSlices<T>, runs, geometry.slice, scalar,
                         DataOf<const T>(updates), DataOf<T>(*target));
    });
  }
  // The sum of bools is "or", which is their maximum.
  if (target->dtype() == DType::kBool) op = ScatterOp::kMax;
  return VisitComputeType<kNumeric | kBool>(target->dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, CombineSlices<A>, runs, op, geometry.slice, scalar,
                       Input<A>(updates), Output<A>(target));
  });
}
REGISTER_CUDA_PRIMITIVE(Scatter, RunScatter);

template <typename A>
TESSERA_DEVICE_FUNCTION A ValueOf(EmptySegment empty, DType dtype) {
  switch (empty) {
    case EmptySegment::kOne:
      return A(1);
    case EmptySegment::kLowest:
      return LeastFinite<A>(dtype);
    case EmptySegment::kHighest:
      return GreatestFinite<A>(dtype);
    case EmptySegment::kZero:
      break;
  }
  return A(0);
}

template <typename R, typename A>
__global__ void ReduceSegments(IndexRuns runs, int64_t count, int64_t columns, EmptySegment empty,
                               Input<A> data, Output<A> out) {
  const R r{};
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const int64_t segment = i / columns, column = i % columns;
    const int64_t begin = runs.Begin(segment);
    A total = R::template Neutral<A>();
    int64_t at = begin;
    for (; at < runs.count && runs.pairs[at].key == static_cast<uint64_t>(segment); ++at) {
      total = r.Add(total, data[runs.pairs[at].index * columns + column]);
    }
    if (at == begin) {
      out.Set(i, ValueOf<A>(empty, out.dtype));
      continue;
    }
    // Totals of narrow integers wrap around before means are taken.
    if constexpr (std::is_integral_v<A>) total = Rounded(out.dtype, total);
    total = r.Result(total, at - begin);
    if constexpr (std::is_same_v<R, reduce::Max> || std::is_same_v<R, reduce::Min>) {
      if (empty == EmptySegment::kLowest || empty == EmptySegment::kHighest) {
        total = r.Add(total, ValueOf<A>(empty, out.dtype));
      }
    }
    out.Set(i, total);
  }
}

class CudaSegmentReduce final : public SegmentReduce {
 public:
  CudaSegmentReduce(ReduceKind kind, DType dtype, EmptySegment empty)
      : kind_(kind), dtype_(dtype), empty_(empty) {}

  absl::Status Run(KernelContext& ctx, const Tensor& data, const Tensor& segment_ids,
                   Tensor* out) const override {
    const int64_t count = out->num_elements();
    if (count == 0) return absl::OkStatus();
    const int64_t segments = out->dim(0), columns = count / segments;
    Tensor ids = segment_ids;
    if (ctx.stream() != nullptr && ids.memory_kind() != MemoryKind::kDevice) {
      ASSIGN_OR_RETURN(ids, ctx.AllocateTemp(segment_ids.dtype(), segment_ids.shape()));
      ctx.stream()->Copy(segment_ids, &ids);
    }
    Tensor memory;
    ASSIGN_OR_RETURN(const IndexRuns runs,
                     SortIndices(ctx, ids, segments, BadIndices::kSkip, memory));
    const auto run = [&]<typename R, DTypeSet kTypes>() {
      return VisitComputeType<kTypes>(dtype_, [&]<typename A>() {
        return LaunchItems(ctx, count, ReduceSegments<R, A>, runs, count, columns, empty_,
                           Input<A>(data), Output<A>(out));
      });
    };
    switch (kind_) {
      case ReduceKind::kMean:
        return run.template operator()<reduce::Mean, kNumeric>();
      case ReduceKind::kProd:
        return run.template operator()<reduce::Prod, kNumeric>();
      case ReduceKind::kMax:
        return run.template operator()<reduce::Max, kReal>();
      case ReduceKind::kMin:
        return run.template operator()<reduce::Min, kReal>();
      default:
        return run.template operator()<reduce::Sum, kNumeric>();
    }
  }

 private:
  const ReduceKind kind_;
  const DType dtype_;
  const EmptySegment empty_;
};

REGISTER_CUDA_PRIMITIVE(SegmentReduce,
                        [](ReduceKind kind, DType dtype, EmptySegment empty,
                           SegmentOrder /*order*/) -> std::unique_ptr<SegmentReduce> {
                          return std::make_unique<CudaSegmentReduce>(kind, dtype, empty);
                        });

}  // namespace
}  // namespace tessera::cuda

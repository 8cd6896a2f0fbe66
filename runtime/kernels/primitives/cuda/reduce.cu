// Reduce and ArgMax.
#include "runtime/kernels/primitives/arg_max.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/reduce.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera::cuda {
namespace {

// A reduction of each of `outputs` elements from `length` others, in `slices` parts that are merged
// afterwards: their partial results are [slices, outputs]. Strides count elements.
struct ReduceWork {
  StridedBox<1> kept, reduced;
  int64_t slices, slice_length;

  __device__ int64_t Offset(const StridedBox<1>& box, int64_t i) const {
    int64_t offset[1];
    box.Offsets(i, offset);
    return offset[0];
  }
};

// What a kind gives over nothing, where it is not what the reducer does.
template <typename R, typename A>
__device__ A ResultOf(A total, int64_t count, DType dtype) {
  if constexpr (std::is_same_v<A, int64_t>) {
    if (count == 0 && std::is_same_v<R, reduce::Max>) return LeastFinite<A>(dtype);
    if (count == 0 && std::is_same_v<R, reduce::Min>) return GreatestFinite<A>(dtype);
    // Totals of narrow integers wrap around before roots and means are taken.
    total = Rounded(dtype, total);
    if (std::is_same_v<R, reduce::EuclideanNorm> && total < 0) {
      return dtype == DType::kInt32 || dtype == DType::kInt64 ? LeastFinite<A>(dtype) : 0;
    }
  }
  return R{}.Result(total, count);
}

// Threads of a row share one slice of one output: for reductions of what lies side by side.
template <typename R, typename A>
__global__ void ReduceRows(Rows rows, ReduceWork work, Input<A> x, A* partial, Output<A> y) {
  const R r{};
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const int64_t output = row % work.kept.count, slice = row / work.kept.count;
    const int64_t base = work.Offset(work.kept, output);
    const int64_t begin = slice * work.slice_length;
    const int64_t limit = begin + work.slice_length;
    const int64_t end = limit < work.reduced.count ? limit : work.reduced.count;
    A total = R::template Neutral<A>();
    for (int64_t i = begin + rows.Lane(); i < end; i += rows.threads) {
      total = r.Add(total, x[base + work.Offset(work.reduced, i)]);
    }
    total = rows.Reduce(total, [r](A a, A b) { return r.Merge(a, b); });
    if (rows.Lane() != 0) continue;
    if (work.slices > 1) {
      partial[row] = total;
    } else {
      y.Set(output, ResultOf<R>(total, work.reduced.count, y.dtype));
    }
  }
}

// A thread takes one slice of one output: for reductions whose outputs lie side by side.
template <typename R, typename A>
__global__ void ReduceColumns(int64_t items, ReduceWork work, Input<A> x, A* partial, Output<A> y) {
  const R r{};
  for (int64_t item = FirstItem(); item < items; item += ItemStep()) {
    const int64_t output = item % work.kept.count, slice = item / work.kept.count;
    const int64_t base = work.Offset(work.kept, output);
    const int64_t begin = slice * work.slice_length;
    const int64_t limit = begin + work.slice_length;
    const int64_t end = limit < work.reduced.count ? limit : work.reduced.count;
    A total = R::template Neutral<A>();
    for (int64_t i = begin; i < end; ++i) {
      total = r.Add(total, x[base + work.Offset(work.reduced, i)]);
    }
    if (work.slices > 1) {
      partial[item] = total;
    } else {
      y.Set(output, ResultOf<R>(total, work.reduced.count, y.dtype));
    }
  }
}

template <typename R, typename A>
__global__ void MergeSlices(Rows rows, ReduceWork work, const A* partial, Output<A> y) {
  const R r{};
  for (int64_t output = rows.First(); output < rows.count; output += rows.Step()) {
    A total = R::template Neutral<A>();
    for (int64_t s = rows.Lane(); s < work.slices; s += rows.threads) {
      total = r.Merge(total, partial[s * rows.count + output]);
    }
    total = rows.Reduce(total, [r](A a, A b) { return r.Merge(a, b); });
    if (rows.Lane() == 0) y.Set(output, ResultOf<R>(total, work.reduced.count, y.dtype));
  }
}

// Threads that fill a GPU, and the least elements that a slice is worth.
constexpr int64_t kEnoughThreads = int64_t{1} << 18;
constexpr int64_t kLeastSlice = 64;
constexpr int64_t kMaxSlices = 1024;

// Merges dimensions that are reduced or kept together; both boxes get strides in elements.
absl::StatusOr<ReduceWork> MakeWork(const Shape& shape, absl::Span<const bool> reduced,
                                    bool* inner_is_reduced) {
  ReduceWork work{};
  *inner_is_reduced = true;
  int64_t stride = 1;
  int previous = -1;  // 1 if the last dimension of more than one element was reduced
  for (int d = shape.rank() - 1; d >= 0; --d) {
    const int64_t dim = shape.dim(d);
    if (dim == 1) continue;
    StridedBox<1>& box = reduced[d] ? work.reduced : work.kept;
    if (previous < 0) *inner_is_reduced = reduced[d];
    if (previous == static_cast<int>(reduced[d])) {
      box.dims[box.rank - 1] *= dim;
    } else {
      if (box.rank == kMaxBoxRank) {
        return absl::UnimplementedError("a reduction of too many dimensions for a GPU");
      }
      box.dims[box.rank] = dim;
      box.strides[0][box.rank++] = stride;
    }
    previous = reduced[d];
    box.count *= dim;
    stride *= dim;
  }
  // Dimensions were found from the last to the first.
  for (StridedBox<1>* box : {&work.kept, &work.reduced}) {
    std::reverse(box->dims, box->dims + box->rank);
    std::reverse(box->strides[0], box->strides[0] + box->rank);
  }
  return work;
}

template <typename R, typename A>
absl::Status ReduceWith(KernelContext& ctx, ReduceWork work, bool inner_is_reduced, const Tensor& x,
                        Tensor* y) {
  const int64_t outputs = work.kept.count, length = work.reduced.count;
  const int64_t threads = inner_is_reduced ? outputs * kWarpThreads : outputs;
  const int64_t wanted = std::max<int64_t>(1, kEnoughThreads / std::max<int64_t>(1, threads));
  const int64_t least = inner_is_reduced ? kLeastSlice * kWarpThreads : kLeastSlice;
  work.slices = std::clamp<int64_t>(length / least, 1, std::min(wanted, kMaxSlices));
  work.slice_length = (length + work.slices - 1) / work.slices;
  A* partial = nullptr;
  Tensor memory;
  if (work.slices > 1) {
    const int64_t bytes = work.slices * outputs * static_cast<int64_t>(sizeof(A));
    ASSIGN_OR_RETURN(memory, ctx.AllocateTemp(DType::kUint8, Shape{bytes}));
    partial = DataOf<A>(memory);
  }
  if (inner_is_reduced) {
    RETURN_IF_ERROR(LaunchRows(ctx, outputs * work.slices, work.slice_length, ReduceRows<R, A>,
                               work, Input<A>(x), partial, Output<A>(y)));
  } else {
    RETURN_IF_ERROR(LaunchItems(ctx, outputs * work.slices, ReduceColumns<R, A>,
                                outputs * work.slices, work, Input<A>(x), partial, Output<A>(y)));
  }
  if (work.slices == 1) return absl::OkStatus();
  return LaunchRows(ctx, outputs, work.slices, MergeSlices<R, A>, work,
                    static_cast<const A*>(partial), Output<A>(y));
}

class CudaReduce final : public Reduce {
 public:
  CudaReduce(ReduceKind kind, DType dtype) : kind_(kind), dtype_(dtype) {}

  absl::Status Run(KernelContext& ctx, const Tensor& x, absl::Span<const bool> reduced,
                   Tensor* y) const override {
    if (y->num_elements() == 0) return absl::OkStatus();
    bool inner_is_reduced;
    ASSIGN_OR_RETURN(const ReduceWork work, MakeWork(x.shape(), reduced, &inner_is_reduced));
    const auto run = [&]<typename R, DTypeSet kTypes>() {
      return VisitComputeType<kTypes>(dtype_, [&]<typename A>() {
        return ReduceWith<R, A>(ctx, work, inner_is_reduced, x, y);
      });
    };
    switch (kind_) {
      case ReduceKind::kSum:
      case ReduceKind::kBiasGradient:
        return run.template operator()<reduce::Sum, kNumeric>();
      case ReduceKind::kMean:
        return run.template operator()<reduce::Mean, kNumeric>();
      case ReduceKind::kProd:
        return run.template operator()<reduce::Prod, kNumeric>();
      case ReduceKind::kEuclideanNorm:
        return run.template operator()<reduce::EuclideanNorm, kNumeric>();
      case ReduceKind::kHalfSumOfSquares:
        return run.template operator()<reduce::HalfSumOfSquares, kFloating>();
      case ReduceKind::kMax:
        return run.template operator()<reduce::Max, kReal>();
      case ReduceKind::kMin:
        return run.template operator()<reduce::Min, kReal>();
      case ReduceKind::kAll:
        return run.template operator()<reduce::All, kBool>();
      case ReduceKind::kAny:
        break;
    }
    return run.template operator()<reduce::Any, kBool>();
  }

 private:
  const ReduceKind kind_;
  const DType dtype_;
};

REGISTER_CUDA_PRIMITIVE(Reduce, [](ReduceKind kind, DType dtype) -> std::unique_ptr<Reduce> {
  return std::make_unique<CudaReduce>(kind, dtype);
});

// An element and its place, of which the earlier one of two equal elements is taken.
template <typename A>
struct Extreme {
  A value;
  int64_t index;
};
constexpr int64_t kNowhere = std::numeric_limits<int64_t>::max();

template <typename A>
__global__ void FindExtremes(Rows rows, int64_t count, int64_t inner, bool greatest, Input<A> x,
                             Output<int64_t> y) {
  const auto better = [greatest](Extreme<A> a, Extreme<A> b) {
    if (a.value == b.value) return a.index < b.index ? a : b;
    return (greatest ? b.value > a.value : b.value < a.value) ? b : a;
  };
  using Limits = device_std::numeric_limits<A>;
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const int64_t base = row / inner * count * inner + row % inner;
    Extreme<A> best{greatest ? Limits::lowest() : Limits::max(), kNowhere};
    for (int64_t i = rows.Lane(); i < count; i += rows.threads) {
      const A value = x[base + i * inner];
      if (greatest ? value > best.value : value < best.value) best = {value, i};
    }
    best = rows.Reduce(best, better);
    if (rows.Lane() == 0) y.Set(row, best.index == kNowhere ? 0 : best.index);
  }
}

absl::Status RunArgMax(KernelContext& ctx, ReduceKind kind, const Tensor& x, int axis, Tensor* y) {
  const int64_t count = x.dim(axis);
  int64_t inner = 1;
  for (int d = axis + 1; d < x.rank(); ++d) inner *= x.dim(d);
  return VisitComputeType<kReal | kBool>(x.dtype(), [&]<typename A>() {
    return LaunchRows(ctx, y->num_elements(), count, FindExtremes<A>, count, inner,
                      kind == ReduceKind::kMax, Input<A>(x), Output<int64_t>(y));
  });
}
REGISTER_CUDA_PRIMITIVE(ArgMax, RunArgMax);

}  // namespace
}  // namespace tessera::cuda

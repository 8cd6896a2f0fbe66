#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/reducers.h"
#include "runtime/kernels/primitives/scan.h"

namespace tessera::cuda {
namespace {

// Lines of `count` elements, `inner` apart.
struct Lines {
  int64_t count, inner;
  bool exclusive, reverse;

  // The place of element `i` of a line, counted in the direction of the scan.
  TESSERA_DEVICE_FUNCTION int64_t Place(int64_t line, int64_t i) const {
    const int64_t at = reverse ? count - 1 - i : i;
    return line / inner * count * inner + at * inner + line % inner;
  }
};

// Writes the totals of elements [begin, end) of a line, which `total` goes before.
template <typename R, typename A>
__device__ void ScanPart(const Lines& lines, int64_t line, int64_t begin, int64_t end, A total,
                         Input<A> x, Output<A> y) {
  const R r{};
  for (int64_t i = begin; i < end; ++i) {
    const int64_t place = lines.Place(line, i);
    const A next = r.Add(total, x[place]);
    y.Set(place, lines.exclusive ? total : next);
    total = next;
  }
}

// A thread a line.
template <typename R, typename A>
__global__ void ScanShortLines(int64_t num_lines, Lines lines, Input<A> x, Output<A> y) {
  for (int64_t line = FirstItem(); line < num_lines; line += ItemStep()) {
    ScanPart<R>(lines, line, 0, lines.count, R::template Neutral<A>(), x, y);
  }
}

// A block a line: each thread adds up a part of it, and then scans the part from the total of the
// parts before it.
template <typename R, typename A>
__global__ void ScanLongLines(int64_t num_lines, Lines lines, Input<A> x, Output<A> y) {
  const R r{};
  alignas(16) __shared__ unsigned char memory[kBlockThreads * 16];
  static_assert(sizeof(A) <= 16);
  const auto total_of = [&](int t) {
    A total;
    memcpy(&total, memory + t * 16, sizeof(A));
    return total;
  };
  const auto set_total = [&](int t, A total) { memcpy(memory + t * 16, &total, sizeof(A)); };
  const int64_t part = (lines.count + kBlockThreads - 1) / kBlockThreads;
  const int64_t begin = threadIdx.x * part;
  const int64_t end = begin + part < lines.count ? begin + part : lines.count;
  for (int64_t line = blockIdx.x; line < num_lines; line += gridDim.x) {
    A total = R::template Neutral<A>();
    for (int64_t i = begin; i < end; ++i) total = r.Add(total, x[lines.Place(line, i)]);
    set_total(threadIdx.x, total);
    __syncthreads();
    if (threadIdx.x == 0) {
      A before = R::template Neutral<A>();
      for (int t = 0; t < kBlockThreads; ++t) {
        const A own = total_of(t);
        set_total(t, before);
        before = r.Merge(before, own);
      }
    }
    __syncthreads();
    ScanPart<R>(lines, line, begin, end, total_of(threadIdx.x), x, y);
    __syncthreads();
  }
}

// Lines up to this length are scanned by one thread.
constexpr int64_t kShortLine = 128;

template <typename R, DTypeSet kTypes>
absl::Status ScanWith(KernelContext& ctx, const ScanOptions& options, const Tensor& x, Tensor* y) {
  Lines lines{x.dim(options.axis), 1, options.exclusive, options.reverse};
  for (int d = options.axis + 1; d < x.rank(); ++d) lines.inner *= x.dim(d);
  const int64_t num_lines = x.num_elements() / lines.count;
  return VisitComputeType<kTypes>(x.dtype(), [&]<typename A>() {
    if (lines.count <= kShortLine) {
      return LaunchItems(ctx, num_lines, ScanShortLines<R, A>, num_lines, lines, Input<A>(x),
                         Output<A>(y));
    }
    return LaunchBlocks(ctx, num_lines, ScanLongLines<R, A>, num_lines, lines, Input<A>(x),
                        Output<A>(y));
  });
}

absl::Status RunScan(KernelContext& ctx, const ScanOptions& options, const Tensor& x, Tensor* y) {
  if (x.num_elements() == 0) return absl::OkStatus();
  switch (options.kind) {
    case ScanKind::kSum:
      return ScanWith<reduce::Sum, kNumeric>(ctx, options, x, y);
    case ScanKind::kProd:
      return ScanWith<reduce::Prod, kNumeric>(ctx, options, x, y);
    case ScanKind::kLogSumExp:
      break;
  }
  return ScanWith<reduce::LogSumExp, kFloating>(ctx, options, x, y);
}
REGISTER_CUDA_PRIMITIVE(Scan, RunScan);

}  // namespace
}  // namespace tessera::cuda

// Each block counts the elements of a chunk that are not zero; the host, which has to know the
// number of all, adds the counts up; then each block writes the coordinates of its own.
#include <vector>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/non_zero.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/non_zero.h"

namespace tessera::cuda {
namespace {

// Consecutive elements of a thread, and of a block.
constexpr int64_t kThreadItems = 16;
constexpr int64_t kChunk = kThreadItems * kBlockThreads;

template <typename A>
struct NonZeroWork {
  Input<A> values;
  int64_t count;
  int rank;
  int64_t dims[kMaxBoxRank];

  __device__ int64_t Begin(int64_t chunk) const {
    return chunk * kChunk + threadIdx.x * kThreadItems;
  }
  __device__ int64_t End(int64_t chunk) const {
    const int64_t end = Begin(chunk) + kThreadItems;
    return end < count ? end : count;
  }
  __device__ int64_t CountOfThread(int64_t chunk) const {
    int64_t found = 0;
    for (int64_t i = Begin(chunk); i < End(chunk); ++i) found += values[i] != A(0) ? 1 : 0;
    return found;
  }
};

template <typename A>
__global__ void CountChunks(int64_t chunks, NonZeroWork<A> work, int64_t* counts) {
  const Rows block{1, kBlockThreads};
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    const int64_t found =
        block.Reduce(work.CountOfThread(chunk), [](int64_t a, int64_t b) { return a + b; });
    if (threadIdx.x == 0) counts[chunk] = found;
  }
}

// `first` holds the number of elements found before each chunk.
template <typename A>
__global__ void WriteChunks(int64_t chunks, NonZeroWork<A> work, const int64_t* first,
                            int64_t* coordinates) {
  __shared__ int64_t of_threads[kBlockThreads];
  for (int64_t chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x) {
    of_threads[threadIdx.x] = work.CountOfThread(chunk);
    __syncthreads();
    int64_t at = first[chunk];
    for (unsigned t = 0; t < threadIdx.x; ++t) at += of_threads[t];
    for (int64_t i = work.Begin(chunk); i < work.End(chunk); ++i) {
      if (work.values[i] == A(0)) continue;
      int64_t rest = i;
      for (int d = work.rank - 1; d >= 0; --d) {
        const Quotient split = DivideIndex(rest, work.dims[d]);
        coordinates[at * work.rank + d] = split.remainder;
        rest = split.quotient;
      }
      ++at;
    }
    __syncthreads();  // before the next chunk's counts are written
  }
}

// Replaces counts by their sums before each, and returns the sum of all.
absl::StatusOr<int64_t> SumOnHost(KernelContext& ctx, Tensor* counts) {
  Tensor host = *counts;
  if (ctx.stream() != nullptr) {
    ASSIGN_OR_RETURN(host, ctx.AllocateTemp(DType::kInt64, counts->shape(), MemoryKind::kPinned));
    ctx.stream()->Copy(*counts, &host);
    RETURN_IF_ERROR(ctx.stream()->Synchronize());
  }
  std::vector<int64_t> before;
  int64_t sum = 0;
  for (const int64_t count : host.flat<int64_t>()) {
    before.push_back(sum);
    sum += count;
  }
  ASSIGN_OR_RETURN(*counts, Upload<int64_t>(ctx, before));
  return sum;
}

}  // namespace

absl::StatusOr<Tensor> FindNonZero(KernelContext& ctx, const Tensor& input) {
  if (input.rank() > kMaxBoxRank) {
    return absl::UnimplementedError(
        absl::StrCat("at most ", kMaxBoxRank, " dimensions are supported on a GPU"));
  }
  const int64_t count = input.num_elements(), chunks = (count + kChunk - 1) / kChunk;
  if (count == 0) return ctx.AllocateTemp(DType::kInt64, {0, input.rank()});
  Tensor found;
  RETURN_IF_ERROR(VisitComputeType<kNumeric | kBool>(input.dtype(), [&]<typename A>() {
    NonZeroWork<A> work{input, count, input.rank(), {}};
    for (int d = 0; d < input.rank(); ++d) work.dims[d] = input.dim(d);
    ASSIGN_OR_RETURN(Tensor counts, ctx.AllocateTemp(DType::kInt64, {chunks}));
    RETURN_IF_ERROR(
        LaunchBlocks(ctx, chunks, CountChunks<A>, chunks, work, DataOf<int64_t>(counts)));
    ASSIGN_OR_RETURN(const int64_t total, SumOnHost(ctx, &counts));
    ASSIGN_OR_RETURN(found, ctx.AllocateTemp(DType::kInt64, {total, input.rank()}));
    return LaunchBlocks(ctx, chunks, WriteChunks<A>, chunks, work, DataOf<const int64_t>(counts),
                        DataOf<int64_t>(found));
  }));
  return found;
}
REGISTER_CUDA_PRIMITIVE(NonZero, FindNonZero);

}  // namespace tessera::cuda

#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"

namespace tessera::cuda {
namespace {

// Batcher's bitonic sort. A stage merges sorted sequences into those of `run` pairs, by steps that
// compare pairs `distance` apart.

// Compares one pair of pairs: number `comparison` of a step.
__device__ void CompareAndSwap(KeyIndex* pairs, int64_t comparison, int64_t distance,
                               int64_t run_mask_base, int64_t run) {
  const int64_t low = comparison / distance * distance * 2 + comparison % distance;
  const int64_t high = low + distance;
  const bool ascending = ((run_mask_base + low) & run) == 0;
  const KeyIndex a = pairs[low], b = pairs[high];
  if ((b < a) == ascending) {
    pairs[low] = b;
    pairs[high] = a;
  }
}

// Pairs that a block sorts in shared memory.
constexpr int64_t kChunk = 2 * kBlockThreads;

// All stages with runs from `first_run` to `last_run`, as far as they stay within chunks. Rows of
// `length` are divided into chunks.
__global__ void SortChunks(int64_t chunks, int64_t chunk, int64_t length, int64_t first_run,
                           int64_t last_run, KeyIndex* pairs) {
  alignas(KeyIndex) __shared__ unsigned char memory[kChunk * sizeof(KeyIndex)];
  KeyIndex* const shared = reinterpret_cast<KeyIndex*>(memory);
  for (int64_t c = blockIdx.x; c < chunks; c += gridDim.x) {
    KeyIndex* const global = pairs + c * chunk;
    for (int64_t i = threadIdx.x; i < chunk; i += blockDim.x) shared[i] = global[i];
    __syncthreads();
    // The place of the chunk in its row. The last stage sorts the whole row upwards.
    const int64_t base = c * chunk % length;
    for (int64_t run = first_run; run <= last_run; run *= 2) {
      for (int64_t distance = run / 2 < chunk / 2 ? run / 2 : chunk / 2; distance > 0;
           distance /= 2) {
        if (threadIdx.x < chunk / 2) {
          CompareAndSwap(shared, threadIdx.x, distance, base, run == length ? 0 : run);
        }
        __syncthreads();
      }
    }
    for (int64_t i = threadIdx.x; i < chunk; i += blockDim.x) global[i] = shared[i];
    __syncthreads();
  }
}

// One step over all rows.
__global__ void SortStep(int64_t comparisons, int64_t length, int64_t distance, int64_t run,
                         KeyIndex* pairs) {
  for (int64_t i = FirstItem(); i < comparisons; i += ItemStep()) {
    const int64_t row = i / (length / 2);
    CompareAndSwap(pairs + row * length, i % (length / 2), distance, 0, run == length ? 0 : run);
  }
}

__global__ void MakePairs(int64_t count, int64_t padded, Indices indices, int64_t size, bool wrap,
                          KeyIndex* pairs) {
  for (int64_t i = FirstItem(); i < padded; i += ItemStep()) {
    uint64_t key = kLastKey;
    if (i < count) {
      int64_t index = indices[i];
      if (wrap) {
        index %= size;
        if (index < 0) index += size;
      }
      if (index >= 0 && index < size) key = static_cast<uint64_t>(index);
    }
    pairs[i] = {key, i};
  }
}

template <typename A>
__global__ void AddUpRuns(int64_t count, IndexRuns runs, Input<A> values, Output<A> output) {
  for (int64_t place = FirstItem(); place < count; place += ItemStep()) {
    A sum = 0;
    for (int64_t at = runs.Begin(place);
         at < runs.count && runs.pairs[at].key == static_cast<uint64_t>(place); ++at) {
      sum += values[runs.pairs[at].index];
    }
    output.Set(place, sum);
  }
}

}  // namespace

absl::Status SortRows(KernelContext& ctx, int64_t rows, int64_t length, KeyIndex* pairs) {
  if (length <= 1 || rows == 0) return absl::OkStatus();
  const int64_t chunk = std::min(length, kChunk);
  const int64_t chunks = rows * length / chunk;
  RETURN_IF_ERROR(
      LaunchBlocks(ctx, chunks, SortChunks, chunks, chunk, length, int64_t{2}, chunk, pairs));
  for (int64_t run = 2 * chunk; run <= length; run *= 2) {
    for (int64_t distance = run / 2; distance >= chunk; distance /= 2) {
      const int64_t comparisons = rows * length / 2;
      RETURN_IF_ERROR(
          LaunchItems(ctx, comparisons, SortStep, comparisons, length, distance, run, pairs));
    }
    RETURN_IF_ERROR(LaunchBlocks(ctx, chunks, SortChunks, chunks, chunk, length, run, run, pairs));
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> AllocatePairs(KernelContext& ctx, int64_t count) {
  return ctx.AllocateTemp(DType::kInt64, Shape{count, 2});
}

absl::StatusOr<IndexRuns> SortIndices(KernelContext& ctx, const Tensor& indices, int64_t size,
                                      BadIndices bad_indices, Tensor& memory) {
  const int64_t count = indices.num_elements();
  int64_t padded = 1;
  while (padded < count) padded *= 2;
  ASSIGN_OR_RETURN(memory, AllocatePairs(ctx, padded));
  KeyIndex* const pairs = DataOf<KeyIndex>(memory);
  RETURN_IF_ERROR(LaunchItems(ctx, padded, MakePairs, count, padded, Indices(indices), size,
                              bad_indices == BadIndices::kWrap && size > 0, pairs));
  RETURN_IF_ERROR(SortRows(ctx, 1, padded, pairs));
  return IndexRuns{pairs, count};
}

absl::Status AddUpByPlace(KernelContext& ctx, const Tensor& places, const Tensor& values,
                          Tensor* output) {
  const int64_t count = output->num_elements();
  Tensor memory;
  ASSIGN_OR_RETURN(const IndexRuns runs,
                   SortIndices(ctx, places, count, BadIndices::kSkip, memory));
  return VisitComputeType<kReal>(values.dtype(), [&]<typename A>() {
    return LaunchItems(ctx, count, AddUpRuns<A>, count, runs, Input<A>(values), Output<A>(output));
  });
}

}  // namespace tessera::cuda

// Attention: of half and bfloat16 by cuDNN where that takes it, else by a kernel. A block takes a
// tile of queries, or a single one where there are few: it goes through the keys chunk by chunk,
// and rescales what it has added up whenever a greater score turns up, so that no score leaves the
// chip (Milakov and Gimelshein, arXiv:1805.02867; Dao and others, arXiv:2205.14135).
#include <algorithm>

#include "absl/status/statusor.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/neural_library.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera::cuda {
namespace {

// A tensor of tokens: distances from one image, head and token to the next, 0 where it is
// broadcast.
struct Tokens {
  char* data;
  DType dtype;
  int64_t image, head, token, features;

  __device__ int64_t Begin(int64_t i, int64_t h, int64_t t) const {
    return i * image + h * head + t * token;
  }
  __device__ float At(int64_t begin, int64_t feature) const {
    return LoadElement<float>(data, dtype, begin + feature);
  }
};

struct Mask {
  const char* data;  // null if there is none
  DType dtype;
  int64_t steps[4];  // images, heads, queries, keys

  __device__ int64_t IndexOf(int64_t i, int64_t h, int64_t q, int64_t k) const {
    return i * steps[0] + h * steps[1] + q * steps[2] + k * steps[3];
  }
  __device__ float At(int64_t i, int64_t h, int64_t q, int64_t k) const {
    return LoadElement<float>(data, dtype, IndexOf(i, h, q, k));
  }
  __device__ bool IsTrue(int64_t i, int64_t h, int64_t q, int64_t k) const {
    return data[IndexOf(i, h, q, k)] != 0;
  }
};

constexpr int kMaxMasks = 4;

// What is done to scores.
struct ScoreMasks {
  int count;
  Mask added[kMaxMasks];
  Mask keep;  // bool
  float masked;

  __device__ float Apply(float score, int64_t i, int64_t h, int64_t q, int64_t k) const {
    for (int m = 0; m < count; ++m) score += added[m].At(i, h, q, k);
    return keep.data == nullptr || keep.IsTrue(i, h, q, k) ? score : masked;
  }
};

struct AttentionWork {
  Tokens query, key, value, output;
  float* sums;  // [rows, features]; null: the output is of float, and holds them
  int64_t heads, queries, keys;
  float scale;
  ScoreMasks masks;

  __device__ float Score(int64_t i, int64_t h, int64_t q, int64_t k) const {
    const int64_t from = query.Begin(i, h, q), to = key.Begin(i, h, k);
    float score = 0;
    for (int64_t f = 0; f < query.features; ++f) score += query.At(from, f) * key.At(to, f);
    return masks.Apply(score * scale, i, h, q, k);
  }
};

__global__ void Attend(Rows rows, AttentionWork w) {
  // The weights of a chunk of keys, one for each thread.
  __shared__ float weights[kBlockThreads];
  const auto max = [](float a, float b) { return reduce::Max{}.Merge(a, b); };
  const auto add = [](float a, float b) { return a + b; };
  for (int64_t row = rows.First(); row < rows.count; row += rows.Step()) {
    const int64_t q = row % w.queries, h = row / w.queries % w.heads;
    const int64_t i = row / w.queries / w.heads;
    const int64_t place = w.output.Begin(i, h, q);
    float* const to = w.sums != nullptr ? w.sums + row * w.output.features
                                        : reinterpret_cast<float*>(w.output.data) + place;
    for (int64_t f = rows.Lane(); f < w.output.features; f += rows.threads) to[f] = 0;
    float greatest = -math::kInf, total = 0;
    for (int64_t first = 0; first < w.keys; first += rows.threads) {
      const int64_t k = first + rows.Lane();
      const float score = k < w.keys ? w.Score(i, h, q, k) : -math::kInf;
      const float next = max(greatest, rows.Reduce(score, max));
      // While all scores are minus infinity there is nothing to rescale.
      const bool nothing = next == -math::kInf;
      const float factor =
          nothing || greatest == -math::kInf ? 0.0f : math::ExpOfNegative(greatest - next);
      const float weight = nothing || k >= w.keys ? 0.0f : math::ExpOfNegative(score - next);
      weights[rows.Lane()] = weight;
      total = total * factor + rows.Reduce(weight, add);
      greatest = next;
      __syncthreads();
      const int64_t count = w.keys - first < rows.threads ? w.keys - first : rows.threads;
      for (int64_t f = rows.Lane(); f < w.output.features; f += rows.threads) {
        float sum = to[f] * factor;
        for (int64_t c = 0; c < count; ++c) {
          sum += weights[c] * w.value.At(w.value.Begin(i, h, first + c), f);
        }
        to[f] = sum;
      }
      __syncthreads();
    }
    // Of minus infinities only, the softmax is NaN. Without keys the result is 0.
    for (int64_t f = rows.Lane(); f < w.output.features; f += rows.threads) {
      StoreElement<float>(w.output.data, w.output.dtype, place + f,
                          w.keys == 0 ? 0.0f : to[f] / total);
    }
  }
}

// Before loops over arrays of a thread, which are registers only if the index is a constant.
#ifdef TESSERA_EMULATED_CUDA
#define TESSERA_UNROLL
#else
#define TESSERA_UNROLL _Pragma("unroll")
#endif

// A tile of scores: the threads of a block are kLanes by kLanes, and each computes kPart by kPart
// of them, of neighbouring queries and of every kLanes-th key.
constexpr int kTile = 64, kLanes = 16, kPart = kTile / kLanes;
// Features of queries and keys, and keys, that are in shared memory at once.
constexpr int kChunk = 16;
constexpr int kMaxTiledFeatures = 128;
constexpr int kLeastTiledQueries = 16;
constexpr int kBlocksAtOnce = 2;  // that share the registers of a multiprocessor
constexpr int kFeatureParts = kMaxTiledFeatures / kLanes;
static_assert(kLanes * kLanes == kBlockThreads);

// exp() of this and of lesser numbers is less than what a float keeps of a sum that is at least 1.
constexpr float kLeastExponent = -88;

// Shared memory of a block. Odd distances keep threads off each other's banks.
struct TileMemory {
  float queries[kChunk][kTile + 1], keys[kChunk][kTile + 1];  // by feature
  float weights[kTile][kTile + 1];                            // by query
  float values[kChunk][kMaxTiledFeatures];                    // by key
};

// Merges the values of the threads with the same queries, in a fixed order.
template <typename Merge>
__device__ float ReduceLanes(float value, Merge merge) {
  for (int mask = kLanes / 2; mask > 0; mask /= 2) {
    value = merge(value, launch_internal::ShuffleXor(value, mask));
  }
  return value;
}

// Copies kChunk features, from `first` on, of kTile tokens to shared memory; 0 for what is not
// there.
__device__ void LoadChunk(const Tokens& tokens, int64_t image, int64_t head, int64_t first_token,
                          int64_t end_token, int64_t first, float (*to)[kTile + 1]) {
  for (int e = threadIdx.x; e < kChunk * kTile; e += kBlockThreads) {
    const int f = e % kChunk, t = e / kChunk;
    const bool is_there = first_token + t < end_token && first + f < tokens.features;
    to[f][t] = is_there ? tokens.At(tokens.Begin(image, head, first_token + t), first + f) : 0.0f;
  }
}

// Each block takes kTile queries of a head, and goes through the keys by tiles. Products of
// features are added up in registers, and so are the outputs.
__global__ void __launch_bounds__(kBlockThreads, kBlocksAtOnce)
    AttendTiles(Rows tiles, AttentionWork w) {
  __shared__ TileMemory memory;
  const auto max = [](float a, float b) { return reduce::Max{}.Merge(a, b); };
  const auto add = [](float a, float b) { return a + b; };
  const int lane = threadIdx.x % kLanes, part = threadIdx.x / kLanes * kPart;
  const int64_t tiles_of_head = (w.queries + kTile - 1) / kTile;
  for (int64_t tile = tiles.First(); tile < tiles.count; tile += tiles.Step()) {
    const int64_t h = tile / tiles_of_head % w.heads, i = tile / tiles_of_head / w.heads;
    const int64_t first_query = tile % tiles_of_head * kTile;
    float sums[kPart][kFeatureParts] = {}, total[kPart] = {}, greatest[kPart];
    TESSERA_UNROLL
    for (float& value : greatest) value = -math::kInf;
    for (int64_t first_key = 0; first_key < w.keys; first_key += kTile) {
      const auto is_score = [&](int r, int c) {
        return first_query + part + r < w.queries && first_key + lane + c * kLanes < w.keys;
      };
      if (w.masks.keep.data != nullptr) {
        // Scores that are masked weigh nothing beside greater ones: a tile of such is left out.
        bool counts = false;
        TESSERA_UNROLL
        for (int r = 0; r < kPart; ++r) {
          const bool is_negligible = w.masks.masked - greatest[r] < kLeastExponent;
          TESSERA_UNROLL
          for (int c = 0; c < kPart; ++c) {
            counts =
                counts || (is_score(r, c) &&
                           (!is_negligible || w.masks.keep.IsTrue(i, h, first_query + part + r,
                                                                  first_key + lane + c * kLanes)));
          }
        }
        if (tiles.Reduce(counts ? 1.0f : 0.0f, max) == 0.0f) continue;
      }
      float scores[kPart][kPart] = {};
      for (int64_t first = 0; first < w.query.features; first += kChunk) {
        LoadChunk(w.query, i, h, first_query, w.queries, first, memory.queries);
        LoadChunk(w.key, i, h, first_key, w.keys, first, memory.keys);
        __syncthreads();
        TESSERA_UNROLL
        for (int f = 0; f < kChunk; ++f) {
          TESSERA_UNROLL
          for (int r = 0; r < kPart; ++r) {
            TESSERA_UNROLL
            for (int c = 0; c < kPart; ++c) {
              scores[r][c] += memory.queries[f][part + r] * memory.keys[f][lane + c * kLanes];
            }
          }
        }
        __syncthreads();
      }
      TESSERA_UNROLL
      for (int r = 0; r < kPart; ++r) {
        float next = -math::kInf;
        TESSERA_UNROLL
        for (int c = 0; c < kPart; ++c) {
          float& score = scores[r][c];
          score = is_score(r, c) ? w.masks.Apply(score * w.scale, i, h, first_query + part + r,
                                                 first_key + lane + c * kLanes)
                                 : -math::kInf;
          next = max(next, score);
        }
        next = max(greatest[r], ReduceLanes(next, max));
        // While all scores are minus infinity there is nothing to rescale.
        const bool nothing = next == -math::kInf;
        const float factor =
            nothing || greatest[r] == -math::kInf ? 0.0f : math::ExpOfNegative(greatest[r] - next);
        float sum = 0;
        TESSERA_UNROLL
        for (int c = 0; c < kPart; ++c) {
          const float weight =
              nothing || !is_score(r, c) ? 0.0f : math::ExpOfNegative(scores[r][c] - next);
          memory.weights[part + r][lane + c * kLanes] = weight;
          sum += weight;
        }
        total[r] = total[r] * factor + ReduceLanes(sum, add);
        greatest[r] = next;
        TESSERA_UNROLL
        for (float& value : sums[r]) value *= factor;
      }
      const int64_t count = w.keys - first_key < kTile ? w.keys - first_key : kTile;
      for (int64_t first = 0; first < count; first += kChunk) {
        for (int e = threadIdx.x; e < kChunk * kMaxTiledFeatures; e += kBlockThreads) {
          const int f = e % kMaxTiledFeatures, k = e / kMaxTiledFeatures;
          const bool is_there = first + k < count && f < w.value.features;
          memory.values[k][f] =
              is_there ? w.value.At(w.value.Begin(i, h, first_key + first + k), f) : 0.0f;
        }
        __syncthreads();
        TESSERA_UNROLL
        for (int k = 0; k < kChunk; ++k) {
          TESSERA_UNROLL
          for (int r = 0; r < kPart; ++r) {
            const float weight = memory.weights[part + r][first + k];
            TESSERA_UNROLL
            for (int f = 0; f < kFeatureParts; ++f) {
              sums[r][f] += weight * memory.values[k][lane + f * kLanes];
            }
          }
        }
        __syncthreads();
      }
    }
    TESSERA_UNROLL
    for (int r = 0; r < kPart; ++r) {
      if (first_query + part + r >= w.queries) continue;
      const int64_t place = w.output.Begin(i, h, first_query + part + r);
      TESSERA_UNROLL
      for (int f = 0; f < kFeatureParts; ++f) {
        const int feature = lane + f * kLanes;
        if (feature >= w.output.features) continue;
        // Of minus infinities only, the softmax is NaN. Without keys the result is 0.
        StoreElement<float>(w.output.data, w.output.dtype, place + feature,
                            w.keys == 0 ? 0.0f : sums[r][f] / total[r]);
      }
    }
  }
}

struct ScoreSizes {
  int64_t dims[4];  // images, heads, queries, keys
};

// The sum of the masks; -1e30, which no score changes, where `keep` is false.
__global__ void SumMasks(int64_t count, ScoreSizes shape, ScoreMasks masks, float* sums) {
  for (int64_t item = FirstItem(); item < count; item += ItemStep()) {
    const Quotient row = DivideIndex(item, shape.dims[3]);
    const Quotient matrix = DivideIndex(row.quotient, shape.dims[2]);
    const Quotient image = DivideIndex(matrix.quotient, shape.dims[1]);
    sums[item] = masks.Apply(0, image.quotient, image.remainder, matrix.remainder, row.remainder);
  }
}

Tokens TokensOf(const Tensor& t, const AttentionOrder& order) {
  const int64_t tokens = order.tokens(t), heads = order.heads(t), features = t.dim(3);
  return {t.address(),
          t.dtype(),
          t.dim(0) == 1 ? 0 : tokens * heads * features,
          heads == 1 ? 0 : (order.heads_first ? tokens : 1) * features,
          order.token_stride(t),
          features};
}

Mask MaskOf(const AttentionMask& mask) {
  return {mask.tensor().address(),
          mask.tensor().dtype(),
          {mask.step(0), mask.step(1), mask.step(2), mask.step(3)}};
}

ScoreMasks MasksOf(const AttentionInputs& inputs) {
  ScoreMasks masks{static_cast<int>(inputs.masks.size()), {}, {}, inputs.masked};
  for (int m = 0; m < masks.count; ++m) masks.added[m] = MaskOf(inputs.masks[m]);
  if (inputs.keep.has_value()) masks.keep = MaskOf(*inputs.keep);
  return masks;
}

// The dimensions of a mask, those that it lacks being 1.
Shape ScoreShapeOf(const AttentionMask& mask) {
  Shape shape = {1, 1, 1, 1};
  const int rank = mask.shape().rank();
  for (int d = 0; d < rank; ++d) shape.SetDim(4 - rank + d, mask.shape().dim(d));
  return shape;
}

// Attention by a library, which adds one tensor to the scores; false if that does not take it.
absl::StatusOr<bool> AttendWithBias(KernelContext& ctx, const AttentionInputs& inputs,
                                    const Tensor& output) {
  if (inputs.query->dtype() == DType::kFloat || inputs.keys == 0) return false;
  if (inputs.masks.empty() && !inputs.keep.has_value()) {
    return AttendByLibrary(ctx, inputs, /*bias=*/nullptr, output);
  }
  if (inputs.masks.size() == 1 && !inputs.keep.has_value()) {
    const AttentionBias bias{inputs.masks[0].tensor(), ScoreShapeOf(inputs.masks[0])};
    return AttendByLibrary(ctx, inputs, &bias, output);
  }
  // Scores that are replaced by a number that small have no weight beside others, and equal weights
  // among themselves, as have those to which -1e30 is added. Minus infinity would give NaN.
  constexpr float kNegligible = -1e4f;
  if (inputs.keep.has_value() &&
      (!(inputs.masked <= kNegligible) || inputs.masked == -math::kInf)) {
    return false;
  }
  ScoreMasks masks = MasksOf(inputs);
  masks.masked = -1e30f;
  Shape shape = {1, 1, 1, 1};
  const auto widen = [&](const AttentionMask& mask) {
    const Shape other = ScoreShapeOf(mask);
    for (int d = 0; d < 4; ++d) shape.SetDim(d, std::max(shape.dim(d), other.dim(d)));
  };
  for (const AttentionMask& mask : inputs.masks) widen(mask);
  if (inputs.keep.has_value()) widen(*inputs.keep);
  ASSIGN_OR_RETURN(Tensor sums, ctx.AllocateTemp(DType::kFloat, shape));
  const ScoreSizes sizes{{shape.dim(0), shape.dim(1), shape.dim(2), shape.dim(3)}};
  RETURN_IF_ERROR(LaunchItems(ctx, sums.num_elements(), SumMasks, sums.num_elements(), sizes, masks,
                              DataOf<float>(sums)));
  const AttentionBias bias{sums, shape};
  return AttendByLibrary(ctx, inputs, &bias, output);
}

absl::Status RunAttention(KernelContext& ctx, const AttentionInputs& inputs, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  if (inputs.masks.size() > kMaxMasks) {
    return absl::UnimplementedError(absl::StrCat("attention with ", inputs.masks.size(),
                                                 " masks; a GPU adds at most ", kMaxMasks));
  }
  ASSIGN_OR_RETURN(const bool done, AttendWithBias(ctx, inputs, *output));
  if (done) return absl::OkStatus();
  AttentionWork work{TokensOf(*inputs.query, inputs.query_order),
                     TokensOf(*inputs.key, inputs.key_order),
                     TokensOf(*inputs.value, inputs.value_order),
                     TokensOf(*output, inputs.output_order),
                     /*sums=*/nullptr,
                     inputs.heads,
                     inputs.queries,
                     inputs.keys,
                     inputs.scale,
                     MasksOf(inputs)};
  if (inputs.queries >= kLeastTiledQueries && output->dim(3) <= kMaxTiledFeatures) {
    const int64_t tiles = inputs.batch * inputs.heads * ((inputs.queries + kTile - 1) / kTile);
    return LaunchBlocks(ctx, tiles, AttendTiles, Rows{tiles, kBlockThreads}, work);
  }
  // A block a query, whatever the number of keys.
  const Rows rows{inputs.batch * inputs.heads * inputs.queries, kBlockThreads};
  if (output->dtype() == DType::kFloat) return LaunchBlocks(ctx, rows.count, Attend, rows, work);
  ASSIGN_OR_RETURN(const Tensor sums,
                   ctx.AllocateTemp(DType::kFloat, Shape{rows.count, output->dim(3)}));
  work.sums = DataOf<float>(sums);
  return LaunchBlocks(ctx, rows.count, Attend, rows, work);
}
REGISTER_CUDA_PRIMITIVE(Attention, RunAttention);
REGISTER_CUDA_PRIMITIVE(NarrowAttention, RunAttention);

}  // namespace
}  // namespace tessera::cuda

// Attention. A block takes a query: it goes through the keys chunk by chunk, and rescales what it
// has added up whenever a greater score turns up, so that no score leaves the chip (Milakov and
// Gimelshein, arXiv:1805.02867; Dao and others, arXiv:2205.14135).
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/math/elementary_functions.h"
#include "runtime/kernels/primitives/reducers.h"

namespace tessera::cuda {
namespace {

// A tensor of tokens: distances from one image, head and token to the next, 0 where it is
// broadcast.
struct Tokens {
  float* data;
  int64_t image, head, token, features;

  __device__ float* At(int64_t i, int64_t h, int64_t t) const {
    return data + i * image + h * head + t * token;
  }
};

template <typename T>
struct Mask {
  const T* data;
  int64_t steps[4];  // images, heads, queries, keys

  __device__ T At(int64_t i, int64_t h, int64_t q, int64_t k) const {
    return data[i * steps[0] + h * steps[1] + q * steps[2] + k * steps[3]];
  }
};

constexpr int kMaxMasks = 4;

struct AttentionWork {
  Tokens query, key, value, output;
  int64_t heads, queries, keys;
  float scale;
  int num_masks;
  Mask<float> masks[kMaxMasks];
  Mask<bool> keep;  // its data is null if there is none
  float masked;

  __device__ float Score(int64_t i, int64_t h, int64_t q, int64_t k, const float* from) const {
    const float* const to = key.At(i, h, k);
    float score = 0;
    for (int64_t f = 0; f < query.features; ++f) score += from[f] * to[f];
    score *= scale;
    for (int m = 0; m < num_masks; ++m) score += masks[m].At(i, h, q, k);
    return keep.data == nullptr || keep.At(i, h, q, k) ? score : masked;
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
    const float* const from = w.query.At(i, h, q);
    float* const to = w.output.At(i, h, q);
    for (int64_t f = rows.Lane(); f < w.output.features; f += rows.threads) to[f] = 0;
    float greatest = -math::kInf, total = 0;
    for (int64_t first = 0; first < w.keys; first += rows.threads) {
      const int64_t k = first + rows.Lane();
      const float score = k < w.keys ? w.Score(i, h, q, k, from) : -math::kInf;
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
        for (int64_t c = 0; c < count; ++c) sum += weights[c] * w.value.At(i, h, first + c)[f];
        to[f] = sum;
      }
      __syncthreads();
    }
    if (w.keys == 0) continue;
    // Of minus infinities only, the softmax is NaN.
    for (int64_t f = rows.Lane(); f < w.output.features; f += rows.threads) to[f] /= total;
  }
}

Tokens TokensOf(const Tensor& t, const AttentionOrder& order) {
  const int64_t tokens = order.tokens(t), heads = order.heads(t), features = t.dim(3);
  return {DataOf<float>(t), t.dim(0) == 1 ? 0 : tokens * heads * features,
          heads == 1 ? 0 : (order.heads_first ? tokens : 1) * features, order.token_stride(t),
          features};
}

template <typename T>
Mask<T> MaskOf(const AttentionMask& mask) {
  return {DataOf<const T>(mask.tensor()), {mask.step(0), mask.step(1), mask.step(2), mask.step(3)}};
}

absl::Status RunAttention(KernelContext& ctx, const AttentionInputs& inputs, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  if (inputs.masks.size() > kMaxMasks) {
    return absl::UnimplementedError(absl::StrCat("attention with ", inputs.masks.size(),
                                                 " masks; a GPU adds at most ", kMaxMasks));
  }
  AttentionWork work{TokensOf(*inputs.query, inputs.query_order),
                     TokensOf(*inputs.key, inputs.key_order),
                     TokensOf(*inputs.value, inputs.value_order),
                     TokensOf(*output, inputs.output_order),
                     inputs.heads,
                     inputs.queries,
                     inputs.keys,
                     inputs.scale,
                     static_cast<int>(inputs.masks.size()),
                     {},
                     {},
                     inputs.masked};
  for (int m = 0; m < work.num_masks; ++m) work.masks[m] = MaskOf<float>(inputs.masks[m]);
  if (inputs.keep.has_value()) work.keep = MaskOf<bool>(*inputs.keep);
  // A block a query, whatever the number of keys.
  const int64_t rows = inputs.batch * inputs.heads * inputs.queries;
  return LaunchBlocks(ctx, rows, Attend, Rows{rows, kBlockThreads}, work);
}
REGISTER_CUDA_PRIMITIVE(Attention, RunAttention);

}  // namespace
}  // namespace tessera::cuda

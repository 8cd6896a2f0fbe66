// Attention, computed head by head. Each head computes the scores of as many queries as fit into
// the cache, their softmax, and the weighted sum of the values, and only then turns to the next
// queries.
#include "runtime/kernels/primitives/attention.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/attention_gemm.h"
#include "runtime/kernels/primitives/cpu/attention_softmax.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// The number of scores that stay in the cache of a core.
constexpr int64_t kCacheFloats = 1 << 15;
// The smallest number of queries for which packing the values pays.
constexpr int64_t kMinQueries = 24;

// The working memory of one thread.
struct Scratch {
  HeadMatrix keys, values;
  float *packed_keys = nullptr, *packed_values = nullptr;
  float* scores = nullptr;    // the scores of some queries
  float* shares = nullptr;    // the factors of these queries' exponentials
  int64_t rows = 0, row = 0;  // the number of queries, and the space for the scores of each
};

// Returns the mask of a head's queries from `query` on.
template <typename T>
ScoreMask<T> MaskOf(const AttentionMask& mask, int64_t image, int64_t head, int64_t query) {
  const T* const first = mask.tensor().data<T>();
  return {first + image * mask.step(0) + head * mask.step(1) + query * mask.step(2), mask.step(2),
          mask.step(3)};
}

// Replaces the scores of the queries from `query` on by their softmax. The caller sets all members
// of `rows` except the scale and the masks.
void Weigh(const AttentionInputs& in, int64_t image, int64_t head, int64_t query, ScoreRows rows) {
  static const auto weigh = HasAvx512() ? avx512::SoftmaxScores : avx2::SoftmaxScores;
  absl::InlinedVector<ScoreMask<float>, 2> masks;
  for (const AttentionMask& mask : in.masks) {
    masks.push_back(MaskOf<float>(mask, image, head, query));
  }
  rows.masks = masks.data();
  rows.num_masks = masks.size();
  if (in.keep.has_value()) rows.keep = MaskOf<bool>(*in.keep, image, head, query);
  rows.scale = in.scale;
  rows.masked = in.masked;
  weigh(rows);
}

// The operands of the next head, which are prefetched.
struct Next {
  simd::PrefetchRows query, key, value;
};
Next After(const AttentionInputs& in, int64_t image, int64_t head) {
  if (++head == in.heads) {
    head = 0;
    if (++image == in.batch) return Next();
  }
  const auto tokens_of = [&](const Tensor& t, const AttentionOrder& order) -> simd::PrefetchRows {
    return {t.data<float>() + order.Begin(t, image, head), t.dim(3), order.tokens(t),
            order.token_stride(t)};
  };
  return {tokens_of(*in.query, in.query_order), tokens_of(*in.key, in.key_order),
          tokens_of(*in.value, in.value_order)};
}

// Computes `count` queries of a head, from `first` on.
void AttendHead(const AttentionInputs& in, int64_t image, int64_t head, int64_t first,
                int64_t count, Scratch& scratch, Tensor* result) {
  static const auto scale = HasAvx512() ? avx512::ScaleRows : avx2::ScaleRows;
  const float* const key = in.key->data<float>() + in.key_order.Begin(*in.key, image, head);
  scratch.keys.PackTransposed(key, in.key_order.token_stride(*in.key), scratch.packed_keys);
  const float* const value = in.value->data<float>() + in.value_order.Begin(*in.value, image, head);
  const int64_t value_stride = in.value_order.token_stride(*in.value);
  if (in.queries >= kMinQueries || !scratch.values.UseInPlace(value, value_stride)) {
    scratch.values.Pack(value, value_stride, scratch.packed_values);
  }
  const float* const query = in.query->data<float>() + in.query_order.Begin(*in.query, image, head);
  const int64_t query_stride = in.query_order.token_stride(*in.query);
  float* const output = result->data<float>() + in.output_order.Begin(*result, image, head);
  const int64_t output_stride = in.output_order.token_stride(*result);
  for (const int64_t end = first + count; first < end; first += scratch.rows) {
    const int64_t rows = std::min(scratch.rows, end - first);
    const Next next = first + rows == end ? After(in, image, head) : Next();
    scratch.keys.Multiply(query + first * query_stride, query_stride, rows, scratch.scores,
                          scratch.row, {next.key, next.query});
    Weigh(in, image, head, first,
          {.scores = scratch.scores,
           .rows = rows,
           .count = in.keys,
           .step = scratch.row,
           .shares = scratch.shares});
    // The sums of values are scaled in place of the scores, because they are fewer.
    float* const sums = output + first * output_stride;
    scratch.values.Multiply(scratch.scores, scratch.row, rows, sums, output_stride, {next.value});
    scale(scratch.shares, rows, in.value->dim(3), output_stride, sums);
  }
}

// Computes the queries [begin, end), counted over all heads of all images.
absl::Status AttendRange(KernelContext& ctx, const AttentionInputs& in, int64_t begin, int64_t end,
                         Tensor* output) {
  const simd::Loops& loops = simd::LoopsForCpu();
  Scratch scratch{.keys = HeadMatrix(loops, in.query->dim(3), in.keys),
                  .values = HeadMatrix(loops, in.keys, in.value->dim(3))};
  scratch.row = (in.keys + kScoreLanes - 1) / kScoreLanes * kScoreLanes;
  scratch.rows = std::min(end - begin, std::max(kMinQueries, kCacheFloats / scratch.row));
  const int64_t keys = scratch.keys.size(), values = scratch.values.size();
  ASSIGN_OR_RETURN(
      Tensor workspace,
      ctx.AllocateTemp(DType::kFloat, {keys + values + scratch.rows * (scratch.row + 1)}));
  scratch.packed_keys = workspace.data<float>();
  scratch.packed_values = scratch.packed_keys + keys;
  scratch.scores = scratch.packed_values + values;
  scratch.shares = scratch.scores + scratch.rows * scratch.row;
  for (int64_t at = begin; at < end;) {
    const int64_t head = at / in.queries, first = at % in.queries;
    const int64_t count = std::min(end - at, in.queries - first);
    AttendHead(in, head / in.heads, head % in.heads, first, count, scratch, output);
    at += count;
  }
  return absl::OkStatus();
}

absl::Status Attend(KernelContext& ctx, const AttentionInputs& in, Tensor* output) {
  if (output->num_elements() == 0) return absl::OkStatus();
  if (in.keys == 0) {
    std::fill_n(output->data<float>(), output->num_elements(), 0.0f);
    return absl::OkStatus();
  }
  const int64_t rows = in.batch * in.heads * in.queries;
  const double nanoseconds =
      2.0 * rows * in.keys * (in.query->dim(3) + in.value->dim(3) + 32) / SpeedsForCpu().fma_flops;
  const int64_t chunks = NumChunks(ctx, rows, nanoseconds);
  return ForEachChunk(ctx, chunks, nanoseconds / chunks, [&](int64_t i) {
    return AttendRange(ctx, in, i * rows / chunks, (i + 1) * rows / chunks, output);
  });
}

REGISTER_PRIMITIVE(Attention, kCpu, Attend);

}  // namespace
}  // namespace tessera

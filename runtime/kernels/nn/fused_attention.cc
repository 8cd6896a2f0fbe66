// Fused attention, computed head by head: the scores of as many queries as fit into the cache,
// their softmax, and the sum of the values, before the scores of the next queries.
#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/cpu/attention_gemm.h"
#include "runtime/kernels/primitives/cpu/attention_softmax.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {
namespace {

// The order of the dimensions in a tensor of rank 4.
struct Order {
  bool heads_first = true;
  int heads_dim() const { return heads_first ? 1 : 2; }
  int tokens_dim() const { return heads_first ? 2 : 1; }
  int64_t heads(const Tensor& t) const { return t.dim(heads_dim()); }
  int64_t tokens(const Tensor& t) const { return t.dim(tokens_dim()); }
  // Elements from one token to the next; 0 if there is only one token, which is broadcast.
  int64_t token_stride(const Tensor& t) const {
    return tokens(t) == 1 ? 0 : heads_first ? t.dim(3) : t.dim(2) * t.dim(3);
  }
  // Returns the offset of a head's first token. A single image or head is broadcast.
  int64_t Begin(const Tensor& t, int64_t image, int64_t head) const {
    if (t.dim(0) == 1) image = 0;
    if (heads(t) == 1) head = 0;
    return (heads_first ? image * heads(t) + head : image * tokens(t) * heads(t) + head) *
           (heads_first ? tokens(t) : 1) * t.dim(3);
  }
  Shape MakeShape(int64_t batch, int64_t heads, int64_t tokens, int64_t features) const {
    return heads_first ? Shape{batch, heads, tokens, features}
                       : Shape{batch, tokens, heads, features};
  }
};

// Broadcasts *dim up to `other`. Returns false unless they are equal or one of them is 1.
bool Widen(int64_t* dim, int64_t other) {
  if (*dim == 1) *dim = other;
  return *dim == other || other == 1;
}

// A mask of the scores, by batch, heads, queries and keys.
class Mask {
 public:
  // A vector masks the keys, or the images if `by_image`.
  Mask(const Tensor& tensor, bool by_image) : tensor_(tensor), shape_(tensor.shape()) {
    if (by_image && tensor.rank() == 1) shape_ = {tensor.dim(0), 1, 1, 1};
    int64_t step = 1;
    for (int i = shape_.rank() - 1, at = 3; i >= 0 && at >= 0; --i, --at) {
      if (shape_.dim(i) != 1) steps_[at] = step;
      step *= shape_.dim(i);
    }
  }
  const Shape& shape() const { return shape_; }
  // Returns the mask of a head's queries from `query` on.
  template <typename T>
  ScoreMask<T> At(int64_t image, int64_t head, int64_t query) const {
    return {tensor_.data<T>() + image * steps_[0] + head * steps_[1] + query * steps_[2], steps_[2],
            steps_[3]};
  }

 private:
  const Tensor& tensor_;
  Shape shape_;
  int64_t steps_[4] = {0, 0, 0, 0};  // 0 where the mask is broadcast
};

// Errors: INVALID_ARGUMENT for ranks and sizes that do not fit.
class AttentionKernel : public OpKernel {
 public:
  explicit AttentionKernel(const KernelBuild& build)
      : scale_(build.attr<float>("scale")),
        masked_(build.attr<float>("masked")),
        num_masks_(static_cast<int>(build.attr<int64_t>("num_masks"))),
        keeps_images_(build.attr<bool>("keeps_images")),
        broadcasts_(build.attr<bool>("broadcasts")) {
    const auto heads_first = build.attr<std::vector<bool>>("heads_first");
    if (heads_first.size() != 4) {
      build.Fail(absl::InvalidArgumentError("heads_first must have four values"));
      return;
    }
    query_.heads_first = heads_first[0];
    key_.heads_first = heads_first[1];
    value_.heads_first = heads_first[2];
    output_.heads_first = heads_first[3];
  }

  absl::Status Compute(KernelContext& ctx) override {
    Run run;
    RETURN_IF_ERROR(ReadInputs(ctx, &run));
    if (run.output->num_elements() == 0) return absl::OkStatus();
    if (run.keys == 0) {
      std::fill_n(run.output->data<float>(), run.output->num_elements(), 0.0f);
      return absl::OkStatus();
    }
    const int64_t rows = run.batch * run.heads * run.queries;
    const double nanoseconds = 2.0 * rows * run.keys *
                               (run.query->dim(3) + run.value->dim(3) + 32) /
                               SpeedsForCpu().fma_flops;
    const int64_t chunks = NumChunks(ctx, rows, nanoseconds);
    return ForEachChunk(ctx, chunks, nanoseconds / chunks, [&](int64_t i) {
      return Attend(ctx, run, i * rows / chunks, (i + 1) * rows / chunks);
    });
  }

 private:
  struct Run {
    const Tensor *query, *key, *value;
    absl::InlinedVector<Mask, 2> masks;
    std::optional<Mask> keep;
    Tensor* output;
    int64_t batch, heads, queries, keys;
  };

  // The working memory of one thread.
  struct Scratch {
    HeadMatrix keys, values;
    float *packed_keys = nullptr, *packed_values = nullptr;
    float* scores = nullptr;    // of some queries
    int64_t rows = 0, row = 0;  // the number of queries, and the space for the scores of each
  };

  // Scores that stay in a core's cache.
  static constexpr int64_t kCacheFloats = 1 << 15;
  // The number of queries from which on packing the values pays.
  static constexpr int64_t kMinQueries = 24;

  absl::Status ReadInputs(KernelContext& ctx, Run* run) const {
    run->query = &ctx.input(0);
    run->key = &ctx.input(1);
    run->value = &ctx.input(2);
    for (const Tensor* tensor : {run->query, run->key, run->value}) {
      if (tensor->rank() != 4) {
        return absl::InvalidArgumentError(
            absl::StrCat("attention needs tensors of rank 4, has ", tensor->shape().ToString()));
      }
    }
    run->batch = run->query->dim(0);
    run->heads = query_.heads(*run->query);
    run->queries = query_.tokens(*run->query);
    run->keys = key_.tokens(*run->key);
    bool fits = run->query->dim(3) == run->key->dim(3) && Join(*run->key, key_, run);
    for (int i = 3; fits && i < ctx.num_inputs(); ++i) {
      const bool is_keep = i - 3 >= num_masks_;
      const Mask mask(ctx.input(i), is_keep && keeps_images_);
      RETURN_IF_ERROR(Join(mask, run));
      if (is_keep) {
        run->keep.emplace(mask);
      } else {
        run->masks.push_back(mask);
      }
    }
    if (!fits || run->keys != value_.tokens(*run->value) || !Join(*run->value, value_, run)) {
      return absl::InvalidArgumentError(
          absl::StrCat("query, key and value do not fit: ", run->query->shape().ToString(), ", ",
                       run->key->shape().ToString(), " and ", run->value->shape().ToString()));
    }
    ASSIGN_OR_RETURN(run->output,
                     ctx.AllocateOutput(0, output_.MakeShape(run->batch, run->heads, run->queries,
                                                             run->value->dim(3))));
    return absl::OkStatus();
  }

  // Returns true if batch and heads match those of the run, possibly by broadcasting.
  bool Join(const Tensor& tensor, const Order& order, Run* run) const {
    const int64_t batch = tensor.dim(0), heads = order.heads(tensor);
    return broadcasts_ ? Widen(&run->batch, batch) && Widen(&run->heads, heads)
                       : batch == run->batch && heads == run->heads;
  }

  // Errors: INVALID_ARGUMENT unless mask and scores broadcast.
  static absl::Status Join(const Mask& mask, Run* run) {
    const Shape scores = {run->batch, run->heads, run->queries, run->keys};
    int64_t* const dims[] = {&run->batch, &run->heads, &run->queries, &run->keys};
    bool fits = mask.shape().rank() <= 4;
    for (int i = mask.shape().rank() - 1, at = 3; fits && i >= 0; --i, --at) {
      fits = Widen(dims[at], mask.shape().dim(i));
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("a mask of shape ", mask.shape().ToString(),
                                                   " does not fit scores of shape ",
                                                   scores.ToString()));
  }

  // Replaces the scores of the queries from `query` on by their softmax. The caller sets all of
  // `rows` but the scale and the masks.
  void Weigh(const Run& run, int64_t image, int64_t head, int64_t query, ScoreRows rows) const {
    static const auto weigh = HasAvx512() ? avx512::SoftmaxScores : avx2::SoftmaxScores;
    absl::InlinedVector<ScoreMask<float>, 2> masks;
    for (const Mask& mask : run.masks) masks.push_back(mask.At<float>(image, head, query));
    rows.masks = masks.data();
    rows.num_masks = masks.size();
    if (run.keep.has_value()) rows.keep = run.keep->At<bool>(image, head, query);
    rows.scale = scale_;
    rows.masked = masked_;
    weigh(rows);
  }

  // Computes the queries [begin, end), counted over all heads of all images.
  absl::Status Attend(KernelContext& ctx, const Run& run, int64_t begin, int64_t end) const {
    const simd::Loops& loops = simd::LoopsForCpu();
    Scratch scratch{.keys = HeadMatrix(loops, run.query->dim(3), run.keys),
                    .values = HeadMatrix(loops, run.keys, run.value->dim(3))};
    scratch.row = (run.keys + kScoreLanes - 1) / kScoreLanes * kScoreLanes;
    scratch.rows = std::min(end - begin, std::max(kMinQueries, kCacheFloats / scratch.row));
    const int64_t keys = scratch.keys.size(), values = scratch.values.size();
    ASSIGN_OR_RETURN(Tensor workspace,
                     ctx.AllocateTemp(DType::kFloat, {keys + values + scratch.rows * scratch.row}));
    scratch.packed_keys = workspace.data<float>();
    scratch.packed_values = scratch.packed_keys + keys;
    scratch.scores = scratch.packed_values + values;
    for (int64_t at = begin; at < end;) {
      const int64_t head = at / run.queries, first = at % run.queries;
      const int64_t count = std::min(end - at, run.queries - first);
      AttendHead(run, head / run.heads, head % run.heads, first, count, scratch);
      at += count;
    }
    return absl::OkStatus();
  }

  // What the next head reads.
  struct Next {
    simd::PrefetchRows query, key, value;
  };
  Next After(const Run& run, int64_t image, int64_t head) const {
    if (++head == run.heads) {
      head = 0;
      if (++image == run.batch) return Next();
    }
    const auto tokens_of = [&](const Tensor& t, const Order& order) -> simd::PrefetchRows {
      return {t.data<float>() + order.Begin(t, image, head), t.dim(3), order.tokens(t),
              order.token_stride(t)};
    };
    return {tokens_of(*run.query, query_), tokens_of(*run.key, key_),
            tokens_of(*run.value, value_)};
  }

  // Computes `count` queries of a head, from `first` on.
  void AttendHead(const Run& run, int64_t image, int64_t head, int64_t first, int64_t count,
                  Scratch& scratch) const {
    const float* const key = run.key->data<float>() + key_.Begin(*run.key, image, head);
    scratch.keys.PackTransposed(key, key_.token_stride(*run.key), scratch.packed_keys);
    const float* const value = run.value->data<float>() + value_.Begin(*run.value, image, head);
    const int64_t value_stride = value_.token_stride(*run.value);
    if (run.queries >= kMinQueries || !scratch.values.UseInPlace(value, value_stride)) {
      scratch.values.Pack(value, value_stride, scratch.packed_values);
    }
    const float* const query = run.query->data<float>() + query_.Begin(*run.query, image, head);
    const int64_t query_stride = query_.token_stride(*run.query);
    float* const output = run.output->data<float>() + output_.Begin(*run.output, image, head);
    const int64_t output_stride = output_.token_stride(*run.output);
    for (const int64_t end = first + count; first < end; first += scratch.rows) {
      const int64_t rows = std::min(scratch.rows, end - first);
      const Next next = first + rows == end ? After(run, image, head) : Next();
      scratch.keys.Multiply(query + first * query_stride, query_stride, rows, scratch.scores,
                            scratch.row, {next.key, next.query});
      Weigh(run, image, head, first,
            {.scores = scratch.scores, .rows = rows, .count = run.keys, .step = scratch.row});
      scratch.values.Multiply(scratch.scores, scratch.row, rows, output + first * output_stride,
                              output_stride, {next.value});
    }
  }

  const float scale_, masked_;
  const int num_masks_;
  const bool keeps_images_, broadcasts_;
  Order query_, key_, value_, output_;
};
REGISTER_KERNEL("_Attention", kCpu, AttentionKernel);

}  // namespace
}  // namespace tessera

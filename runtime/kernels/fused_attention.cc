// Attention in one piece: scores of as many queries as fit into the cache, their softmax, and the
// sum of values, before the next queries' scores are made.
#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/cpu/head_product.h"
#include "runtime/kernels/cpu/pieces.h"
#include "runtime/kernels/cpu/softmax_avx512.h"
#include "runtime/kernels/cpu/softmax_row.h"

namespace tessera {
namespace {

// Where heads and tokens are in a tensor of rank 4.
struct Order {
  bool heads_first = true;
  int heads_dim() const { return heads_first ? 1 : 2; }
  int tokens_dim() const { return heads_first ? 2 : 1; }
  int64_t heads(const Tensor& t) const { return t.dim(heads_dim()); }
  int64_t tokens(const Tensor& t) const { return t.dim(tokens_dim()); }
  // Elements from one to the next.
  int64_t head_step(const Tensor& t) const { return heads_first ? t.dim(2) * t.dim(3) : t.dim(3); }
  int64_t token_step(const Tensor& t) const { return heads_first ? t.dim(3) : t.dim(2) * t.dim(3); }
  Shape MakeShape(int64_t batch, int64_t heads, int64_t tokens, int64_t features) const {
    return heads_first ? Shape{batch, heads, tokens, features}
                       : Shape{batch, tokens, heads, features};
  }
};

// Lets *dim repeat up to `other`, as broadcasting does. False unless they are equal or one is 1.
bool Widen(int64_t* dim, int64_t other) {
  if (*dim == 1) *dim = other;
  return *dim == other || other == 1;
}

// What changes scores before their softmax, by batch, heads, queries and keys.
class Mask {
 public:
  // A vector is about keys, or, `by_image`, about images.
  Mask(const Tensor& tensor, bool by_image) : tensor_(tensor), shape_(tensor.shape()) {
    if (by_image && tensor.rank() == 1) shape_ = {tensor.dim(0), 1, 1, 1};
    int64_t step = 1;
    for (int i = shape_.rank() - 1, at = 3; i >= 0 && at >= 0; --i, --at) {
      if (shape_.dim(i) != 1) steps_[at] = step;
      step *= shape_.dim(i);
    }
  }
  const Shape& shape() const { return shape_; }
  // Where the row of scores begins.
  template <typename T>
  const T* Row(int64_t image, int64_t head, int64_t query) const {
    return tensor_.data<T>() + image * steps_[0] + head * steps_[1] + query * steps_[2];
  }
  // 1, or 0 where a row has one value.
  int64_t key_step() const { return steps_[3]; }

 private:
  const Tensor& tensor_;
  Shape shape_;
  int64_t steps_[4] = {0, 0, 0, 0};  // 0 where it repeats
};

// scores += mask, a row.
void AddRow(const float* mask, int64_t mask_step, int64_t count, float* scores) {
  if (mask_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) scores[i] += mask[i];
  } else {
    const float same = *mask;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) scores[i] += same;
  }
}

// scores = keep ? scores : masked, a row.
void SelectRow(const bool* keep, int64_t keep_step, float masked, int64_t count, float* scores) {
  if (keep_step == 0) {
    if (!*keep) std::fill_n(scores, count, masked);
    return;
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < count; ++i) scores[i] = keep[i] ? scores[i] : masked;
}

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

// scores = softmax(scores), a row.
void WeighRow(int64_t count, float* scores) {
  static const auto softmax = HasAvx512() ? SoftmaxRowAvx512 : SoftmaxRow<float>;
  softmax(scores, count, scores);
}

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
    RETURN_IF_ERROR(Prepare(ctx, &run));
    if (run.output->num_elements() == 0) return absl::OkStatus();
    if (run.keys == 0) {
      std::fill_n(run.output->data<float>(), run.output->num_elements(), 0.0f);
      return absl::OkStatus();
    }
    // Scores of so many queries stay in a core's cache.
    constexpr int64_t kCacheFloats = 1 << 18;
    int64_t block =
        std::max<int64_t>(16, kCacheFloats / std::max<int64_t>(1, run.heads * run.keys));
    block = std::min(block, run.queries);
    const double nanoseconds = 2.0 * run.batch * run.heads * run.queries * run.keys *
                               (run.query->dim(3) + run.value->dim(3) + 16) / 180;
    const int64_t pieces = NumPieces(ctx, run.batch * run.queries, nanoseconds);
    if (pieces > run.batch) {
      const int64_t an_image = (pieces + run.batch - 1) / run.batch;
      block = std::min(block, (run.queries + an_image - 1) / an_image);
    }
    const int64_t blocks = (run.queries + block - 1) / block;
    return ForEachPiece(
        ctx, run.batch * blocks, nanoseconds / (run.batch * blocks), [&](int64_t i) {
          const int64_t first = i % blocks * block;
          return Attend(ctx, run, i / blocks, first, std::min(block, run.queries - first));
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

  absl::Status Prepare(KernelContext& ctx, Run* run) const {
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

  // Whether batch and heads are those of the run, perhaps by repeating either.
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

  // The first element of an image.
  static const float* Image(const Tensor& tensor, int64_t image) {
    return tensor.data<float>() +
           (tensor.dim(0) == 1 ? 0 : image * (tensor.num_elements() / tensor.dim(0)));
  }

  static HeadMatrices Matrices(const Tensor& tensor, const Order& order) {
    return {order.heads(tensor) == 1 ? 0 : order.head_step(tensor), order.token_step(tensor), 1};
  }

  // Scores of `count` queries of one image, from `first` on: [heads, count, keys].
  absl::Status Score(KernelContext& ctx, const Run& run, int64_t image, int64_t first,
                     int64_t count, float* scores) const {
    // A mask may let one query or key stand for many.
    const bool is_one_query = query_.tokens(*run.query) != run.queries;
    const bool is_one_key = key_.tokens(*run.key) != run.keys;
    if (is_one_query) first = 0;
    HeadMatrices key_layout = Matrices(*run.key, key_);
    std::swap(key_layout.row_step, key_layout.column_step);
    RETURN_IF_ERROR(
        MultiplyHeads(ctx, run.heads, is_one_query ? 1 : count, is_one_key ? 1 : run.keys,
                      run.query->dim(3), Matrices(*run.query, query_),
                      Image(*run.query, image) + first * query_.token_step(*run.query), key_layout,
                      Image(*run.key, image), {count * run.keys, run.keys, 1}, scores));
    for (int64_t head = 0; head < run.heads; ++head, scores += count * run.keys) {
      for (int64_t i = 0; is_one_key && i < (is_one_query ? 1 : count); ++i) {
        std::fill_n(scores + i * run.keys, run.keys, scores[i * run.keys]);
      }
      for (int64_t i = 1; is_one_query && i < count; ++i) {
        std::copy_n(scores, run.keys, scores + i * run.keys);
      }
    }
    return absl::OkStatus();
  }

  // The weights that a row of scores makes, in its place.
  void Weigh(const Run& run, int64_t image, int64_t head, int64_t query, float* scores) const {
#pragma GCC ivdep
    for (int64_t i = 0; i < run.keys; ++i) scores[i] *= scale_;
    for (const Mask& mask : run.masks) {
      AddRow(mask.Row<float>(image, head, query), mask.key_step(), run.keys, scores);
    }
    if (run.keep.has_value()) {
      SelectRow(run.keep->Row<bool>(image, head, query), run.keep->key_step(), masked_, run.keys,
                scores);
    }
    WeighRow(run.keys, scores);
  }

  // `count` queries of one image, from `first` on, over all heads.
  absl::Status Attend(KernelContext& ctx, const Run& run, int64_t image, int64_t first,
                      int64_t count) const {
    ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateTemp(DType::kFloat, {run.heads, count, run.keys}));
    RETURN_IF_ERROR(Score(ctx, run, image, first, count, scores.data<float>()));
    for (int64_t head = 0; head < run.heads; ++head) {
      for (int64_t i = 0; i < count; ++i) {
        Weigh(run, image, head, first + i, scores.data<float>() + (head * count + i) * run.keys);
      }
    }
    Tensor& output = *run.output;
    float* const to = output.data<float>() + image * (output.num_elements() / run.batch) +
                      first * output_.token_step(output);
    return MultiplyHeads(ctx, run.heads, count, run.value->dim(3), run.keys,
                         {count * run.keys, run.keys, 1}, scores.data<float>(),
                         Matrices(*run.value, value_), Image(*run.value, image),
                         Matrices(output, output_), to);
  }

  const float scale_, masked_;
  const int num_masks_;
  const bool keeps_images_, broadcasts_;
  Order query_, key_, value_, output_;
};
REGISTER_KERNEL("_Attention", kCpu, AttentionKernel);

}  // namespace
}  // namespace tessera

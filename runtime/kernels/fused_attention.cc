// Attention in one piece: scores of as many queries as fit into the cache, their softmax, and the
// sum of values, before the next queries' scores are made.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/cpu/head_product.h"
#include "runtime/kernels/cpu/pieces.h"
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

// Steps of a mask over batch, heads, queries and keys; 0 where it repeats.
struct MaskSteps {
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;
};

// Errors: INVALID_ARGUMENT unless `mask` broadcasts to `scores`.
absl::StatusOr<MaskSteps> StepsOf(const Shape& mask, const Shape& scores) {
  int64_t steps[4] = {0, 0, 0, 0};
  bool fits = mask.rank() <= 4;
  int64_t step = 1;
  for (int i = mask.rank() - 1, at = 3; fits && i >= 0; --i, --at) {
    fits = mask.dim(i) == 1 || mask.dim(i) == scores.dim(at);
    if (mask.dim(i) != 1) steps[at] = step;
    step *= mask.dim(i);
  }
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a mask of shape ", mask.ToString(), " does not fit scores of shape ", scores.ToString()));
  }
  return MaskSteps{steps[0], steps[1], steps[2], steps[3]};
}

// scores = softmax(scale * scores + mask), a row. `mask` may be null.
void WeighRow(float scale, const float* mask, int64_t mask_step, int64_t count, float* scores) {
  if (mask == nullptr) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) scores[i] *= scale;
  } else if (mask_step == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) scores[i] = scores[i] * scale + mask[i];
  } else {
    const float same = *mask;
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) scores[i] = scores[i] * scale + same;
  }
  SoftmaxRow(scores, count, scores);
}

// Errors: INVALID_ARGUMENT for ranks and sizes that do not fit.
class AttentionKernel : public OpKernel {
 public:
  explicit AttentionKernel(const KernelBuild& build)
      : scale_(build.attr<float>("scale")), broadcasts_(build.attr<bool>("broadcasts")) {
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
      const int64_t an_image = (pieces / 2 + run.batch - 1) / run.batch;
      block = std::min(block, (run.queries + an_image - 1) / std::max<int64_t>(1, an_image));
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
    const Tensor *query, *key, *value, *mask = nullptr;
    Tensor* output;
    int64_t batch, heads, queries, keys;
    MaskSteps mask_steps;
  };

  absl::Status Prepare(KernelContext& ctx, Run* run) const {
    run->query = &ctx.input(0);
    run->key = &ctx.input(1);
    run->value = &ctx.input(2);
    if (ctx.num_inputs() > 3) run->mask = &ctx.input(3);
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
    if (run->query->dim(3) != run->key->dim(3) || run->keys != value_.tokens(*run->value) ||
        !Fits(*run->key, key_, *run) || !Fits(*run->value, value_, *run)) {
      return absl::InvalidArgumentError(
          absl::StrCat("query, key and value do not fit: ", run->query->shape().ToString(), ", ",
                       run->key->shape().ToString(), " and ", run->value->shape().ToString()));
    }
    if (run->mask != nullptr) {
      ASSIGN_OR_RETURN(run->mask_steps, StepsOf(run->mask->shape(),
                                                {run->batch, run->heads, run->queries, run->keys}));
    }
    ASSIGN_OR_RETURN(run->output,
                     ctx.AllocateOutput(0, output_.MakeShape(run->batch, run->heads, run->queries,
                                                             run->value->dim(3))));
    return absl::OkStatus();
  }

  // Whether batch and heads are those of the query, or repeat.
  bool Fits(const Tensor& tensor, const Order& order, const Run& run) const {
    const int64_t batch = tensor.dim(0), heads = order.heads(tensor);
    return (batch == run.batch || (broadcasts_ && batch == 1)) &&
           (heads == run.heads || (broadcasts_ && heads == 1));
  }

  // The first element of an image.
  static const float* Image(const Tensor& tensor, int64_t image) {
    return tensor.data<float>() +
           (tensor.dim(0) == 1 ? 0 : image * (tensor.num_elements() / tensor.dim(0)));
  }

  static HeadMatrices Matrices(const Tensor& tensor, const Order& order) {
    return {order.heads(tensor) == 1 ? 0 : order.head_step(tensor), order.token_step(tensor), 1};
  }

  // `count` queries of one image, from `first` on, over all heads.
  absl::Status Attend(KernelContext& ctx, const Run& run, int64_t image, int64_t first,
                      int64_t count) const {
    const int64_t features = run.query->dim(3), out_features = run.value->dim(3);
    ASSIGN_OR_RETURN(Tensor scores, ctx.AllocateTemp(DType::kFloat, {run.heads, count, run.keys}));
    const HeadMatrices scores_layout{count * run.keys, run.keys, 1};
    HeadMatrices key_layout = Matrices(*run.key, key_);
    std::swap(key_layout.row_step, key_layout.column_step);
    RETURN_IF_ERROR(
        MultiplyHeads(ctx, run.heads, count, run.keys, features, Matrices(*run.query, query_),
                      Image(*run.query, image) + first * query_.token_step(*run.query), key_layout,
                      Image(*run.key, image), scores_layout, scores.data<float>()));
    for (int64_t head = 0; head < run.heads; ++head) {
      for (int64_t i = 0; i < count; ++i) {
        const float* mask = nullptr;
        if (run.mask != nullptr) {
          const MaskSteps& steps = run.mask_steps;
          mask = run.mask->data<float>() + image * steps.batch + head * steps.heads +
                 (first + i) * steps.queries;
        }
        WeighRow(scale_, mask, run.mask_steps.keys, run.keys,
                 scores.data<float>() + (head * count + i) * run.keys);
      }
    }
    Tensor& output = *run.output;
    float* const to = output.data<float>() + image * (output.num_elements() / run.batch) +
                      first * output_.token_step(output);
    return MultiplyHeads(ctx, run.heads, count, out_features, run.keys, scores_layout,
                         scores.data<float>(), Matrices(*run.value, value_),
                         Image(*run.value, image), Matrices(output, output_), to);
  }

  const float scale_;
  const bool broadcasts_;
  Order query_, key_, value_, output_;
};
REGISTER_KERNEL("_Attention", kCpu, AttentionKernel);

}  // namespace
}  // namespace tessera

// Fused attention, as the pass fuse_attention puts it together.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/attention.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Broadcasts *dim up to `other`. Returns false unless they are equal or one of them is 1.
bool Widen(int64_t* dim, int64_t other) {
  if (*dim == 1) *dim = other;
  return *dim == other || other == 1;
}

// `P` is Attention or NarrowAttention. Errors: INVALID_ARGUMENT for ranks and sizes that do not
// fit.
template <typename P>
class AttentionKernel : public OpKernel {
 public:
  explicit AttentionKernel(const KernelBuild& build)
      : num_masks_(static_cast<int>(build.attr<int64_t>("num_masks"))),
        keeps_images_(build.attr<bool>("keeps_images")),
        broadcasts_(build.attr<bool>("broadcasts")),
        attention_(build) {
    attributes_.scale = build.attr<float>("scale");
    attributes_.masked = build.attr<float>("masked");
    const auto heads_first = build.attr<std::vector<bool>>("heads_first");
    if (heads_first.size() != 4) {
      build.Fail(absl::InvalidArgumentError("heads_first must have four values"));
      return;
    }
    attributes_.query_order.heads_first = heads_first[0];
    attributes_.key_order.heads_first = heads_first[1];
    attributes_.value_order.heads_first = heads_first[2];
    attributes_.output_order.heads_first = heads_first[3];
  }

  absl::Status Compute(KernelContext& ctx) override {
    AttentionInputs inputs = attributes_;
    RETURN_IF_ERROR(ReadInputs(ctx, &inputs));
    ASSIGN_OR_RETURN(
        Tensor* const output,
        ctx.AllocateOutput(0, inputs.output_order.MakeShape(inputs.batch, inputs.heads,
                                                            inputs.queries, inputs.value->dim(3))));
    return attention_(ctx, inputs, output);
  }

 private:
  absl::Status ReadInputs(KernelContext& ctx, AttentionInputs* in) const {
    in->query = &ctx.input(0);
    in->key = &ctx.input(1);
    in->value = &ctx.input(2);
    for (const Tensor* tensor : {in->query, in->key, in->value}) {
      if (tensor->rank() != 4) {
        return absl::InvalidArgumentError(
            absl::StrCat("attention needs tensors of rank 4, has ", tensor->shape().ToString()));
      }
    }
    in->batch = in->query->dim(0);
    in->heads = in->query_order.heads(*in->query);
    in->queries = in->query_order.tokens(*in->query);
    in->keys = in->key_order.tokens(*in->key);
    bool fits = in->query->dim(3) == in->key->dim(3) && Join(*in->key, in->key_order, in);
    for (int i = 3; fits && i < ctx.num_inputs(); ++i) {
      const bool is_keep = i - 3 >= num_masks_;
      const AttentionMask mask(ctx.input(i), is_keep && keeps_images_);
      RETURN_IF_ERROR(Join(mask, in));
      if (is_keep) {
        in->keep.emplace(mask);
      } else {
        in->masks.push_back(mask);
      }
    }
    if (!fits || in->keys != in->value_order.tokens(*in->value) ||
        !Join(*in->value, in->value_order, in)) {
      return absl::InvalidArgumentError(
          absl::StrCat("query, key and value do not fit: ", in->query->shape().ToString(), ", ",
                       in->key->shape().ToString(), " and ", in->value->shape().ToString()));
    }
    return absl::OkStatus();
  }

  // Returns true if batch and heads match those of `in`, possibly by broadcasting.
  bool Join(const Tensor& tensor, const AttentionOrder& order, AttentionInputs* in) const {
    const int64_t batch = tensor.dim(0), heads = order.heads(tensor);
    return broadcasts_ ? Widen(&in->batch, batch) && Widen(&in->heads, heads)
                       : batch == in->batch && heads == in->heads;
  }

  // Errors: INVALID_ARGUMENT unless mask and scores broadcast.
  static absl::Status Join(const AttentionMask& mask, AttentionInputs* in) {
    const Shape scores = {in->batch, in->heads, in->queries, in->keys};
    int64_t* const dims[] = {&in->batch, &in->heads, &in->queries, &in->keys};
    bool fits = mask.shape().rank() <= 4;
    for (int i = mask.shape().rank() - 1, at = 3; fits && i >= 0; --i, --at) {
      fits = Widen(dims[at], mask.shape().dim(i));
    }
    if (fits) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("a mask of shape ", mask.shape().ToString(),
                                                   " does not fit scores of shape ",
                                                   scores.ToString()));
  }

  const int num_masks_;
  const bool keeps_images_, broadcasts_;
  AttentionInputs attributes_;  // scale, masked and orders; the rest is of each run
  const Primitive<P> attention_;
};
REGISTER_KERNEL("_Attention", DevicesOf<Attention>, AttentionKernel<Attention>)
    .TypeConstraint<float>("T")
    .TypeConstraint<float>("Tmask");
REGISTER_KERNEL("_Attention", DevicesOf<NarrowAttention>, AttentionKernel<NarrowAttention>)
    .TypeConstraint("T", {DType::kHalf, DType::kBfloat16});

}  // namespace
}  // namespace tessera

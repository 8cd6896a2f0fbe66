// Primitive: scaled dot-product attention.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// The order of the dimensions in a tensor of rank 4: [batch, heads, tokens, features] or [batch,
// tokens, heads, features].
struct AttentionOrder {
  bool heads_first = true;

  int heads_dim() const { return heads_first ? 1 : 2; }
  int tokens_dim() const { return heads_first ? 2 : 1; }
  int64_t heads(const Tensor& t) const { return t.dim(heads_dim()); }
  int64_t tokens(const Tensor& t) const { return t.dim(tokens_dim()); }
  // Returns the number of elements from one token to the next, or 0 if there is only one token,
  // which is broadcast.
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

// A mask of the scores, which are [batch, heads, queries, keys]. A mask of lower rank has the last
// of these dimensions. It is broadcast along dimensions of size 1 and those that it lacks.
class AttentionMask {
 public:
  // A vector masks the keys, or the images if `by_image`. `tensor` outlives the mask.
  AttentionMask(const Tensor& tensor, bool by_image) : tensor_(tensor), shape_(tensor.shape()) {
    if (by_image && tensor.rank() == 1) shape_ = {tensor.dim(0), 1, 1, 1};
    int64_t step = 1;
    for (int i = shape_.rank() - 1, at = 3; i >= 0 && at >= 0; --i, --at) {
      if (shape_.dim(i) != 1) steps_[at] = step;
      step *= shape_.dim(i);
    }
  }
  const Tensor& tensor() const { return tensor_; }
  const Shape& shape() const { return shape_; }
  // Returns the number of elements from one index to the next in dimension `dim` of the scores, or
  // 0 where the mask is broadcast.
  int64_t step(int dim) const { return steps_[dim]; }

 private:
  const Tensor& tensor_;
  Shape shape_;
  int64_t steps_[4] = {0, 0, 0, 0};
};

// The inputs of attention.
struct AttentionInputs {
  const Tensor *query = nullptr, *key = nullptr, *value = nullptr;  // of one dtype and rank 4
  AttentionOrder query_order, key_order, value_order, output_order;
  int64_t batch = 0, heads = 0, queries = 0, keys = 0;  // the broadcast sizes
  float scale = 1;                                      // of queries times keys
  absl::InlinedVector<AttentionMask, 2> masks;          // added to the scores in their order
  std::optional<AttentionMask> keep;                    // bool: false replaces a score by `masked`
  float masked = 0;
};

// Computes output = softmax(scale * query * key^T, masked) * value for each head of each image.
// `output` is allocated, has output_order, and overlaps no input. It is 0 if there are no keys. All
// numbers are floats.
// Errors: RESOURCE_EXHAUSTED for scratch memory.
struct Attention {
  using Function = absl::Status(KernelContext& ctx, const AttentionInputs& inputs, Tensor* output);
};

// Attention of half or bfloat16, with scores that are floats. Masks have the dtype of the queries,
// or float. Devices implement it if it is faster there than separate products and a softmax.
struct NarrowAttention {
  using Function = absl::Status(KernelContext& ctx, const AttentionInputs& inputs, Tensor* output);
};

}  // namespace tessera

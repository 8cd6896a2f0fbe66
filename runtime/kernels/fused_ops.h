// Common parts of fused products and convolutions: their post-ops, and the tensors that these read.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/broadcast_add.h"
#include "runtime/kernels/primitives/activate.h"
#include "runtime/kernels/primitives/post_ops.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The attribute `fused_ops` of a node. Empty for ops that are not fused, which have no such
// attribute.
std::vector<std::string> FusedOpNames(const KernelBuild& build);

// The post-ops of a node. The argument `args` holds the tensors that they read, from input 2 on:
// the bias, if there is one, then the tensor to add.
class FusedOps {
 public:
  // The post-ops `names`, with the attribute `leakyrelu_alpha`. `build` gets the errors.
  FusedOps(const KernelBuild& build, absl::Span<const std::string> names);

  const PostOps& post_ops() const { return post_ops_; }

  // Writes a product of `shape` with the post-ops that it is given into `output`, which is
  // allocated.
  using Compute = absl::FunctionRef<absl::Status(const PostOps& post_ops,
                                                 const PostOpInputs& inputs, Tensor* output)>;
  // Output 0 = activation(product + bias + addend), where `compute` makes a product of `shape`
  // with `channels` columns or output channels.
  //
  // The addend has the product's shape almost always: the sum is then made in its memory, if nobody
  // else reads it. Another shape broadcasts with the product's, as in AddV2, unless the post-op is
  // AddN. Errors: INVALID_ARGUMENT for a bias that does not have an element for each channel, and
  // for shapes that do not fit; those of `compute`.
  absl::Status Run(KernelContext& ctx, const Shape& shape, int64_t channels, Compute compute) const;

 private:
  PostOps post_ops_;
  bool broadcasts_ = true;
  // For a tensor to add whose shape is not the product's.
  std::optional<BroadcastAdd> broadcast_add_;
  const Primitive<Activate> activate_;
};

// The devices that have what FusedOps needs, and P.
template <typename... P>
inline constexpr auto FusedDevicesOf = DevicesOf<Activate, Elementwise, P...>;

// Makes the build fail unless the argument `args`, which may have any number and dtypes, starts
// with `count` tensors of the first input's dtype, and has `max_count` at most.
void CheckArgs(const KernelBuild& build, int count,
               int max_count = std::numeric_limits<int>::max());

// Returns INVALID_ARGUMENT unless `values`, which may be null, has an element for each channel.
absl::Status ChannelsError(absl::string_view what, const Tensor& values, int64_t channels);
inline absl::Status CheckChannels(absl::string_view what, const Tensor* values, int64_t channels) {
  if (values == nullptr || values->num_elements() == channels) return absl::OkStatus();
  return ChannelsError(what, *values, channels);
}

}  // namespace tessera

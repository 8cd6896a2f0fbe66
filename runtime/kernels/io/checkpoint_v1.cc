// Saving and restoring by the ops of old graphs, in checkpoints of version 1.
#include "runtime/checkpoint/checkpoint_v1.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/io/open_checkpoint.h"

namespace tessera {
namespace {

absl::StatusOr<std::string> ScalarString(const KernelContext& ctx, int i, absl::string_view name) {
  const Tensor& tensor = ctx.input(i);
  if (tensor.num_elements() == 1) return tensor.scalar<std::string>();
  return absl::InvalidArgumentError(
      absl::StrCat("'", name, "' must be a scalar string, has shape ", tensor.shape().ToString()));
}

// The place of a part by its text; none for the empty text, the whole tensor.
absl::StatusOr<std::optional<ShapeAndSlice>> ParsePlace(const std::string& text) {
  if (text.empty()) return std::nullopt;
  ASSIGN_OR_RETURN(ShapeAndSlice place, ShapeAndSlice::Parse(text));
  return place;
}

// `kHasSlices`: SaveSlices.
template <bool kHasSlices>
class SaveKernel : public OpKernel {
 public:
  explicit SaveKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    constexpr int kFirstTensor = kHasSlices ? 3 : 2;
    const int count = ctx.num_inputs() - kFirstTensor;
    ASSIGN_OR_RETURN(const std::string path, ScalarString(ctx, 0, "filename"));
    for (int i = 1; i < kFirstTensor; ++i) {
      if (ctx.input(i).rank() == 1 && ctx.input(i).num_elements() == count) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          i == 1 ? "'tensor_names'" : "'shapes_and_slices'", " must be a vector with an element",
          " for each of ", count, " tensors, has shape ", ctx.input(i).shape().ToString()));
    }
    std::vector<TensorPart> parts;
    for (int i = 0; i < count; ++i) {
      const Tensor& tensor = ctx.input(kFirstTensor + i);
      std::optional<ShapeAndSlice> place;
      if constexpr (kHasSlices) {
        ASSIGN_OR_RETURN(place, ParsePlace(ctx.input(2).flat<std::string>()[i]));
      }
      if (!place) {
        ASSIGN_OR_RETURN(TensorSlice whole,
                         TensorSlice::Whole(tensor.rank()).Within(tensor.shape()));
        place = ShapeAndSlice{tensor.shape(), std::move(whole)};
      }
      parts.push_back({ctx.input(1).flat<std::string>()[i], *std::move(place), tensor});
    }
    RETURN_IF_ERROR(WriteCheckpointV1(path, parts));
    CloseForStep(ctx);
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("Save", kCpu, SaveKernel<false>);
REGISTER_KERNEL("SaveSlices", kCpu, SaveKernel<true>);

// `kHasSlice`: RestoreSlice.
template <bool kHasSlice>
class RestoreKernel : public OpKernel {
 public:
  explicit RestoreKernel(const KernelBuild& build) : dtype_(build.attr<DType>("dt")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const std::string pattern, ScalarString(ctx, 0, "file_pattern"));
    ASSIGN_OR_RETURN(const std::string name, ScalarString(ctx, 1, "tensor_name"));
    std::optional<ShapeAndSlice> place;
    if constexpr (kHasSlice) {
      ASSIGN_OR_RETURN(const std::string text, ScalarString(ctx, 2, "shape_and_slice"));
      ASSIGN_OR_RETURN(place, ParsePlace(text));
    }
    ASSIGN_OR_RETURN(const auto checkpoint,
                     OpenForStep<CheckpointV1Reader>(ctx, kOpenCheckpointV1, pattern));
    ASSIGN_OR_RETURN(Tensor tensor, checkpoint->reader().Read(name, dtype_, place));
    ctx.set_output(0, std::move(tensor));
    return absl::OkStatus();
  }

 private:
  const DType dtype_;
};
REGISTER_KERNEL("Restore", kCpu, RestoreKernel<false>);
REGISTER_KERNEL("RestoreSlice", kCpu, RestoreKernel<true>);

}  // namespace
}  // namespace tessera

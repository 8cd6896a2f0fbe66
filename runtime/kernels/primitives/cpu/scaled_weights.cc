#include "runtime/kernels/primitives/cpu/scaled_weights.h"

#include "runtime/base/fresh_pages.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {
namespace {

// Scales rows [begin, end), which have one element for each channel.
void ScaleRows(const float* from, absl::Span<const double> scale, int64_t begin, int64_t end,
               float* to) {
  const auto channels = static_cast<int64_t>(scale.size());
  for (int64_t row = begin * channels; row < end * channels; row += channels) {
    for (int64_t i = 0; i < channels; ++i) {
      to[row + i] = static_cast<float>(from[row + i] * scale[i]);
    }
  }
}

}  // namespace

absl::StatusOr<Tensor> ApplyScale(KernelContext& ctx, const ScaledWeights& weights,
                                  Allocator* allocator) {
  const Tensor& values = weights.values;
  if (weights.scale == nullptr || values.num_elements() == 0) return values;
  ASSIGN_OR_RETURN(Tensor scaled, Tensor::Allocate(DType::kFloat, values.shape(), allocator));
  const auto scale = weights.scale->flat<double>();
  const auto channels = static_cast<int64_t>(scale.size());
  ctx.ParallelFor(values.num_elements() / channels, channels / SpeedsForCpu().scaled_floats,
                  [&](int64_t begin, int64_t end) {
                    float* const to = scaled.data<float>();
                    PopulatePages(to + begin * channels, (end - begin) * channels * sizeof(float));
                    ScaleRows(values.data<float>(), scale, begin, end, to);
                  });
  return scaled;
}

const float* ScaledRow(const ScaledWeights& weights, int64_t row, int64_t channels,
                       float* scratch) {
  const float* const from = weights.values.data<float>() + row * channels;
  if (weights.scale == nullptr) return from;
  ScaleRows(from, weights.scale->flat<double>(), 0, 1, scratch);
  return scratch;
}

namespace {

absl::StatusOr<Tensor> ScaleForGood(KernelContext& ctx, const ScaledWeights& weights) {
  return ApplyScale(ctx, weights, WeightsAllocator());
}

REGISTER_PRIMITIVE(ScaleWeights, kCpu, ScaleForGood);

}  // namespace
}  // namespace tessera

// Weights in the layouts of oneDNN's primitives.
#pragma once

#include "absl/status/statusor.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/primitives/cpu/packed_weights.h"

namespace tessera::onednn {

// The layouts of a primitive's weights.
class WeightsLayout {
 public:
  WeightsLayout() = default;
  // The caller's weights have the layout `plain`, and the primitive wants the layout `wanted`.
  // Throws dnnl::error.
  WeightsLayout(const dnnl::memory::desc& plain, const dnnl::memory::desc& wanted);

  const dnnl::memory::desc& plain() const { return plain_; }
  const dnnl::memory::desc& wanted() const { return wanted_; }
  bool is_plain() const { return is_plain_; }  // both layouts are equal
  // Copies weights from the plain layout to the wanted one. It is created once, because creating it
  // takes longer than copying a small filter, and each step copies a filter that is being trained.
  const dnnl::reorder& reorder() const { return reorder_; }
  // The wanted layout as PackedWeights knows it.
  const PackedFormat& format() const { return format_; }

 private:
  dnnl::memory::desc plain_, wanted_;
  bool is_plain_ = false;
  dnnl::reorder reorder_;
  PackedFormat format_;
};

// Weights in memory. `storage` keeps it alive.
struct Weights {
  const void* data = nullptr;
  Tensor storage;
};

// Returns `weights` in the wanted layout. If they have it and no scale, they are returned
// unchanged; otherwise `packed` keeps the result. Errors: RESOURCE_EXHAUSTED. Throws dnnl::error.
absl::StatusOr<Weights> WeightsInLayout(KernelContext& ctx, const ScaledWeights& weights,
                                        const WeightsLayout& layout, PackedWeights* packed);

}  // namespace tessera::onednn

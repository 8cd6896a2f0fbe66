// Weights in the layouts of oneDNN's primitives.
#pragma once

#include "absl/status/statusor.h"
#include "oneapi/dnnl/dnnl.hpp"
#include "runtime/kernels/primitives/cpu/packed_weights.h"

namespace tessera::onednn {

// Weights as the argument of a primitive. `storage` keeps the memory alive.
struct Weights {
  dnnl::memory memory;
  Tensor storage;
};

// Returns `weights`, whose layout is `plain`, in the layout `wanted`: a view if the two are equal
// and there is no scale, otherwise a format that `packed` keeps. Errors: RESOURCE_EXHAUSTED. Throws
// dnnl::error.
absl::StatusOr<Weights> WeightsInLayout(KernelContext& ctx, const ScaledWeights& weights,
                                        const dnnl::memory::desc& plain,
                                        const dnnl::memory::desc& wanted, PackedWeights* packed);

}  // namespace tessera::onednn

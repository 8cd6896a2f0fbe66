// Convolutions of one to three spatial dimensions: grouped, depthwise, dilated, with bias and
// activation, for every numeric dtype that TensorFlow's CPU kernels take.
#pragma once

#include <cstdint>
#include <memory>

#include "absl/container/inlined_vector.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/cpu/post_ops.h"

namespace tessera {

using SpatialDims = absl::InlinedVector<int64_t, 3>;

// The geometry. Channels come in `groups` of in_channels / groups each, which make out_channels /
// groups outputs each.
struct ConvolutionShape {
  int64_t batch = 0;
  int64_t in_channels = 0;
  int64_t out_channels = 0;
  int64_t groups = 1;
  SpatialDims input;   // spatial sizes, slowest first
  SpatialDims filter;
  SpatialDims output;
  SpatialDims strides;
  SpatialDims dilations;  // 1: dense
  SpatialDims pad_before;
  SpatialDims pad_after;
  bool channels_first = false;  // NCHW instead of NHWC
};

// Keeps the packed form of a constant filter from one run to the next. Thread-safe.
class PackedFilterCache {
 public:
  PackedFilterCache();
  ~PackedFilterCache();

  class Entry;
  std::shared_ptr<const Entry> Load() const {
    absl::ReaderMutexLock lock(&mu_);
    return entry_;
  }
  void Store(std::shared_ptr<const Entry> entry) {
    absl::MutexLock lock(&mu_);
    entry_.swap(entry);
  }

 private:
  mutable absl::Mutex mu_;
  std::shared_ptr<const Entry> entry_ ABSL_GUARDED_BY(mu_);
};

// output = activation(convolution(input, filter) + bias). `bias` may be null; it has out_channels
// elements. All tensors have the dtype of `input`; `output` is allocated. If `cache` is not null
// the filter is taken as constant and packed once.
// Errors: UNIMPLEMENTED for a dtype that is no real number; RESOURCE_EXHAUSTED for scratch memory.
absl::Status Convolve(KernelContext& ctx, const ConvolutionShape& shape, const PostOps& post_ops,
                      const Tensor& input, const Tensor& filter, const Tensor* bias,
                      PackedFilterCache* cache, Tensor* output);

}  // namespace tessera

// The primitive of a depthwise-separable block, as in MobileNets, computed without storing its
// intermediate images.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/activation.h"
#include "runtime/kernels/primitives/convolution_shape.h"

namespace tessera {

// The geometry of one of
//   depthwise convolution -> pointwise convolution
//   pointwise convolution -> depthwise convolution -> pointwise convolution [-> + input]
// of float images in NHWC. Each convolution is followed by a bias and a clamping activation.
struct SeparableBlockShape {
  ConvolutionShape depthwise;  // two-dimensional, with as many output as input channels
  int64_t in_channels = 0;     // of the block, before it expands them
  int64_t out_channels = 0;
  bool expands = false;     // a pointwise convolution comes first
  bool adds_input = false;  // before the last activation; input and output have one shape
};

// One convolution of a block. Filters are [1, 1, in, out] or [height, width, channels, 1]. A bias
// has one element for each output channel. The depthwise filter must be finite: an infinity would
// turn the zeros of the padding into NaN.
struct SeparableLayer {
  const Tensor* filter = nullptr;
  const Tensor* bias = nullptr;
  Activation activation = Activation::kNone;  // must be a clamp
};

struct SeparableLayers {
  SeparableLayer expand;  // used only if the block expands
  SeparableLayer depthwise, project;
};

// The blocks of one kernel. It keeps what it derives from constant filters. Thread-safe.
class SeparableBlock {
 public:
  // The inputs of the kernel that hold the filters.
  struct FilterInputs {
    int expand = 0;  // unused unless the block expands
    int depthwise = 0;
    int project = 0;
  };
  using Function = std::unique_ptr<SeparableBlock>(const KernelBuild& build,
                                                   const FilterInputs& filters);
  virtual ~SeparableBlock() = default;

  // Packs the filters that are constant, so that Run() does not. For OpKernel::Prepare(). Errors:
  // RESOURCE_EXHAUSTED.
  virtual absl::Status Prepare(const PrepareContext& /*context*/, bool /*expands*/) {
    return absl::OkStatus();
  }

  // Computes the block. The filters are the kernel's inputs. `output` is allocated and does not
  // overlap `input`. With fast numerics the last bits of the sums may depend on the number of
  // threads. Errors: RESOURCE_EXHAUSTED for scratch memory.
  virtual absl::Status Run(KernelContext& ctx, const SeparableBlockShape& shape,
                           const SeparableLayers& layers, const Tensor& input, Tensor* output) = 0;
};

}  // namespace tessera

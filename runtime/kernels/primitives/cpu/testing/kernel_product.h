// Matrix products and convolutions as a kernel makes them, for tests and benchmarks.
#pragma once

#include <memory>
#include <type_traits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/convolution.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// A kernel on the CPU whose inputs are the left-hand side of a product, or images, and its weights.
// P is MatMul or Convolution.
//
//   KernelProduct product(b, {.is_constant = true});
//   ASSERT_TRUE(product.Run({.m = 4, .n = 8, .k = 16}, PostOps(), a, {}, &output).ok());
template <typename P>
class KernelWithWeights {
 public:
  using Geometry =
      std::conditional_t<std::is_same_v<P, Convolution>, ConvolutionShape, MatMulShape>;

  struct Options {
    bool is_constant = false;  // whether the kernel knows that the weights are always the same
    Numerics numerics = Numerics::kFast;
    ThreadPool* threads = nullptr;
    Device* device = nullptr;
  };

  KernelWithWeights(const Tensor& weights, const Options& options) : device_(options.device) {
    const OpDef op;
    const AttrMap attrs;
    const DType dtype = weights.dtype();
    const KernelBuild build(op, "product", attrs, {dtype, dtype}, {dtype}, nullptr, nullptr,
                            {.constant_inputs = {nullptr, options.is_constant ? &weights : nullptr},
                             .numerics = options.numerics});
    primitive_ = (*PrimitiveImplementations<P>::Find(kCpu))(build, 1);
    SetWeights(weights);
    step_.intra_op_pool = options.threads;
  }

  P& primitive() { return *primitive_; }
  // Replaces the weights of further runs. They must not be constant.
  void SetWeights(const Tensor& weights) { values_[1].tensor = weights; }

  // Does what P::Run() does. Only the weights of a convolution may have a scale.
  absl::Status Run(const Geometry& shape, const PostOps& post_ops, const Tensor& a,
                   const PostOpInputs& inputs, Tensor* output, const Tensor* scale = nullptr) {
    values_[0].tensor = a;
    KernelContext ctx(step_, device_);
    ctx.Bind(values_, kInputs, nullptr, {});
    const Tensor& weights = values_[1].tensor;
    if constexpr (std::is_same_v<P, Convolution>) {
      return primitive_->Run(ctx, shape, post_ops, a, {weights, scale}, inputs, output);
    } else {
      return primitive_->Run(ctx, shape, post_ops, a, weights, inputs, output);
    }
  }

 private:
  static constexpr KernelContext::InputSlot kInputs[] = {{.index = 0, .last_use = 0},
                                                         {.index = 1, .last_use = 0}};

  Device* const device_;
  StepContext step_;
  Value values_[2];
  std::unique_ptr<P> primitive_;
};

using KernelProduct = KernelWithWeights<MatMul>;
using KernelConvolution = KernelWithWeights<Convolution>;

}  // namespace tessera

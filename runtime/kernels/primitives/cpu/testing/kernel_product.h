// Matrix products as a kernel makes them, for tests and benchmarks.
#pragma once

#include <memory>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/primitive.h"

namespace tessera {

// The products of a kernel on the CPU whose inputs are `a` and `b`.
//
//   KernelProduct product(b, {.is_constant = true});
//   ASSERT_TRUE(product.Run({.m = 4, .n = 8, .k = 16}, PostOps(), a, {}, &output).ok());
class KernelProduct {
 public:
  struct Options {
    bool is_constant = false;  // whether the kernel knows that `b` is the same in every run
    Numerics numerics = Numerics::kFast;
    ThreadPool* threads = nullptr;
  };

  KernelProduct(const Tensor& b, const Options& options) {
    const OpDef op;
    const AttrMap attrs;
    const DType dtype = b.dtype();
    const KernelBuild build(op, "product", attrs, {dtype, dtype}, {dtype}, nullptr, nullptr,
                            {.constant_inputs = {nullptr, options.is_constant ? &b : nullptr},
                             .numerics = options.numerics});
    product_ = (*PrimitiveImplementations<MatMul>::Find(kCpu))(build, 1);
    values_[1].tensor = b;
    step_.intra_op_pool = options.threads;
  }

  // Does what MatMul::Run() does.
  absl::Status Run(const MatMulShape& shape, const PostOps& post_ops, const Tensor& a,
                   const PostOpInputs& inputs, Tensor* output) {
    values_[0].tensor = a;
    KernelContext ctx(step_, nullptr);
    ctx.Bind(values_, kInputs, nullptr, {});
    return product_->Run(ctx, shape, post_ops, a, values_[1].tensor, inputs, output);
  }

 private:
  static constexpr KernelContext::InputSlot kInputs[] = {{.index = 0, .last_use = 0},
                                                         {.index = 1, .last_use = 0}};

  StepContext step_;
  Value values_[2];
  std::unique_ptr<MatMul> product_;
};

}  // namespace tessera

#include "runtime/kernels/primitives/cpu/onednn_product.h"

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"

namespace tessera::onednn {
namespace {

// Executes `product`. Throws dnnl::error.
absl::Status Execute(KernelContext& ctx, const Product& product, const void* source,
                     const void* weights, const void* bias, void* output) {
  Arguments arguments;
  arguments.Add(DNNL_ARG_SRC, product.source, source);
  arguments.Add(DNNL_ARG_WEIGHTS, product.weights.wanted(), weights);
  arguments.Add(DNNL_ARG_DST, product.output, output);
  if (bias != nullptr) arguments.Add(DNNL_ARG_BIAS, product.bias, bias);
  Tensor scratch;
  if (product.scratch_size > 0) {
    ASSIGN_OR_RETURN(scratch, ctx.AllocateTemp(DType::kUint8, {product.scratch_size}));
    arguments.Add(DNNL_ARG_SCRATCHPAD, product.scratch, scratch.raw());
  }
  arguments.Execute(product.primitive);
  return absl::OkStatus();
}

// Calls run() with one OpenMP thread.
template <typename Run>
absl::Status OnThisThread(const Run& run) {
  const OneThread one_thread;
  try {
    return run();
  } catch (const dnnl::error& e) {
    return absl::InternalError(absl::StrCat("oneDNN failed in a product: ", e.what()));
  }
}

}  // namespace

absl::Status RunProduct(KernelContext& ctx, const Product& product, const void* source,
                        const ScaledWeights& weights, PackedWeights* packed, const void* bias,
                        void* output) {
  return OnThisThread([&]() -> absl::Status {
    ASSIGN_OR_RETURN(const Weights held, WeightsInLayout(ctx, weights, product.weights, packed));
    return Execute(ctx, product, source, held.data, bias, output);
  });
}

absl::Status RunProduct(KernelContext& ctx, const Product& product, const void* source,
                        const void* weights, const void* bias, void* output) {
  return OnThisThread([&] { return Execute(ctx, product, source, weights, bias, output); });
}

absl::Status Reorder(const dnnl::memory::desc& from, const void* source,
                     const dnnl::memory::desc& to, const void* target) {
  return OnThisThread([&] {
    dnnl::memory in = Wrap(from, source), out = Wrap(to, target);
    dnnl::reorder(in, out).execute(Stream(), in, out);
    return absl::OkStatus();
  });
}

}  // namespace tessera::onednn

// A matrix product or a convolution that oneDNN computes.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "runtime/kernels/primitives/cpu/onednn.h"
#include "runtime/kernels/primitives/cpu/onednn_weights.h"

namespace tessera::onednn {

// A primitive, and the layouts of its arguments. Immutable.
struct Product {
  dnnl::primitive primitive;
  dnnl::memory::desc source, output, bias;
  WeightsLayout weights;
  dnnl::memory::desc scratch;
  int64_t scratch_size = 0;
};

// Creates a product by dnnl::matmul or dnnl::convolution_forward. The caller's weights have the
// layout `plain_weights`. Throws dnnl::error.
template <typename Primitive>
std::shared_ptr<const Product> MakeProduct(const typename Primitive::primitive_desc& desc,
                                           const dnnl::memory::desc& plain_weights) {
  auto product = std::make_shared<Product>();
  product->primitive = Primitive(desc);
  product->source = desc.src_desc();
  product->output = desc.dst_desc();
  product->bias = desc.bias_desc();
  product->weights = WeightsLayout(plain_weights, desc.weights_desc());
  product->scratch = desc.scratchpad_desc();
  product->scratch_size = static_cast<int64_t>(product->scratch.get_size());
  return product;
}

// Computes a product on the calling thread alone. `packed` keeps `weights` in the layout that the
// primitive wants. `bias` is null if the primitive adds none. Errors: RESOURCE_EXHAUSTED for
// scratch memory.
absl::Status RunProduct(KernelContext& ctx, const Product& product, const void* source,
                        const ScaledWeights& weights, PackedWeights* packed, const void* bias,
                        void* output);

// Computes a product whose weights have the layout that the primitive wants. The types of the
// elements are those of its layouts.
absl::Status RunProduct(KernelContext& ctx, const Product& product, const void* source,
                        const void* weights, const void* bias, void* output);

// Copies a tensor from one layout to another on the calling thread.
absl::Status Reorder(const dnnl::memory::desc& from, const void* source,
                     const dnnl::memory::desc& to, const void* target);

}  // namespace tessera::onednn

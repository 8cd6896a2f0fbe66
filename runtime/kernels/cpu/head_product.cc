#include "runtime/kernels/cpu/head_product.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/cpu/onednn.h"

namespace tessera {
namespace {

using dnnl::memory;

struct Product {
  dnnl::matmul::primitive_desc desc;
  dnnl::primitive primitive;
};

// With a batch dimension of one before the heads: oneDNN knows its fast layouts by four dimensions.
memory::desc Layout(int64_t heads, int64_t rows, int64_t columns, const HeadMatrices& layout) {
  if (layout.head_step == 0) heads = 1;
  const int64_t whole =
      std::max({heads * layout.head_step, rows * layout.row_step, columns * layout.column_step});
  return memory::desc({1, heads, rows, columns}, memory::data_type::f32,
                      {whole,
                       heads == 1 ? std::max(rows * layout.row_step, columns * layout.column_step)
                                  : layout.head_step,
                       layout.row_step, layout.column_step});
}

}  // namespace

absl::Status MultiplyHeads(KernelContext& ctx, int64_t heads, int64_t m, int64_t n, int64_t k,
                           const HeadMatrices& a_layout, const float* a,
                           const HeadMatrices& b_layout, const float* b,
                           const HeadMatrices& out_layout, float* out) {
  static auto* const primitives = new onednn::PrimitiveCache<Product>(256);
  const onednn::OneThread one_thread;
  onednn::Key key;
  key.Add(heads).Add(m).Add(n).Add(k).Add(a_layout).Add(b_layout).Add(out_layout);
  const auto make = [&] {
    auto made = std::make_shared<Product>();
    made->desc = dnnl::matmul::primitive_desc(
        dnnl::matmul::desc(Layout(heads, m, k, a_layout), Layout(heads, k, n, b_layout),
                           Layout(heads, m, n, out_layout)),
        onednn::Attributes(PostOps()), onednn::Engine());
    made->primitive = dnnl::matmul(made->desc);
    return made;
  };
  ASSIGN_OR_RETURN(const std::shared_ptr<const Product> product, primitives->Get(key, make));
  const auto& desc = product->desc;
  ASSIGN_OR_RETURN(
      Tensor scratch,
      ctx.AllocateTemp(DType::kUint8, {static_cast<int64_t>(desc.scratchpad_desc().get_size())}));
  try {
    product->primitive.execute(
        onednn::Stream(),
        {{DNNL_ARG_SRC, onednn::Wrap(desc.src_desc(), a)},
         {DNNL_ARG_WEIGHTS, onednn::Wrap(desc.weights_desc(), b)},
         {DNNL_ARG_DST, onednn::Wrap(desc.dst_desc(), out)},
         {DNNL_ARG_SCRATCHPAD, onednn::Wrap(desc.scratchpad_desc(), scratch.raw())}});
    onednn::Stream().wait();
  } catch (const dnnl::error& e) {
    return absl::InternalError(absl::StrCat("oneDNN failed in an attention: ", e.what()));
  }
  return absl::OkStatus();
}

}  // namespace tessera

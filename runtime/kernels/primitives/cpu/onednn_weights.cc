#include "runtime/kernels/primitives/cpu/onednn_weights.h"

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/onednn.h"

namespace tessera::onednn {

using dnnl::memory;

namespace {

// Returns a key of a blocked layout, made of everything that distinguishes it from others.
std::string LayoutKey(const memory::desc& layout) {
  const auto& d = layout.data;
  const auto& blocking = d.format_desc.blocking;
  Key key;
  key.Add(d.ndims).Add(d.format_kind).Add(blocking.inner_nblks).Add(d.extra.flags);
  for (int i = 0; i < d.ndims; ++i) {
    key.Add(d.dims[i]).Add(d.padded_dims[i]).Add(blocking.strides[i]);
  }
  for (int i = 0; i < blocking.inner_nblks; ++i) {
    key.Add(blocking.inner_blks[i]).Add(blocking.inner_idxs[i]);
  }
  return key.bytes();
}

}  // namespace

WeightsLayout::WeightsLayout(const memory::desc& plain, const memory::desc& wanted)
    : plain_(plain),
      wanted_(wanted),
      is_plain_(plain == wanted),
      reorder_(dnnl::reorder::primitive_desc(Engine(), plain, Engine(), wanted)),
      format_{.kind = PackedFormat::Kind::kOneDnn, .layout = LayoutKey(wanted)} {}

absl::StatusOr<Weights> WeightsInLayout(KernelContext& ctx, const ScaledWeights& weights,
                                        const WeightsLayout& layout, PackedWeights* packed) {
  if (layout.is_plain() && weights.scale == nullptr) {
    return Weights{weights.values.raw(), weights.values};
  }
  const auto reorder = [&](const Tensor& values) -> absl::StatusOr<Tensor> {
    const auto size = static_cast<int64_t>(layout.wanted().get_size());
    ASSIGN_OR_RETURN(Tensor storage, Tensor::Allocate(DType::kInt8, {size}, WeightsAllocator()));
    Arguments arguments;
    arguments.Add(DNNL_ARG_FROM, layout.plain(), values.raw());
    arguments.Add(DNNL_ARG_TO, layout.wanted(), storage.raw());
    arguments.Execute(layout.reorder());
    return storage;
  };
  ASSIGN_OR_RETURN(Tensor storage, packed->Get(ctx, weights, layout.format(), reorder));
  const void* const data = storage.raw();
  return Weights{data, std::move(storage)};
}

}  // namespace tessera::onednn

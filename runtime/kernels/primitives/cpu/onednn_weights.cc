#include "runtime/kernels/primitives/cpu/onednn_weights.h"

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/onednn.h"

namespace tessera::onednn {

using dnnl::memory;

namespace {

// A key of a blocked layout, of all that distinguishes it from others.
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

absl::StatusOr<Weights> WeightsInLayout(KernelContext& ctx, const ScaledWeights& weights,
                                        const memory::desc& plain, const memory::desc& wanted,
                                        PackedWeights* packed) {
  if (plain == wanted && weights.scale == nullptr) {
    return Weights{Wrap(plain, weights.values.raw()), weights.values};
  }
  const auto reorder = [&](const float* values) -> absl::StatusOr<Tensor> {
    ASSIGN_OR_RETURN(Tensor storage,
                     Tensor::Allocate(DType::kInt8, {static_cast<int64_t>(wanted.get_size())},
                                      WeightsAllocator()));
    memory from = Wrap(plain, values), to = Wrap(wanted, storage.raw());
    dnnl::reorder(from, to).execute(Stream(), from, to);
    Stream().wait();
    return storage;
  };
  const PackedFormat format{.kind = PackedFormat::Kind::kOneDnn, .layout = LayoutKey(wanted)};
  ASSIGN_OR_RETURN(const Tensor storage, packed->Get(ctx, weights, format, reorder));
  return Weights{Wrap(wanted, storage.raw()), storage};
}

}  // namespace tessera::onednn

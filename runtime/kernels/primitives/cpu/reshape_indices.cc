#include "runtime/kernels/primitives/reshape_indices.h"

#include "runtime/kernels/primitives/wrapping.h"

namespace tessera {
namespace {

absl::Status RunReshapeIndices(KernelContext&, absl::Span<const int64_t> from_dims,
                               const Tensor& from, absl::Span<const int64_t> to_dims, Tensor* to) {
  const size_t from_rank = from_dims.size(), to_rank = to_dims.size();
  const int64_t* in = from.data<int64_t>();
  int64_t* out = to->data<int64_t>();
  for (int64_t n = 0; n < from.dim(0); ++n, in += from_rank, out += to_rank) {
    int64_t flat = 0;
    for (size_t d = 0; d < from_rank; ++d) {
      flat =
          WrappingAdd(WrappingMultiply(flat, from_dims[d]), in[d]);  // indices can be any numbers
    }
    for (size_t d = to_rank; d-- > 1;) {
      out[d] = to_dims[d] == 0 ? 0 : flat % to_dims[d];
      if (to_dims[d] != 0) flat /= to_dims[d];
    }
    // The first coordinate is what is left, which saves a division.
    if (to_rank > 0) out[0] = to_dims[0] == 0 ? 0 : flat;
  }
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(ReshapeIndices, kCpu, RunReshapeIndices);

}  // namespace
}  // namespace tessera

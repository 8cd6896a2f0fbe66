#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/reshape_indices.h"

namespace tessera::cuda {
namespace {

constexpr int kMaxRank = 16;

struct Dims {
  int rank;
  int64_t sizes[kMaxRank];
};

__global__ void ReshapeRows(int64_t count, Dims from_dims, const int64_t* from, Dims to_dims,
                            int64_t* to) {
  for (int64_t n = FirstItem(); n < count; n += ItemStep()) {
    int64_t flat = 0;
    for (int d = 0; d < from_dims.rank; ++d) {
      flat = flat * from_dims.sizes[d] + from[n * from_dims.rank + d];
    }
    for (int d = to_dims.rank - 1; d >= 0; --d) {
      const int64_t size = to_dims.sizes[d];
      to[n * to_dims.rank + d] = size == 0 ? 0 : flat % size;
      if (size != 0) flat /= size;
    }
  }
}

absl::StatusOr<Dims> MakeDims(absl::Span<const int64_t> sizes) {
  if (sizes.size() > kMaxRank) {
    return absl::UnimplementedError(
        absl::StrCat("at most ", kMaxRank, " dimensions are supported on a GPU"));
  }
  Dims dims{static_cast<int>(sizes.size()), {}};
  std::copy(sizes.begin(), sizes.end(), dims.sizes);
  return dims;
}

absl::Status RunReshapeIndices(KernelContext& ctx, absl::Span<const int64_t> from_dims,
                               const Tensor& from, absl::Span<const int64_t> to_dims, Tensor* to) {
  ASSIGN_OR_RETURN(const Dims in, MakeDims(from_dims));
  ASSIGN_OR_RETURN(const Dims out, MakeDims(to_dims));
  return LaunchItems(ctx, from.dim(0), ReshapeRows, from.dim(0), in, DataOf<const int64_t>(from),
                     out, DataOf<int64_t>(*to));
}
REGISTER_CUDA_PRIMITIVE(ReshapeIndices, RunReshapeIndices);

}  // namespace
}  // namespace tessera::cuda

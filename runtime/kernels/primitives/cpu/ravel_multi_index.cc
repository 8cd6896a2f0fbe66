#include "runtime/kernels/primitives/ravel_multi_index.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/kernels/primitives/cpu/index_check.h"
#include "runtime/kernels/primitives/index_type.h"

namespace tessera {
namespace {

absl::Status RunRavelMultiIndex(KernelContext&, const Shape& shape, const Tensor& indices,
                                BadIndices bad_indices, Tensor* positions) {
  const int last = indices.rank() - 1;
  const int depth = static_cast<int>(indices.dim(last));
  const int64_t* const dims = shape.dims().data();
  const auto out = positions->flat<int64_t>();
  return VisitIndexType(indices.dtype(), [&]<typename Index>() -> absl::Status {
    const Index* coordinates = indices.data<Index>();
    for (size_t i = 0; i < out.size(); ++i, coordinates += depth) {
      int64_t position = 0;
      bool bad = false;
      for (int d = 0; d < depth; ++d) {
        // The unsigned comparison covers negative coordinates.
        const auto x = static_cast<uint64_t>(static_cast<int64_t>(coordinates[d]));
        bad |= x >= static_cast<uint64_t>(dims[d]);
        position = bad ? -1 : position * dims[d] + static_cast<int64_t>(x);
      }
      if (bad && bad_indices == BadIndices::kError) {
        return absl::InvalidArgumentError(
            absl::StrCat("indices", PositionText(indices.shape(), last, static_cast<int64_t>(i)),
                         " = [", absl::StrJoin(coordinates, coordinates + depth, ", "),
                         "] does not lie within shape ", shape.ToString()));
      }
      out[i] = position;
    }
    return absl::OkStatus();
  });
}
REGISTER_PRIMITIVE(RavelMultiIndex, kCpu, RunRavelMultiIndex);

}  // namespace
}  // namespace tessera

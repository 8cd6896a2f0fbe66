#include "runtime/kernels/primitives/ravel_multi_index.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/kernels/primitives/cpu/index_check.h"
#include "runtime/kernels/primitives/flat_position.h"
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
    return VisitDepth(depth, [&]<int kDepth>() -> absl::Status {
      const Index* coordinates = indices.data<Index>();
      for (size_t i = 0; i < out.size(); ++i, coordinates += depth) {
        out[i] = FlatPosition<kDepth>(coordinates, depth, dims);
        if (out[i] < 0 && bad_indices == BadIndices::kError) {
          return absl::InvalidArgumentError(
              absl::StrCat("indices", PositionText(indices.shape(), last, static_cast<int64_t>(i)),
                           " = [", absl::StrJoin(coordinates, coordinates + depth, ", "),
                           "] does not lie within shape ", shape.ToString()));
        }
      }
      return absl::OkStatus();
    });
  });
}
REGISTER_PRIMITIVE(RavelMultiIndex, kCpu, RunRavelMultiIndex);

}  // namespace
}  // namespace tessera

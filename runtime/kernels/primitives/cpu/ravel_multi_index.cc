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
  const auto out = positions->flat<int64_t>();
  return VisitIndexType(indices.dtype(), [&]<typename Index>() -> absl::Status {
    const Index* coordinates = indices.data<Index>();
    for (size_t i = 0; i < out.size(); ++i, coordinates += depth) {
      int64_t position = 0;
      bool bad = false;
      for (int d = 0; d < depth; ++d) {
        const int64_t x = static_cast<int64_t>(coordinates[d]);
        bad = bad || x < 0 || x >= shape.dim(d);
        position = bad ? -1 : position * shape.dim(d) + x;
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

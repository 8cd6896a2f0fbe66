#include "runtime/kernels/primitives/band_part.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"

namespace tessera::cuda {
namespace {

template <typename T>
__global__ void ZeroOutside(int64_t count, BandPart::Geometry g, T* matrices) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const Quotient row = DivideIndex(i, g.columns);
    const int64_t diagonal = row.remainder - DivideIndex(row.quotient, g.rows).remainder;
    if (diagonal < -g.lower || diagonal > g.upper) matrices[i] = T{};
  }
}

absl::Status RunBandPart(KernelContext& ctx, const BandPart::Geometry& geometry, Tensor* matrices) {
  const int64_t count = matrices->num_elements();
  return VisitBySize(ElementSize(*matrices), [&]<typename T>() {
    return LaunchItems(ctx, count, ZeroOutside<T>, count, geometry, DataOf<T>(*matrices));
  });
}
REGISTER_CUDA_PRIMITIVE(BandPart, RunBandPart);

}  // namespace
}  // namespace tessera::cuda

#include "runtime/kernels/primitives/band_part.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/strided_box.h"

namespace tessera::cuda {
namespace {

template <typename T>
__global__ void KeepBand(int64_t count, BandPart::Geometry g, const T* matrices, T* output) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) {
    const Quotient row = DivideIndex(i, g.columns);
    const int64_t diagonal = row.remainder - DivideIndex(row.quotient, g.rows).remainder;
    output[i] = diagonal < -g.lower || diagonal > g.upper ? T{} : matrices[i];
  }
}

absl::Status RunBandPart(KernelContext& ctx, const BandPart::Geometry& geometry,
                         const Tensor& matrices, Tensor* output) {
  const int64_t count = matrices.num_elements();
  return VisitBySize(ElementSize(matrices), [&]<typename T>() {
    return LaunchItems(ctx, count, KeepBand<T>, count, geometry, DataOf<T>(matrices),
                       DataOf<T>(*output));
  });
}
REGISTER_CUDA_PRIMITIVE(BandPart, RunBandPart);

}  // namespace
}  // namespace tessera::cuda

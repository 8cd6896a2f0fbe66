// What is linked in place of cuBLASLt and cuDNN in tests.
#include "runtime/kernels/primitives/cuda/product_library.h"

namespace tessera::cuda {

struct LibraryMatMul::Plans {};
LibraryMatMul::LibraryMatMul() = default;
LibraryMatMul::~LibraryMatMul() = default;

absl::StatusOr<Made> LibraryMatMul::Run(KernelContext&, const MatMulShape&, const PostOps&,
                                        const Tensor&, const Tensor&, const Tensor*, Tensor*) {
  return Made::kNothing;
}

absl::StatusOr<bool> ConvolveByLibrary(KernelContext&, ConvolutionDirection,
                                       const ConvolutionShape&, const Tensor&, const LibraryFilter&,
                                       const Tensor&, const PostOps&, const PostOpInputs&) {
  return false;
}

absl::StatusOr<std::optional<Tensor>> ArrangeFilter(const Tensor&, int) {
  return std::optional<Tensor>();
}

}  // namespace tessera::cuda

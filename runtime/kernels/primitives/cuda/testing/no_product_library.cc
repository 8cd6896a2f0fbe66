// What is linked in place of cuBLASLt and cuDNN in tests.
#include "Eigen/Core"
#include "runtime/kernels/primitives/cuda/product_library.h"
#include "runtime/kernels/primitives/cuda/testing/e4m3_value.h"
#include "runtime/kernels/primitives/cuda/testing/library_stand_in.h"

namespace tessera::cuda {

struct LibraryMatMul::Plans {};
LibraryMatMul::LibraryMatMul() = default;
LibraryMatMul::~LibraryMatMul() = default;

absl::StatusOr<Made> LibraryMatMul::Run(KernelContext&, const MatMulShape&, const PostOps&,
                                        const Tensor&, const Tensor&, const Tensor*, Tensor*) {
  return Made::kNothing;
}

bool MultipliesE4m3(Device*) { return HasStandIn(); }

absl::StatusOr<Made> LibraryMatMul::RunE4m3(KernelContext&, const MatMulShape& shape,
                                            const PostOps& post_ops, const E4m3Matrix& a,
                                            const E4m3Matrix& b, const Tensor*, Tensor* output,
                                            absl::FunctionRef<absl::Status()> before) {
  if (output->dtype() != DType::kFloat || !StandInTakes()) return Made::kNothing;
  RETURN_IF_ERROR(before());
  const double scale = static_cast<double>(*a.scale.data<float>()) * *b.scale.data<float>();
  for (int64_t i = 0; i < shape.m; ++i) {
    for (int64_t j = 0; j < shape.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < shape.k; ++k) {
        sum += static_cast<double>(FloatOfE4m3(a.values.data<uint8_t>()[i * shape.k + k])) *
               FloatOfE4m3(b.values.data<uint8_t>()[j * shape.k + k]);
      }
      float& to = output->data<float>()[i * shape.n + j];
      to = static_cast<float>(sum * scale + (post_ops.add ? to : 0.0f));
    }
  }
  return Made::kWithoutBias;
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

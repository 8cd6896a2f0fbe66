// Products by the libraries of the CUDA toolkit, for what these have. Where there is no GPU, in
// tests, there is nothing that they take, and the kernels of this folder do all of it.
#pragma once

#include <memory>
#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/convolution_shape.h"
#include "runtime/kernels/primitives/matmul.h"
#include "runtime/kernels/primitives/post_ops.h"

namespace tessera::cuda {

// How much of a product a library has made.
enum class Made {
  kNothing,
  kWithoutBias,  // nor activation
  kWithoutActivation,
  kAll,
};

// A matrix of numbers of 8 bits (fp8.h): elements are values * scale.
struct E4m3Matrix {
  Tensor values;  // uint8
  Tensor scale;   // one float
};

// True if matrices of 8 bits are multiplied on the device, which may be null.
bool MultipliesE4m3(Device* device);

// Products by cuBLASLt, with bias, addend and, where the library has it, the activation. It keeps
// the algorithms that the library chose, by shape. Thread-safe.
class LibraryMatMul {
 public:
  LibraryMatMul();
  ~LibraryMatMul();
  // Does what MatMul::Run() does, but the addend is in `output` already. No operand is empty.
  absl::StatusOr<Made> Run(KernelContext& ctx, const MatMulShape& shape, const PostOps& post_ops,
                           const Tensor& a, const Tensor& b, const Tensor* bias, Tensor* output);
  // Multiplies `a` [m, k] by the transpose of `b` [n, k], to a matrix of float, half or bfloat16.
  // Sums are floats. `before` enqueues what writes `a`; it is called if the library takes the
  // product.
  absl::StatusOr<Made> RunE4m3(KernelContext& ctx, const MatMulShape& shape,
                               const PostOps& post_ops, const E4m3Matrix& a, const E4m3Matrix& b,
                               const Tensor* bias, Tensor* output,
                               absl::FunctionRef<absl::Status()> before);

 private:
  struct Plans;
  const std::unique_ptr<Plans> plans_;
};

enum class ConvolutionDirection { kForward, kInputGradient, kFilterGradient };

// A filter [positions, in_channels / groups, out_channels], as TensorFlow has it.
struct LibraryFilter {
  LibraryFilter(const Tensor& values, const Tensor* arranged = nullptr)  // NOLINT
      : values(values), arranged(arranged) {}
  const Tensor& values;
  // The filter with output channels first, as ArrangeFilter() makes it; null if it is not known
  // beforehand.
  const Tensor* arranged;
};

// A convolution of `x` and `filter` to `y`, or one of its gradients, by cuDNN: the tensor that the
// direction names is written, the others are read. Only a forward convolution may have post-ops,
// whose addend does not lie where `y` does. No operand is empty. False if cuDNN does not take it,
// with its post-ops in the same call.
absl::StatusOr<bool> ConvolveByLibrary(KernelContext& ctx, ConvolutionDirection direction,
                                       const ConvolutionShape& shape, const Tensor& x,
                                       const LibraryFilter& filter, const Tensor& y,
                                       const PostOps& post_ops = PostOps(),
                                       const PostOpInputs& inputs = PostOpInputs());

// Returns `filter`, which lies in host memory and is not empty, with its last `out_dims` dimensions
// first: a copy for LibraryFilter. None if no library reads filters of its dtype.
absl::StatusOr<std::optional<Tensor>> ArrangeFilter(const Tensor& filter, int out_dims);

}  // namespace tessera::cuda

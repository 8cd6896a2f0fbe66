// The right-hand bytes of a kernel's quantised products, packed.
#pragma once

#include <optional>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/framework/kernel.h"
#include "runtime/kernels/primitives/byte_gemm.h"

namespace tessera {

// A packed matrix, and the sums by which zero points are taken off its products.
struct PackedBytes {
  Tensor bytes;  // what `matrix` refers to
  ByteMatrix matrix;
  Tensor sums;  // see ByteWeights::Sums
};

// Packs the right-hand bytes of a kernel's products: once, when its program is compiled, if they
// are constant, and otherwise in each run.
//
//   explicit QuantizedMatMulKernel(const KernelBuild& build) : weights_(build, /*input=*/1, {}) {}
//   absl::Status Prepare(const PrepareContext&) override { return weights_.Prepare(); }
//   ...
//   ASSIGN_OR_RETURN(const PackedBytes b, weights_.Get(ctx));  // in Compute()
//
// The bytes, of qint8 or quint8, are a matrix [depth, columns] or a filter [height, width,
// channels, columns], whose depth is all but the last dimension. Thread-safe after Prepare().
class ByteWeights {
 public:
  // Sums of int32 of the signed bytes that ByteMatrix makes of the weights.
  enum class Sums {
    kNone,
    kOfColumns,    // [1, columns]
    kOfPositions,  // [height * width + 1, columns]: at each position of a filter, and at all
  };
  struct Options {
    bool transposed = false;  // the matrix is [columns, depth]
    Sums sums = Sums::kNone;
  };

  // The weights are input `input` of the kernel.
  ByteWeights(const KernelBuild& build, int input, const Options& options);

  // Packs the weights if they are constant. For OpKernel::Prepare(). Errors: RESOURCE_EXHAUSTED.
  absl::Status Prepare();

  // Returns the packed weights of this run, whose input has the rank of a matrix or a filter.
  // Errors: RESOURCE_EXHAUSTED.
  absl::StatusOr<PackedBytes> Get(KernelContext& ctx) const;

 private:
  using Allocate = absl::FunctionRef<absl::StatusOr<Tensor>(DType dtype, const Shape& shape)>;

  absl::StatusOr<PackedBytes> Pack(const Tensor& weights, Allocate allocate) const;

  const int input_;
  const Options options_;
  Tensor constant_;  // until Prepare(); without a value if the weights are not constant
  std::optional<PackedBytes> prepared_;
};

}  // namespace tessera

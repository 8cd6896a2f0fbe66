#include "runtime/kernels/primitives/byte_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/host/mapping_guard.h"

namespace tessera {
namespace {

// Sets row p of `sums` to the sums of the columns at position p, which are `channels` terms of the
// depth, and the last row to the sums over the whole depth.
void SumColumns(const ByteMatrix& matrix, int64_t positions, int64_t channels, int64_t depth,
                int64_t columns, int32_t* sums) {
  std::vector<uint8_t> ones(matrix.row_size());
  for (int64_t p = 0; p < positions; ++p) {
    std::fill(ones.begin(), ones.end(), 0);
    std::fill_n(ones.begin() + p * channels, channels, 1);
    matrix.Multiply(ones.data(), 1, sums + p * columns, columns);
  }
  std::fill(ones.begin(), ones.end(), 0);
  std::fill_n(ones.begin(), depth, 1);
  matrix.Multiply(ones.data(), 1, sums + positions * columns, columns);
}

template <typename T>
ByteMatrix PackMatrix(const Tensor& weights, bool transposed, int64_t depth, int64_t columns,
                      Tensor* bytes) {
  return ByteMatrix::Pack(reinterpret_cast<const T*>(weights.raw()), depth, columns,
                          transposed ? 1 : columns, transposed ? depth : 1, bytes->data<int8_t>());
}

}  // namespace

ByteWeights::ByteWeights(const KernelBuild& build, int input, const Options& options)
    : input_(input), options_(options) {
  const Tensor* const constant = build.constant_input(input);
  if (constant != nullptr) constant_ = *constant;
}

absl::StatusOr<PackedBytes> ByteWeights::Pack(const Tensor& weights, Allocate allocate) const {
  const int column_dim = options_.transposed ? 0 : weights.rank() - 1;
  const int64_t columns = weights.dim(column_dim);
  int64_t depth = 1;
  for (int d = 0; d < weights.rank(); ++d) {
    if (d != column_dim) depth *= weights.dim(d);
  }
  const auto size = static_cast<int64_t>(ByteMatrix::PackedSize(depth, columns));
  ASSIGN_OR_RETURN(Tensor bytes, allocate(DType::kInt8, {size}));
  const bool is_signed = weights.dtype() == DType::kQint8;
  const ByteMatrix matrix =
      is_signed ? PackMatrix<int8_t>(weights, options_.transposed, depth, columns, &bytes)
                : PackMatrix<uint8_t>(weights, options_.transposed, depth, columns, &bytes);
  PackedBytes packed{.bytes = std::move(bytes), .matrix = matrix, .sums = {}};
  if (options_.sums == Sums::kNone) return packed;
  const bool by_positions = options_.sums == Sums::kOfPositions;
  const int64_t positions = by_positions ? weights.dim(0) * weights.dim(1) : 0;
  ASSIGN_OR_RETURN(packed.sums, allocate(DType::kInt32, {positions + 1, columns}));
  SumColumns(matrix, positions, by_positions ? weights.dim(2) : 0, depth, columns,
             packed.sums.data<int32_t>());
  return packed;
}

absl::Status ByteWeights::Prepare() {
  const Tensor weights = std::exchange(constant_, Tensor());
  if (!weights.has_value() || weights.num_elements() == 0) return absl::OkStatus();
  // Compute() refuses other ranks.
  const bool is_filter = weights.rank() == 4 && !options_.transposed;
  if (!is_filter && (weights.rank() != 2 || options_.sums == Sums::kOfPositions)) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(prepared_, Pack(weights, [](DType dtype, const Shape& shape) {
                     return Tensor::Allocate(dtype, shape, WeightsAllocator());
                   }));
  ReleaseMappedPages({weights.raw(), weights.total_bytes()});
  return absl::OkStatus();
}

absl::StatusOr<PackedBytes> ByteWeights::Get(KernelContext& ctx) const {
  if (prepared_.has_value()) return *prepared_;
  return Pack(ctx.input(input_),
              [&](DType dtype, const Shape& shape) { return ctx.AllocateTemp(dtype, shape); });
}

}  // namespace tessera

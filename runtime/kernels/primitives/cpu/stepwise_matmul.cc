#include "runtime/kernels/primitives/cpu/stepwise_matmul.h"

#include <algorithm>
#include <cstdint>

#include "Eigen/Core"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/matmul_batch.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/stepwise_gemm.h"

namespace tessera {
namespace {

using Half = Eigen::half;

// Nanoseconds a step of a product, of eight columns.
constexpr double kCost = 0.8;
// Several small products are not made by Eigen's micro-kernel, but element by element.
constexpr int64_t kSmallSum = 20;

// Copies one right-hand side, with a row for each step of the sums.
void WidenRight(const MatMulShape& s, const Half* from, float* to) {
  const int64_t stride = StepwiseStride(s.n);
  for (int64_t k = 0; k < s.k; ++k) {
    float* const row = to + k * stride;
    if (s.transpose_b) {
      for (int64_t c = 0; c < s.n; ++c) row[c] = static_cast<float>(from[c * s.k + k]);
    } else {
      ToFloat(from + k * s.n, row, s.n);
    }
    std::fill(row + s.n, row + stride, 0.0f);
  }
}

// Computes one product on the calling thread. `left` and `right` are scratch memory for the
// operands as floats, `sums` for the product.
void Multiply(const MatMulShape& s, const Half* a, const Half* b, float* left, float* right,
              float* sums, Half* output) {
  ToFloat(a, left, s.m * s.k);
  WidenRight(s, b, right);
  const int64_t stride = StepwiseStride(s.n), block = StepwiseDepth(s.m, s.n, s.k);
  for (int64_t k = 0; k < s.k; k += block) {
    const StepwiseGemm product{.rows = s.m,
                               .columns = s.n,
                               .depth = std::min(block, s.k - k),
                               .a = left + k * (s.transpose_a ? s.m : 1),
                               .row_stride = s.transpose_a ? 1 : s.k,
                               .depth_stride = s.transpose_a ? s.m : 1,
                               .b = right + k * stride,
                               .c = sums,
                               .adds = k > 0,
                               .by_element = s.batch_size() > 1 && s.m + s.n + s.k < kSmallSum};
    product.Run(0, s.m);
  }
  for (int64_t row = 0; row < s.m; ++row) {
    FromFloat(sums + row * stride, output + row * s.n, s.n);
  }
}

}  // namespace

absl::Status StepwiseMatMul(KernelContext& ctx, const MatMulShape& shape, const Tensor& a,
                            const Tensor& b, Tensor* output) {
  const int64_t batch = shape.batch_size(), m = shape.m, n = shape.n, k = shape.k;
  if (k == 0) {
    std::fill_n(output->data<Half>(), output->num_elements(), Half(0));
    return absl::OkStatus();
  }
  const int64_t stride = StepwiseStride(n);
  const int64_t left = m * k, right = k * stride, size = left + right + m * stride;
  ASSIGN_OR_RETURN(Tensor scratch,
                   ctx.AllocateTemp(DType::kFloat, {batch, size}, MemoryKind::kHost));
  ctx.ParallelFor(
      batch, kCost / 8 * static_cast<double>(m * k * stride), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto [a_matrix, b_matrix] = MatrixOffsets(shape, i);
          float* const memory = scratch.data<float>() + i * size;
          Multiply(shape, a.data<Half>() + a_matrix * left, b.data<Half>() + b_matrix * k * n,
                   memory, memory + left, memory + left + right, output->data<Half>() + i * m * n);
        }
      });
  return absl::OkStatus();
}

}  // namespace tessera

#include "runtime/kernels/primitives/cpu/ordered_gemm.h"

#include <algorithm>

#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cpu/attention_gemm.h"
#include "runtime/kernels/primitives/cpu/chunks.h"
#include "runtime/kernels/primitives/cpu/machine_speeds.h"

namespace tessera {

absl::Status OrderedGemm(KernelContext& ctx, int64_t m, int64_t n, int64_t k, bool transpose_a,
                         bool transpose_b, const PostOps& post_ops, const float* a, const float* b,
                         const float* bias, float* output) {
  HeadMatrix matrix(simd::LoopsForCpu(), k, n);
  ASSIGN_OR_RETURN(Tensor packed, ctx.AllocateTemp(DType::kFloat, {matrix.size()}));
  if (transpose_b) {
    matrix.PackTransposed(b, k, packed.data<float>());
  } else {
    matrix.Pack(b, n, packed.data<float>());
  }
  constexpr int64_t kRowsPerPass = 64;  // they and their sums stay in the second-level cache
  const double nanoseconds = 2.0 * m * n * k / SpeedsForCpu().fma_flops;
  const int64_t chunks = NumChunks(ctx, m, nanoseconds);
  return ForEachChunk(ctx, chunks, nanoseconds / chunks, [&](int64_t chunk) -> absl::Status {
    const int64_t begin = m * chunk / chunks, end = m * (chunk + 1) / chunks;
    const int64_t most = std::min(kRowsPerPass, end - begin);
    ASSIGN_OR_RETURN(Tensor workspace,
                     ctx.AllocateTemp(DType::kFloat, {most * (n + (transpose_a ? k : 0))}));
    float* const sums = workspace.data<float>();
    float* const transposed = sums + most * n;
    for (int64_t first = begin; first < end; first += most) {
      const int64_t rows = std::min(most, end - first);
      const float* from = a + first * k;
      if (transpose_a) {
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t p = 0; p < k; ++p) transposed[i * k + p] = a[p * m + first + i];
        }
        from = transposed;
      }
      matrix.Multiply(from, k, rows, sums, n);
      for (int64_t i = 0; i < rows; ++i) {
        ApplyPostOps(post_ops, sums + i * n, bias, n, output + (first + i) * n);
      }
    }
    return absl::OkStatus();
  });
}

}  // namespace tessera

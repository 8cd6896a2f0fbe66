#include "runtime/kernels/primitives/cpu/matmul_batch.h"

#include <cstddef>

namespace tessera {
namespace {

// Returns the run of the innermost dimensions, and the number of runs.
MatrixRun InnerRun(const MatMulShape& s, int64_t* outer) {
  MatrixRun run;
  size_t d = s.batch.size();
  while (d > 0) {
    const size_t next = d - 1;
    if (s.batch[next] != 1) {
      const bool first = run.count == 1;
      if (!first && (s.a_stride[next] != run.count * run.a_stride ||
                     s.b_stride[next] != run.count * run.b_stride)) {
        break;
      }
      if (first) {
        run.a_stride = s.a_stride[next];
        run.b_stride = s.b_stride[next];
      }
      run.count *= s.batch[next];
    }
    d = next;
  }
  *outer = 1;
  for (size_t i = 0; i < d; ++i) *outer *= s.batch[i];
  return run;
}

}  // namespace

MatMulBatch SplitBatch(const MatMulShape& given) {
  MatMulBatch batch{.shape = given};
  batch.run = InnerRun(given, &batch.outer);
  if (batch.run.count > 1 && batch.run.b_stride == 0 && batch.run.a_stride == 1 &&
      !given.transpose_a) {
    // All matrices share the right-hand side, so the batch becomes further rows.
    batch.shape.m *= batch.run.count;
    batch.run = MatrixRun();
  }
  batch.is_single = batch.outer == 1 && batch.run.count == 1 && !given.transpose_a;
  return batch;
}

std::pair<int64_t, int64_t> MatrixOffsets(const MatMulShape& s, int64_t index) {
  int64_t a = 0, b = 0;
  for (size_t d = s.batch.size(); d-- > 0;) {
    const int64_t at = index % s.batch[d];
    index /= s.batch[d];
    a += at * s.a_stride[d];
    b += at * s.b_stride[d];
  }
  return {a, b};
}

}  // namespace tessera

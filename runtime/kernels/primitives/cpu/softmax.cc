#include "runtime/kernels/primitives/softmax.h"

#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/kernels/primitives/cpu/attention_softmax.h"
#include "runtime/kernels/primitives/cpu/cpu_features.h"
#include "runtime/kernels/primitives/cpu/narrow_float.h"
#include "runtime/kernels/primitives/cpu/softmax_row.h"
#include "runtime/kernels/primitives/cpu/stepwise_softmax_row.h"

namespace tessera {
namespace {

template <typename T>
void Row(SoftmaxKind kind, const T* x, int64_t count, T* out, std::vector<T>* scratch) {
  if (kind == SoftmaxKind::kLogSoftmax) {
    scratch->resize(count);
    LogSoftmaxRow(x, count, out, scratch->data());
  } else {
    SoftmaxRow(x, count, out);
  }
}

// Computes rows [begin, end) of float or double.
template <typename T>
void Rows(SoftmaxKind kind, const char* in, int64_t begin, int64_t end, int64_t columns,
          char* out) {
  std::vector<T> scratch;
  for (int64_t offset = begin * columns; offset < end * columns; offset += columns) {
    Row(kind, reinterpret_cast<const T*>(in) + offset, columns, reinterpret_cast<T*>(out) + offset,
        &scratch);
  }
}

// Computes rows that consist of whole vectors. A few rows at a time are copied, and then computed
// in place.
void RowsOfVectors(const char* in, int64_t begin, int64_t end, int64_t columns, char* out) {
  static const auto softmax = HasAvx512() ? avx512::SoftmaxScores : avx2::SoftmaxScores;
  constexpr int64_t kRows = 8;
  for (int64_t row = begin; row < end; row += kRows) {
    const int64_t rows = std::min(kRows, end - row);
    float* const scores = reinterpret_cast<float*>(out) + row * columns;
    const float* const logits = reinterpret_cast<const float*>(in) + row * columns;
    if (scores != logits) std::copy_n(logits, rows * columns, scores);
    softmax({.scores = scores, .rows = rows, .count = columns, .step = columns});
  }
}

TESSERA_AVX512 void WideRows(SoftmaxKind kind, const char* in, int64_t begin, int64_t end,
                             int64_t columns, char* out) {
  Rows<float>(kind, in, begin, end, columns, out);
}

// Computes rows [begin, end) of half or bfloat16. TensorFlow computes the Softmax of bfloat16 in
// float.
template <typename T>
void NarrowRows(SoftmaxKind kind, const char* in, int64_t begin, int64_t end, int64_t columns,
                char* out) {
  std::vector<float> row(columns), scratch(kind == SoftmaxKind::kLogSoftmax ? columns : 0);
  for (int64_t offset = begin * columns; offset < end * columns; offset += columns) {
    ToFloat(reinterpret_cast<const T*>(in) + offset, row.data(), columns);
    if (kind == SoftmaxKind::kLogSoftmax) {
      LogSoftmaxRowStepwise<T>(row.data(), offset, columns, row.data(), scratch.data());
    } else if (std::is_same_v<T, Eigen::half>) {
      SoftmaxRowStepwise<T>(row.data(), offset, columns, row.data());
    } else {
      SoftmaxRow(row.data(), columns, row.data());
    }
    FromFloat(row.data(), reinterpret_cast<T*>(out) + offset, columns);
  }
}

absl::Status RunSoftmax(KernelContext& ctx, SoftmaxKind kind, int64_t rows, int64_t columns,
                        const Tensor& logits, Tensor* output) {
  const DType dtype = logits.dtype();
  const char* const in = logits.raw();
  char* const out = output->mutable_raw();
  ctx.ParallelFor(rows, 1.5 * static_cast<double>(columns), [&](int64_t begin, int64_t end) {
    switch (dtype) {
      case DType::kFloat:
        if (kind == SoftmaxKind::kSoftmax && columns % kScoreLanes == 0 && columns <= 1024) {
          return RowsOfVectors(in, begin, end, columns, out);
        }
        return HasAvx512() ? WideRows(kind, in, begin, end, columns, out)
                           : Rows<float>(kind, in, begin, end, columns, out);
      case DType::kDouble:
        return Rows<double>(kind, in, begin, end, columns, out);
      case DType::kHalf:
        return NarrowRows<Eigen::half>(kind, in, begin, end, columns, out);
      default:
        return NarrowRows<Eigen::bfloat16>(kind, in, begin, end, columns, out);
    }
  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(Softmax, kCpu, RunSoftmax);

}  // namespace
}  // namespace tessera

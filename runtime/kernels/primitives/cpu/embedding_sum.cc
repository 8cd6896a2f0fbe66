#include "runtime/kernels/primitives/embedding_sum.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/cpu/index_check.h"

namespace tessera {
namespace {

// The rows of one summand, addressed by the rows of the sum.
class Rows {
 public:
  Rows(const EmbeddingSum::Summand& summand, absl::Span<const int64_t> dims)
      : values_(summand.values->data<float>()),
        indices_(summand.indices),
        width_(summand.width),
        scale_(summand.scale),
        dims_(dims),
        strides_(summand.strides) {}

  // Writes the summand's part of row `row` of the sum, or adds it.
  void Write(int64_t row, int64_t columns, float* to) const {
    const float* const from = At(row);
    if (width_ == 1) {
      std::fill_n(to, columns, *from * scale_);
      return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < columns; ++i) to[i] = from[i] * scale_;
  }
  void Add(int64_t row, int64_t columns, float* to) const {
    const float* const from = At(row);
    if (width_ == 1) {
      const float same = *from * scale_;
#pragma GCC ivdep
      for (int64_t i = 0; i < columns; ++i) to[i] += same;
      return;
    }
#pragma GCC ivdep
    for (int64_t i = 0; i < columns; ++i) to[i] += from[i] * scale_;
  }

 private:
  const float* At(int64_t row) const {
    int64_t at = 0;
    for (size_t d = dims_.size(); d-- > 0; row /= dims_[d]) at += row % dims_[d] * strides_[d];
    if (indices_ != nullptr) {
      at = indices_->dtype() == DType::kInt32 ? indices_->data<int32_t>()[at]
                                              : indices_->data<int64_t>()[at];
    }
    return values_ + at * width_;
  }

  const float* values_;
  const Tensor* indices_;
  int64_t width_;
  float scale_;
  absl::Span<const int64_t> dims_, strides_;
};

absl::Status RunEmbeddingSum(KernelContext& ctx, absl::Span<const int64_t> dims, int64_t columns,
                             absl::Span<const EmbeddingSum::Summand> summands, Tensor* output) {
  for (const EmbeddingSum::Summand& summand : summands) {
    if (summand.indices == nullptr) continue;
    if (absl::Status bad = CheckIndices(*summand.indices, summand.values->dim(0)); !bad.ok()) {
      return Annotate(bad, absl::StrCat("{{node ", summand.gather, "}} "));
    }
  }
  if (output->num_elements() == 0) return absl::OkStatus();
  absl::InlinedVector<Rows, 4> rows;
  for (const EmbeddingSum::Summand& summand : summands) rows.emplace_back(summand, dims);
  float* const to = output->data<float>();
  ctx.ParallelFor(output->num_elements() / columns,
                  0.2 * static_cast<double>(columns) * static_cast<double>(rows.size()),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t row = begin; row < end; ++row) {
                      rows[0].Write(row, columns, to + row * columns);
                      for (size_t i = 1; i < rows.size(); ++i) {
                        rows[i].Add(row, columns, to + row * columns);
                      }
                    }
                  });
  return absl::OkStatus();
}
REGISTER_PRIMITIVE(EmbeddingSum, kCpu, RunEmbeddingSum);

}  // namespace
}  // namespace tessera

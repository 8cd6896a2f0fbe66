// Sums of rows that are looked up in embedding tables, and of what else is added to them: each row
// of the sum is written once.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/broadcast.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/slice_index.h"

namespace tessera {
namespace {

// The rows of one summand, under the rows of the sum.
class Rows {
 public:
  // Rows of `width` values: row i is the i-th, or, with `indices`, the one they name. `width` is
  // the sum's, or 1 if the one value is added to all columns.
  Rows(const Tensor& values, const Tensor* indices, int64_t width, float scale)
      : values_(values.data<float>()), indices_(indices), width_(width), scale_(scale) {}

  // Lets rows of dimensions `own` repeat under the dimensions `full`, to which they broadcast.
  void SpreadOver(absl::Span<const int64_t> own, absl::Span<const int64_t> full) {
    full_.assign(full.begin(), full.end());
    strides_.assign(full.size(), 0);
    int64_t stride = 1;
    for (size_t i = 0; i < own.size(); ++i) {
      const int64_t dim = own[own.size() - 1 - i];
      strides_[full.size() - 1 - i] = dim == 1 ? 0 : stride;
      stride *= dim;
    }
  }

  // Writes row `row` of the sum, or adds to it.
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
    for (size_t d = full_.size(); d-- > 0; row /= full_[d]) at += row % full_[d] * strides_[d];
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
  IndexVector full_, strides_;
};

// Errors: INVALID_ARGUMENT with the first index out of range, at the node that it was given to; for
// shapes that do not fit.
class EmbeddingSumKernel : public OpKernel {
 public:
  explicit EmbeddingSumKernel(const KernelBuild& build)
      : tables_(build.inputs("tables")),
        indices_(build.inputs("indices")),
        addends_(build.inputs("addends")),
        scales_(build.attr<std::vector<float>>("scales")),
        gathers_(build.attr<std::vector<std::string>>("gathers")) {
    const size_t count = tables_.size();
    if (indices_.size() != tables_.size() || scales_.size() != count || gathers_.size() != count) {
      build.Fail(absl::InvalidArgumentError("indices, scales and gathers must be one a table"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    int64_t table_columns = -1;
    absl::InlinedVector<Rows, 4> summands;
    absl::InlinedVector<Shape, 4> shapes;
    for (int i = 0; i < tables_.size(); ++i) {
      const Tensor &table = ctx.input(tables_.begin + i), &indices = ctx.input(indices_.begin + i);
      if (table.rank() != 2 || (table_columns >= 0 && table.dim(1) != table_columns)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "tables must be matrices of as many columns, has ", table.shape().ToString()));
      }
      table_columns = table.dim(1);
      if (absl::Status bad = CheckIndices(indices, table.dim(0)); !bad.ok()) {
        return Annotate(bad, absl::StrCat("{{node ", gathers_[i], "}} "));
      }
      summands.emplace_back(table, &indices, table_columns, scales_[i]);
      IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end());
      dims.push_back(table_columns);
      ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
      shapes.push_back(std::move(shape));
    }
    for (int i = addends_.begin; i < addends_.end; ++i) {
      const Tensor& addend = ctx.input(i);
      const int64_t width = addend.rank() == 0 ? 1 : addend.dim(addend.rank() - 1);
      summands.emplace_back(addend, nullptr, width, 1.0f);
      shapes.push_back(addend.shape());
    }
    Shape full = shapes[0];
    for (const Shape& shape : shapes) {
      ASSIGN_OR_RETURN(full, BroadcastShape(full, shape));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, full));
    if (full.num_elements() == 0) return absl::OkStatus();
    const auto rows_of = [](const Shape& shape) {
      return shape.dims().subspan(0, std::max(0, shape.rank() - 1));
    };
    for (size_t i = 0; i < summands.size(); ++i) {
      summands[i].SpreadOver(rows_of(shapes[i]), rows_of(full));
    }
    float* const to = output->data<float>();
    const int64_t columns = full.dim(full.rank() - 1);
    ctx.ParallelFor(full.num_elements() / columns,
                    0.2 * static_cast<double>(columns) * static_cast<double>(summands.size()),
                    [&](int64_t begin, int64_t end) {
                      for (int64_t row = begin; row < end; ++row) {
                        summands[0].Write(row, columns, to + row * columns);
                        for (size_t i = 1; i < summands.size(); ++i) {
                          summands[i].Add(row, columns, to + row * columns);
                        }
                      }
                    });
    return absl::OkStatus();
  }

 private:
  const ArgRange tables_, indices_, addends_;
  const std::vector<float> scales_;
  const std::vector<std::string> gathers_;
};
REGISTER_KERNEL("_EmbeddingSum", kCpu, EmbeddingSumKernel);

}  // namespace
}  // namespace tessera

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
#include "runtime/kernels/primitives/embedding_sum.h"

namespace tessera {
namespace {

// Strides that let rows of dimensions `own` repeat under the dimensions `full`, to which they
// broadcast; in rows.
IndexVector RowStrides(absl::Span<const int64_t> own, absl::Span<const int64_t> full) {
  IndexVector strides(full.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < own.size(); ++i) {
    const int64_t dim = own[own.size() - 1 - i];
    strides[full.size() - 1 - i] = dim == 1 ? 0 : stride;
    stride *= dim;
  }
  return strides;
}

// Errors: INVALID_ARGUMENT with the first index out of range, at the node that it was given to; for
// shapes that do not fit.
class EmbeddingSumKernel : public OpKernel {
 public:
  explicit EmbeddingSumKernel(const KernelBuild& build)
      : sum_(build),
        tables_(build.inputs("tables")),
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
    absl::InlinedVector<EmbeddingSum::Summand, 4> summands;
    absl::InlinedVector<Shape, 4> shapes;
    for (int i = 0; i < tables_.size(); ++i) {
      const Tensor &table = ctx.input(tables_.begin + i), &indices = ctx.input(indices_.begin + i);
      if (table.rank() != 2 || (table_columns >= 0 && table.dim(1) != table_columns)) {
        return absl::InvalidArgumentError(absl::StrCat(
            "tables must be matrices of as many columns, has ", table.shape().ToString()));
      }
      table_columns = table.dim(1);
      summands.push_back({.values = &table,
                          .indices = &indices,
                          .width = table_columns,
                          .scale = scales_[i],
                          .gather = gathers_[i]});
      IndexVector dims(indices.shape().dims().begin(), indices.shape().dims().end());
      dims.push_back(table_columns);
      ASSIGN_OR_RETURN(Shape shape, Shape::Make(dims));
      shapes.push_back(std::move(shape));
    }
    for (int i = addends_.begin; i < addends_.end; ++i) {
      const Tensor& addend = ctx.input(i);
      const int64_t width = addend.rank() == 0 ? 1 : addend.dim(addend.rank() - 1);
      summands.push_back({.values = &addend, .indices = nullptr, .width = width, .scale = 1.0f});
      shapes.push_back(addend.shape());
    }
    Shape full = shapes[0];
    for (const Shape& shape : shapes) {
      ASSIGN_OR_RETURN(full, BroadcastShape(full, shape));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, full));
    const auto rows_of = [](const Shape& shape) {
      return shape.dims().subspan(0, std::max(0, shape.rank() - 1));
    };
    absl::InlinedVector<IndexVector, 4> strides;
    for (const Shape& shape : shapes) strides.push_back(RowStrides(rows_of(shape), rows_of(full)));
    for (size_t i = 0; i < summands.size(); ++i) summands[i].strides = strides[i];
    return sum_(ctx, rows_of(full), full.dim(full.rank() - 1), summands, output);
  }

 private:
  const Primitive<EmbeddingSum> sum_;
  const ArgRange tables_, indices_, addends_;
  const std::vector<float> scales_;
  const std::vector<std::string> gathers_;
};
REGISTER_KERNEL("_EmbeddingSum", DevicesOf<EmbeddingSum>, EmbeddingSumKernel);

}  // namespace
}  // namespace tessera

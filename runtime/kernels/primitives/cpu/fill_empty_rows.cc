#include "runtime/kernels/primitives/fill_empty_rows.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {
namespace {

absl::StatusOr<FillEmptyRows::Filled> RunFillEmptyRows(KernelContext& ctx, const Tensor& indices,
                                                       const Tensor& values,
                                                       const Tensor& default_value,
                                                       Tensor* is_empty, Tensor* positions) {
  const int64_t count = indices.dim(0), rank = indices.dim(1), rows = is_empty->num_elements();
  const int64_t* const in = indices.data<int64_t>();
  // Holds the size of each row at first, and later the position of its next value.
  ASSIGN_OR_RETURN(Tensor sizes, ctx.AllocateTemp(DType::kInt64, {rows}));
  bool* const empty = is_empty->data<bool>();
  int64_t* const next = sizes.data<int64_t>();
  std::fill(empty, empty + rows, true);
  std::fill(next, next + rows, 0);
  for (int64_t n = 0; n < count; ++n) {
    const int64_t row = in[n * rank];
    if (row < 0 || row >= rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("indices[", n, "] names row ", row, " of ", rows));
    }
    empty[row] = false;
    ++next[row];
  }
  int64_t total = 0;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t size = std::max<int64_t>(next[row], 1);
    next[row] = total;
    total += size;
  }
  FillEmptyRows::Filled filled;
  ASSIGN_OR_RETURN(filled.indices, ctx.AllocateTemp(DType::kInt64, {total, rank}));
  ASSIGN_OR_RETURN(filled.values, ctx.AllocateTemp(values.dtype(), {total}));
  int64_t* const out = filled.indices.data<int64_t>();
  const DType dtype = values.dtype();
  const size_t size = DTypeSize(dtype);
  char* const out_values = filled.values.mutable_raw();
  for (int64_t row = 0; row < rows; ++row) {
    if (!empty[row]) continue;
    std::fill_n(out + next[row] * rank, rank, 0);
    out[next[row] * rank] = row;
    CopyElements(dtype, default_value.raw(), out_values + next[row] * size, 1);
  }
  for (int64_t n = 0; n < count; ++n) {
    const int64_t to = next[in[n * rank]]++;
    std::copy_n(in + n * rank, rank, out + to * rank);
    CopyElements(dtype, values.raw() + n * size, out_values + to * size, 1);
    positions->data<int64_t>()[n] = to;
  }
  return filled;
}
REGISTER_PRIMITIVE(FillEmptyRows, kCpu, RunFillEmptyRows);

}  // namespace
}  // namespace tessera

// The values are sorted by row, and the empty rows are listed. The place of a value is its place
// among the sorted ones plus the number of empty rows before its row.
#include "runtime/base/status.h"
#include "runtime/kernels/primitives/cuda/element.h"
#include "runtime/kernels/primitives/cuda/launch.h"
#include "runtime/kernels/primitives/cuda/non_zero.h"
#include "runtime/kernels/primitives/cuda/registration.h"
#include "runtime/kernels/primitives/cuda/sorted_pairs.h"
#include "runtime/kernels/primitives/fill_empty_rows.h"

namespace tessera::cuda {
namespace {

__global__ void TakeRowNumbers(int64_t count, int64_t rank, const int64_t* indices, int64_t* rows) {
  for (int64_t i = FirstItem(); i < count; i += ItemStep()) rows[i] = indices[i * rank];
}

// Sets *num_valid to how many of the values are in one of the rows.
__global__ void FindEmptyRows(int64_t rows, IndexRuns runs, bool* is_empty, int64_t* num_valid) {
  if (FirstItem() == 0) *num_valid = runs.Begin(rows);
  for (int64_t row = FirstItem(); row < rows; row += ItemStep()) {
    const int64_t at = runs.Begin(row);
    is_empty[row] = at == runs.count || runs.pairs[at].key != static_cast<uint64_t>(row);
  }
}

template <typename T>
__global__ void PlaceValues(IndexRuns runs, int64_t num_empty, const int64_t* empty_rows,
                            int64_t rank, const int64_t* indices, const T* values,
                            int64_t* positions, int64_t* out_indices, T* out_values) {
  for (int64_t at = FirstItem(); at < runs.count; at += ItemStep()) {
    const int64_t row = static_cast<int64_t>(runs.pairs[at].key), i = runs.pairs[at].index;
    int64_t begin = 0, end = num_empty;
    while (begin < end) {
      const int64_t middle = begin + (end - begin) / 2;
      if (empty_rows[middle] < row) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    const int64_t to = at + begin;
    for (int64_t d = 0; d < rank; ++d) out_indices[to * rank + d] = indices[i * rank + d];
    out_values[to] = values[i];
    positions[i] = to;
  }
}

template <typename T>
__global__ void PlaceDefaults(int64_t num_empty, IndexRuns runs, const int64_t* empty_rows,
                              int64_t rank, const T* default_value, int64_t* out_indices,
                              T* out_values) {
  for (int64_t e = FirstItem(); e < num_empty; e += ItemStep()) {
    const int64_t to = runs.Begin(empty_rows[e]) + e;
    for (int64_t d = 0; d < rank; ++d) out_indices[to * rank + d] = d == 0 ? empty_rows[e] : 0;
    out_values[to] = *default_value;
  }
}

absl::StatusOr<FillEmptyRows::Filled> RunFillEmptyRows(KernelContext& ctx, const Tensor& indices,
                                                       const Tensor& values,
                                                       const Tensor& default_value,
                                                       Tensor* is_empty, Tensor* positions) {
  const int64_t count = indices.dim(0), rank = indices.dim(1), rows = is_empty->num_elements();
  FillEmptyRows::Filled filled;
  if (rows == 0) {
    if (count > 0) return absl::InvalidArgumentError("there are values, but no rows");
    ASSIGN_OR_RETURN(filled.indices, ctx.AllocateTemp(DType::kInt64, {0, rank}));
    ASSIGN_OR_RETURN(filled.values, ctx.AllocateTemp(values.dtype(), {0}));
    return filled;
  }
  ASSIGN_OR_RETURN(const Tensor numbers, ctx.AllocateTemp(DType::kInt64, {count}));
  RETURN_IF_ERROR(LaunchItems(ctx, count, TakeRowNumbers, count, rank,
                              DataOf<const int64_t>(indices), DataOf<int64_t>(numbers)));
  Tensor memory;
  ASSIGN_OR_RETURN(const IndexRuns runs,
                   SortIndices(ctx, numbers, rows, BadIndices::kSkip, memory));
  ASSIGN_OR_RETURN(const Tensor num_valid, ctx.AllocateTemp(DType::kInt64, {1}));
  RETURN_IF_ERROR(LaunchItems(ctx, rows, FindEmptyRows, rows, runs, DataOf<bool>(*is_empty),
                              DataOf<int64_t>(num_valid)));
  Tensor on_host = num_valid;
  if (ctx.stream() != nullptr) {
    ASSIGN_OR_RETURN(on_host, ctx.AllocateTemp(DType::kInt64, {1}, MemoryKind::kPinned));
    ctx.stream()->Copy(num_valid, &on_host);
  }
  // Waits for the copy too.
  ASSIGN_OR_RETURN(const Tensor empty_rows, FindNonZero(ctx, *is_empty));
  if (on_host.scalar<int64_t>() != count) {
    return absl::InvalidArgumentError(absl::StrCat(count - on_host.scalar<int64_t>(), " of ", count,
                                                   " indices name a row that is not in [0, ", rows,
                                                   ")"));
  }
  const int64_t num_empty = empty_rows.dim(0), total = count + num_empty;
  ASSIGN_OR_RETURN(filled.indices, ctx.AllocateTemp(DType::kInt64, {total, rank}));
  ASSIGN_OR_RETURN(filled.values, ctx.AllocateTemp(values.dtype(), {total}));
  RETURN_IF_ERROR(VisitBySize(ElementSize(values), [&]<typename T>() {
    const absl::Status placed = LaunchItems(
        ctx, count, PlaceValues<T>, runs, num_empty, DataOf<const int64_t>(empty_rows), rank,
        DataOf<const int64_t>(indices), DataOf<const T>(values), DataOf<int64_t>(*positions),
        DataOf<int64_t>(filled.indices), DataOf<T>(filled.values));
    if (!placed.ok()) return placed;
    return LaunchItems(ctx, num_empty, PlaceDefaults<T>, num_empty, runs,
                       DataOf<const int64_t>(empty_rows), rank, DataOf<const T>(default_value),
                       DataOf<int64_t>(filled.indices), DataOf<T>(filled.values));
  }));
  return filled;
}
REGISTER_CUDA_PRIMITIVE(FillEmptyRows, RunFillEmptyRows);

}  // namespace
}  // namespace tessera::cuda

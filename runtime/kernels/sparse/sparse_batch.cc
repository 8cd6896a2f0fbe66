#include "runtime/kernels/sparse/sparse_batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/kernels/primitives/element_type.h"

namespace tessera {

absl::StatusOr<std::vector<SparseTensor>> SplitRows(KernelContext& ctx,
                                                    const SparseTensor& sparse) {
  if (sparse.rank() < 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("Rank of input SparseTensor should be > 1, but saw rank: ", sparse.rank()));
  }
  const int64_t num_rows = sparse.shape[0];
  // A row takes some hundred bytes even if it is empty.
  constexpr int64_t kMostEmptyRows = int64_t{1} << 22;
  if (num_rows > std::max(kMostEmptyRows, sparse.count())) {
    return absl::ResourceExhaustedError(absl::StrCat("a sparse tensor of ", num_rows, " rows"));
  }
  std::vector<int64_t> counts(num_rows, 0);
  for (int64_t i = 0; i < sparse.count(); ++i) {
    const int64_t row = sparse.index(i)[0];
    if (row < 0 || row >= num_rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("Received unexpected column 0 value in input SparseTensor: ", row,
                       " at index ", i, ", the tensor has ", num_rows, " rows"));
    }
    ++counts[row];
  }
  const DType dtype = sparse.values.dtype();
  const int rank = sparse.rank() - 1;
  std::vector<SparseTensor> rows(num_rows);
  for (int64_t r = 0; r < num_rows; ++r) {
    ASSIGN_OR_RETURN(rows[r].indices, ctx.AllocateTemp(DType::kInt64, Shape{counts[r], rank}));
    ASSIGN_OR_RETURN(rows[r].values, ctx.AllocateTemp(dtype, Shape{counts[r]}));
    rows[r].shape.assign(sparse.shape.begin() + 1, sparse.shape.end());
    counts[r] = 0;
  }
  const size_t size = DTypeSize(dtype);
  for (int64_t i = 0; i < sparse.count(); ++i) {
    const int64_t* const index = sparse.index(i);
    SparseTensor& row = rows[index[0]];
    const int64_t to = counts[index[0]]++;
    std::copy_n(index + 1, rank, row.indices.data<int64_t>() + to * rank);
    CopyElements(dtype, sparse.values.raw() + i * size, row.values.mutable_raw() + to * size, 1);
  }
  return rows;
}

absl::Status JoinSparse(KernelContext& ctx, absl::Span<const SparseTensor> parts,
                        absl::Span<const int64_t> batch) {
  const int rank = parts[0].rank(), batch_rank = static_cast<int>(batch.size());
  std::vector<int64_t> shape(batch.begin(), batch.end());
  shape.resize(batch_rank + rank, 0);
  int64_t count = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    if (parts[p].rank() != rank) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Inconsistent rank across SparseTensors: rank prior to SparseTensor[", p, "] was: ", rank,
          " but rank of SparseTensor[", p, "] is: ", parts[p].rank()));
    }
    count += parts[p].count();
    for (int d = 0; d < rank; ++d) {
      shape[batch_rank + d] = std::max(shape[batch_rank + d], parts[p].shape[d]);
    }
  }
  ASSIGN_OR_RETURN(const SparseOutput output, AllocateSparse(ctx, 0, count, shape));
  int64_t* index = output.indices->data<int64_t>();
  char* value = output.values->mutable_raw();
  for (size_t p = 0; p < parts.size(); ++p) {
    for (int64_t i = 0; i < parts[p].count(); ++i, index += batch_rank + rank) {
      int64_t rest = static_cast<int64_t>(p);
      for (int d = batch_rank - 1; d >= 0; --d) {
        index[d] = rest % batch[d];
        rest /= batch[d];
      }
      std::copy_n(parts[p].index(i), rank, index + batch_rank);
    }
    CopyElements(output.values->dtype(), parts[p].values.raw(), value, parts[p].count());
    value += parts[p].values.size_bytes();
  }
  return absl::OkStatus();
}

}  // namespace tessera

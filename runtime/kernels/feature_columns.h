// Categorical features of a batch, from sparse, ragged and dense tensors, for crossing them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "runtime/framework/kernel.h"

namespace tessera {

// One column: for each row of the batch some values, strings or integers.
struct FeatureColumn {
  // Values [begin, end) of those that `positions` names, in the order of the rows.
  struct Row {
    int64_t row, begin, end;
  };

  const Tensor* values = nullptr;
  std::vector<int64_t> positions;  // in `values`
  std::vector<Row> rows;           // those with any values, in order

  // Returns the fingerprint of a string, an integer as it is.
  uint64_t Fingerprint(int64_t position) const;
  std::string Text(int64_t position) const;
};

// Columns of one batch in the order in which they were read. The tensors must outlive it.
// Errors of all Read*(): INVALID_ARGUMENT for other shapes, rows outside the batch, and another
// number of rows than the columns before have.
class FeatureColumns {
 public:
  // Reads all inputs of the ops that take N sparse columns and then dense ones.
  absl::Status Read(KernelContext& ctx, ArgRange indices, ArgRange values, ArgRange shapes,
                    ArgRange dense);
  absl::Status ReadSparse(int i, const Tensor& indices, const Tensor& values, const Tensor& shape);
  absl::Status ReadDense(int i, const Tensor& values);
  absl::Status ReadRagged(int i, const Tensor& values, const Tensor& row_splits);

  int64_t batch() const { return std::max<int64_t>(batch_, 0); }
  size_t size() const { return columns_.size(); }
  const FeatureColumn& operator[](size_t i) const { return columns_[i]; }

  // Calls visit(row, choices, count) for each row that gives any crosses, in order: of each column
  // the positions to choose from, and how many crosses that makes. Errors: INVALID_ARGUMENT for
  // more crosses than can be counted.
  using RowVisitor = absl::FunctionRef<void(
      int64_t row, absl::Span<const absl::Span<const int64_t>> choices, int64_t count)>;
  absl::Status ForRows(RowVisitor visit) const;
  // Calls visit(row, positions, n) for each cross, with one position of each column; it is the n-th
  // of its row. The last column changes fastest. Errors: as ForRows().
  using CrossVisitor =
      absl::FunctionRef<void(int64_t row, const std::vector<int64_t>& positions, int64_t n)>;
  absl::Status ForCrosses(CrossVisitor visit) const;

  // Returns the texts of one position a column.
  std::string JoinTexts(const std::vector<int64_t>& positions, absl::string_view separator) const;
  // Returns `seed` combined with the fingerprints of one position a column.
  uint64_t Hash(const std::vector<int64_t>& positions, uint64_t seed) const;

 private:
  absl::Status SetBatch(int64_t batch, absl::string_view what);
  // Adds a column whose i-th value is in row row_of(i).
  template <typename RowOf>
  void AddColumn(const Tensor& values, const RowOf& row_of);

  int64_t batch_ = -1;
  std::vector<FeatureColumn> columns_;
};

// Returns `hash` in [0, num_buckets), or in what a non-negative int64 holds for 0 buckets.
int64_t HashBucket(uint64_t hash, int64_t num_buckets);

}  // namespace tessera

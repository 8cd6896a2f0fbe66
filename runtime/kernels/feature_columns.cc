#include "runtime/kernels/feature_columns.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "runtime/kernels/fingerprint.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {

uint64_t FeatureColumn::Fingerprint(int64_t position) const {
  return values->dtype() == DType::kString
             ? Fingerprint64(values->flat<std::string>()[position])
             : static_cast<uint64_t>(values->flat<int64_t>()[position]);
}

std::string FeatureColumn::Text(int64_t position) const {
  return values->dtype() == DType::kString ? values->flat<std::string>()[position]
                                           : absl::StrCat(values->flat<int64_t>()[position]);
}

absl::Status FeatureColumns::Read(KernelContext& ctx, ArgRange indices, ArgRange values,
                                  ArgRange shapes, ArgRange dense) {
  for (int i = 0; i < indices.size(); ++i) {
    RETURN_IF_ERROR(ReadSparse(i, ctx.input(indices.begin + i), ctx.input(values.begin + i),
                               ctx.input(shapes.begin + i)));
  }
  for (int i = dense.begin; i < dense.end; ++i) {
    RETURN_IF_ERROR(ReadDense(i - dense.begin, ctx.input(i)));
  }
  return absl::OkStatus();
}

absl::Status FeatureColumns::ForRows(RowVisitor visit) const {
  if (columns_.empty()) return absl::OkStatus();
  std::vector<const std::vector<int64_t>*> choices(columns_.size());
  for (const auto& [row, positions] : columns_[0].rows) {
    int64_t count = 1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const auto found = columns_[c].rows.find(row);
      if (found == columns_[c].rows.end()) {
        count = 0;
        break;
      }
      choices[c] = &found->second;
      count = MultiplyWithoutOverflow(count, static_cast<int64_t>(choices[c]->size()));
      if (count < 0) return absl::InvalidArgumentError("too many feature crosses in a row");
    }
    if (count > 0) visit(row, choices, count);
  }
  return absl::OkStatus();
}

absl::Status FeatureColumns::ForCrosses(CrossVisitor visit) const {
  std::vector<int64_t> positions(columns_.size());
  return ForRows(
      [&](int64_t row, absl::Span<const std::vector<int64_t>* const> choices, int64_t count) {
        for (int64_t n = 0; n < count; ++n) {
          int64_t rest = n;
          for (size_t c = columns_.size(); c-- > 0;) {
            const std::vector<int64_t>& of_column = *choices[c];
            positions[c] = of_column[rest % of_column.size()];
            rest /= static_cast<int64_t>(of_column.size());
          }
          visit(row, positions, n);
        }
      });
}

std::string FeatureColumns::JoinTexts(const std::vector<int64_t>& positions,
                                      absl::string_view separator) const {
  std::string text;
  for (size_t c = 0; c < positions.size(); ++c) {
    absl::StrAppend(&text, c == 0 ? "" : separator, columns_[c].Text(positions[c]));
  }
  return text;
}

uint64_t FeatureColumns::Hash(const std::vector<int64_t>& positions, uint64_t seed) const {
  for (size_t c = 0; c < positions.size(); ++c) {
    seed = FingerprintCat64(seed, columns_[c].Fingerprint(positions[c]));
  }
  return seed;
}

absl::Status FeatureColumns::SetBatch(int64_t batch, absl::string_view what) {
  if (batch_ >= 0 && batch != batch_) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " has ", batch, " rows, the columns before it have ", batch_));
  }
  batch_ = batch;
  return absl::OkStatus();
}

absl::Status FeatureColumns::ReadSparse(int i, const Tensor& indices, const Tensor& values,
                                        const Tensor& shape) {
  const std::string what = absl::StrCat("sparse column ", i);
  if (indices.rank() != 2 || indices.dim(1) != 2 || values.rank() != 1 || shape.rank() != 1 ||
      shape.dim(0) != 2 || indices.dim(0) != values.dim(0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a matrix: indices [n,2], values [n], shape [2]; has shapes ",
                     indices.shape().ToString(), ", ", values.shape().ToString(), ", ",
                     shape.shape().ToString()));
  }
  const int64_t batch = shape.flat<int64_t>()[0];
  if (batch < 0 || batch > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(what, " has ", batch, " rows"));
  }
  RETURN_IF_ERROR(SetBatch(batch, what));
  FeatureColumn column{&values, {}};
  for (int64_t n = 0; n < values.dim(0); ++n) {
    const int64_t row = indices.flat<int64_t>()[2 * n];
    if (row < 0 || row >= batch) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": indices[", n, "] names row ", row, " of ", batch));
    }
    column.rows[row].push_back(n);
  }
  columns_.push_back(std::move(column));
  return absl::OkStatus();
}

absl::Status FeatureColumns::ReadDense(int i, const Tensor& values) {
  const std::string what = absl::StrCat("dense column ", i);
  if (values.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a matrix, has shape ", values.shape().ToString()));
  }
  RETURN_IF_ERROR(SetBatch(values.dim(0), what));
  FeatureColumn column{&values, {}};
  for (int64_t n = 0; n < values.num_elements(); ++n) {
    column.rows[n / values.dim(1)].push_back(n);
  }
  columns_.push_back(std::move(column));
  return absl::OkStatus();
}

absl::Status FeatureColumns::ReadRagged(int i, const Tensor& values, const Tensor& row_splits) {
  const std::string what = absl::StrCat("ragged column ", i);
  if (values.rank() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must have a vector of values, has shape ", values.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                   ReadRowSplits(row_splits, values.dim(0), absl::StrCat(what, " row_splits")));
  RETURN_IF_ERROR(SetBatch(static_cast<int64_t>(splits.size()) - 1, what));
  FeatureColumn column{&values, {}};
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    for (int64_t n = splits[row]; n < splits[row + 1]; ++n) {
      column.rows[static_cast<int64_t>(row)].push_back(n);
    }
  }
  columns_.push_back(std::move(column));
  return absl::OkStatus();
}

int64_t HashBucket(uint64_t hash, int64_t num_buckets) {
  const int64_t buckets = num_buckets > 0 ? num_buckets : std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(hash % static_cast<uint64_t>(buckets));
}

}  // namespace tessera

#include "runtime/kernels/feature_columns.h"

#include <algorithm>
#include <limits>
#include <numeric>

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
  if (values.size() != indices.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(indices.size(), " sparse columns need as many values, not ", values.size()));
  }
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
  std::vector<absl::Span<const int64_t>> choices(columns_.size());
  std::vector<size_t> next(columns_.size(), 0);  // of each column's rows
  for (const FeatureColumn::Row& first : columns_[0].rows) {
    int64_t count = 1;
    for (size_t c = 0; c < columns_.size(); ++c) {
      const FeatureColumn& column = columns_[c];
      while (next[c] < column.rows.size() && column.rows[next[c]].row < first.row) ++next[c];
      if (next[c] == column.rows.size() || column.rows[next[c]].row > first.row) {
        count = 0;
        break;
      }
      const auto [row, begin, end] = column.rows[next[c]];
      choices[c] = absl::MakeSpan(column.positions).subspan(begin, end - begin);
      count = MultiplyWithoutOverflow(count, end - begin);
      if (count < 0) return absl::InvalidArgumentError("too many feature crosses in a row");
    }
    if (count > 0) visit(first.row, choices, count);
  }
  return absl::OkStatus();
}

absl::Status FeatureColumns::ForCrosses(CrossVisitor visit) const {
  std::vector<int64_t> positions(columns_.size());
  std::vector<size_t> chosen(columns_.size());  // among the choices of each column
  return ForRows(
      [&](int64_t row, absl::Span<const absl::Span<const int64_t>> choices, int64_t count) {
        for (size_t c = 0; c < choices.size(); ++c) {
          chosen[c] = 0;
          positions[c] = choices[c][0];
        }
        for (int64_t n = 0; n < count; ++n) {
          visit(row, positions, n);
          for (size_t c = choices.size(); c-- > 0;) {
            chosen[c] = chosen[c] + 1 < choices[c].size() ? chosen[c] + 1 : 0;
            positions[c] = choices[c][chosen[c]];
            if (chosen[c] > 0) break;
          }
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

template <typename RowOf>
void FeatureColumns::AddColumn(const Tensor& values, const RowOf& row_of) {
  FeatureColumn column{.values = &values};
  column.positions.resize(values.num_elements());
  std::iota(column.positions.begin(), column.positions.end(), 0);
  const auto is_before = [&](int64_t a, int64_t b) { return row_of(a) < row_of(b); };
  if (!std::is_sorted(column.positions.begin(), column.positions.end(), is_before)) {
    std::stable_sort(column.positions.begin(), column.positions.end(), is_before);
  }
  for (size_t i = 0; i < column.positions.size(); ++i) {
    const int64_t row = row_of(column.positions[i]), place = static_cast<int64_t>(i);
    if (column.rows.empty() || column.rows.back().row != row) {
      column.rows.push_back({row, place, place});
    }
    ++column.rows.back().end;
  }
  columns_.push_back(std::move(column));
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
  const int64_t* const pairs = indices.data<int64_t>();
  for (int64_t n = 0; n < values.dim(0); ++n) {
    const int64_t row = pairs[2 * n];
    if (row < 0 || row >= batch) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": indices[", n, "] names row ", row, " of ", batch));
    }
  }
  AddColumn(values, [pairs](int64_t n) { return pairs[2 * n]; });
  return absl::OkStatus();
}

absl::Status FeatureColumns::ReadDense(int i, const Tensor& values) {
  const std::string what = absl::StrCat("dense column ", i);
  if (values.rank() != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be a matrix, has shape ", values.shape().ToString()));
  }
  RETURN_IF_ERROR(SetBatch(values.dim(0), what));
  AddColumn(values, [width = values.dim(1)](int64_t n) { return n / width; });
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
  std::vector<int64_t> rows(values.num_elements());
  for (size_t row = 0; row + 1 < splits.size(); ++row) {
    std::fill(rows.begin() + splits[row], rows.begin() + splits[row + 1],
              static_cast<int64_t>(row));
  }
  AddColumn(values, [&rows](int64_t n) { return rows[n]; });
  return absl::OkStatus();
}

int64_t HashBucket(uint64_t hash, int64_t num_buckets) {
  const int64_t buckets = num_buckets > 0 ? num_buckets : std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(hash % static_cast<uint64_t>(buckets));
}

}  // namespace tessera

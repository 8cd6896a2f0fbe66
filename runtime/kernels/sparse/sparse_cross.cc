// SparseCross: feature crosses of categorical columns.
#include <functional>
#include <limits>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/fingerprint.h"
#include "runtime/kernels/index_input.h"

namespace tessera {
namespace {

// One column: for each row of the batch some values, strings or integers.
struct Column {
  const Tensor* values = nullptr;
  std::map<int64_t, std::vector<int64_t>> rows;  // positions in `values`; of rows with any

  uint64_t Fingerprint(int64_t position) const {
    return values->dtype() == DType::kString
               ? Fingerprint64(values->flat<std::string>()[position])
               : static_cast<uint64_t>(values->flat<int64_t>()[position]);
  }
  std::string Text(int64_t position) const {
    return values->dtype() == DType::kString ? values->flat<std::string>()[position]
                                             : absl::StrCat(values->flat<int64_t>()[position]);
  }
};

// The columns of a node's inputs: N sparse ones, then the dense ones.
class Columns {
 public:
  absl::Status Read(KernelContext& ctx, ArgRange indices, ArgRange values, ArgRange shapes,
                    ArgRange dense) {
    for (int i = 0; i < indices.size(); ++i) {
      RETURN_IF_ERROR(ReadSparse(i, ctx.input(indices.begin + i), ctx.input(values.begin + i),
                                 ctx.input(shapes.begin + i)));
    }
    for (int i = dense.begin; i < dense.end; ++i) {
      RETURN_IF_ERROR(ReadDense(i - dense.begin, ctx.input(i)));
    }
    return absl::OkStatus();
  }

  int64_t batch() const { return std::max<int64_t>(batch_, 0); }
  size_t size() const { return columns_.size(); }
  const Column& operator[](size_t i) const { return columns_[i]; }

  // Calls visit(row, choices, count) for each row that gives any crosses, in order: of each column
  // the positions to choose from, and how many crosses that makes. Errors: INVALID_ARGUMENT for
  // more crosses than can be counted.
  template <typename Visit>
  absl::Status ForRows(Visit visit) const {
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
        if (count < 0) return absl::InvalidArgumentError("SparseCross: too many crosses");
      }
      if (count > 0) visit(row, choices, count);
    }
    return absl::OkStatus();
  }

 private:
  absl::Status SetBatch(int64_t batch, absl::string_view what) {
    if (batch_ >= 0 && batch != batch_) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " has ", batch, " rows, the columns before it have ", batch_));
    }
    batch_ = batch;
    return absl::OkStatus();
  }

  absl::Status ReadSparse(int i, const Tensor& indices, const Tensor& values, const Tensor& shape) {
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
    Column column{&values, {}};
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

  absl::Status ReadDense(int i, const Tensor& values) {
    const std::string what = absl::StrCat("dense column ", i);
    if (values.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, " must be a matrix, has shape ", values.shape().ToString()));
    }
    RETURN_IF_ERROR(SetBatch(values.dim(0), what));
    Column column{&values, {}};
    for (int64_t n = 0; n < values.num_elements(); ++n) {
      column.rows[n / values.dim(1)].push_back(n);
    }
    columns_.push_back(std::move(column));
    return absl::OkStatus();
  }

  int64_t batch_ = -1;
  std::vector<Column> columns_;
};

// Outputs indices, values and shape of the crosses; `emit(positions, out)` writes cross `out` from
// one position a column. The last column changes fastest.
absl::Status WriteCrosses(KernelContext& ctx, const Columns& columns, DType dtype,
                          const std::function<void(const std::vector<int64_t>& positions,
                                                   Tensor& values, int64_t out)>& emit) {
  int64_t total = 0, widest = 0;
  RETURN_IF_ERROR(columns.ForRows([&](int64_t, const auto&, int64_t count) {
    if (__builtin_add_overflow(total, count, &total)) total = std::numeric_limits<int64_t>::max();
    widest = std::max(widest, count);
  }));
  ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, {total, 2}));
  ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, dtype, {total}));
  ASSIGN_OR_RETURN(Tensor* const shape, ctx.AllocateOutput(2, {2}));
  shape->flat<int64_t>()[0] = columns.batch();
  shape->flat<int64_t>()[1] = widest;
  int64_t out = 0;
  std::vector<int64_t> positions(columns.size());
  return columns.ForRows([&](int64_t row, const auto& choices, int64_t count) {
    for (int64_t n = 0; n < count; ++n, ++out) {
      int64_t rest = n;
      for (size_t c = columns.size(); c-- > 0;) {
        const std::vector<int64_t>& of_column = *choices[c];
        positions[c] = of_column[rest % of_column.size()];
        rest /= static_cast<int64_t>(of_column.size());
      }
      indices->flat<int64_t>()[2 * out] = row;
      indices->flat<int64_t>()[2 * out + 1] = n;
      emit(positions, *values, out);
    }
  });
}

std::string JoinTexts(const Columns& columns, const std::vector<int64_t>& positions,
                      absl::string_view separator) {
  std::string text;
  for (size_t c = 0; c < positions.size(); ++c) {
    absl::StrAppend(&text, c == 0 ? "" : separator, columns[c].Text(positions[c]));
  }
  return text;
}

// Crosses as strings joined by "_X_", or as hashes: as the type of the values says, whatever
// `hashed_output` does.
class SparseCrossKernel : public OpKernel {
 public:
  explicit SparseCrossKernel(const KernelBuild& build)
      : indices_(build.inputs("indices")),
        values_(build.inputs("values")),
        shapes_(build.inputs("shapes")),
        dense_(build.inputs("dense_inputs")),
        hashed_(build.output_types()[1] == DType::kInt64),
        num_buckets_(build.attr<int64_t>("num_buckets")),
        hash_key_(build.attr<int64_t>("hash_key")) {}

  absl::Status Compute(KernelContext& ctx) override {
    Columns columns;
    RETURN_IF_ERROR(columns.Read(ctx, indices_, values_, shapes_, dense_));
    if (!hashed_) {
      return WriteCrosses(ctx, columns, DType::kString,
                          [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
                            out.flat<std::string>()[i] = JoinTexts(columns, positions, "_X_");
                          });
    }
    // Without buckets the hash must still fit in a non-negative int64.
    const uint64_t modulus = num_buckets_ > 0
                                 ? static_cast<uint64_t>(num_buckets_)
                                 : static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return WriteCrosses(ctx, columns, DType::kInt64,
                        [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
                          uint64_t hash = static_cast<uint64_t>(hash_key_);
                          for (size_t c = 0; c < positions.size(); ++c) {
                            hash = FingerprintCat64(hash, columns[c].Fingerprint(positions[c]));
                          }
                          out.flat<int64_t>()[i] = static_cast<int64_t>(hash % modulus);
                        });
  }

 private:
  const ArgRange indices_, values_, shapes_, dense_;
  const bool hashed_;
  const int64_t num_buckets_, hash_key_;
};
REGISTER_KERNEL("SparseCross", kCpu, SparseCrossKernel);

// Crosses as strings joined by an input.
class SparseCrossV2Kernel : public OpKernel {
 public:
  explicit SparseCrossV2Kernel(const KernelBuild& build)
      : indices_(build.inputs("indices")),
        values_(build.inputs("values")),
        shapes_(build.inputs("shapes")),
        dense_(build.inputs("dense_inputs")),
        separator_(build.inputs("sep")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& separator = ctx.input(separator_.begin);
    if (separator.num_elements() != 1) {
      return absl::InvalidArgumentError("sep must be one string");
    }
    Columns columns;
    RETURN_IF_ERROR(columns.Read(ctx, indices_, values_, shapes_, dense_));
    return WriteCrosses(ctx, columns, DType::kString,
                        [&](const std::vector<int64_t>& positions, Tensor& out, int64_t i) {
                          out.flat<std::string>()[i] =
                              JoinTexts(columns, positions, separator.scalar<std::string>());
                        });
  }

 private:
  const ArgRange indices_, values_, shapes_, dense_, separator_;
};
REGISTER_KERNEL("SparseCrossV2", kCpu, SparseCrossV2Kernel);

}  // namespace
}  // namespace tessera

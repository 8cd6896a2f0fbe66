// RaggedTensorToTensor: rows padded to one length.
#include <algorithm>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/fill.h"
#include "runtime/kernels/primitives/strided_copy.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// How many elements each row of one ragged dimension holds.
using RowLengths = std::vector<int64_t>;

class RaggedToDenseKernel : public OpKernel {
 public:
  explicit RaggedToDenseKernel(const KernelBuild& build)
      : copy_(build),
        fill_(build),
        types_(build.attr<std::vector<std::string>>("row_partition_types")),
        partitions_(build.inputs("row_partition_tensors")) {
    if (static_cast<int>(types_.size()) != partitions_.size() || types_.empty()) {
      build.Fail(absl::InvalidArgumentError("each row partition tensor needs a type"));
    }
    for (size_t i = 0; i < types_.size(); ++i) {
      const bool first_size = i == 0 && types_[i] == "FIRST_DIM_SIZE";
      const bool row_ids = types_[i] == "VALUE_ROWIDS" && i > 0;
      if (types_[i] != "ROW_SPLITS" && !row_ids && !first_size) {
        build.Fail(absl::InvalidArgumentError(
            absl::StrCat("row partition ", i, " cannot be of type ", types_[i])));
      }
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(1);
    if (values.rank() < 1) return absl::InvalidArgumentError("values must not be a scalar");
    ASSIGN_OR_RETURN(const std::vector<RowLengths> levels, ReadLevels(ctx));
    ASSIGN_OR_RETURN(const Shape shape, OutputShape(ctx.input(0), levels, values));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillDefault(ctx, ctx.input(2), values, output));
    if (output->num_elements() == 0) return absl::OkStatus();

    // Where each row of the present level goes, as a number among the output's prefixes; -1 if it
    // is cut off.
    std::vector<int64_t> place(levels[0].size());
    for (size_t i = 0; i < place.size(); ++i) {
      place[i] = static_cast<int64_t>(i) < shape.dim(0) ? static_cast<int64_t>(i) : -1;
    }
    for (size_t level = 0; level + 1 < levels.size(); ++level) {
      const int64_t width = shape.dim(static_cast<int>(level) + 1);
      const size_t rows_below = levels[level + 1].size();
      std::vector<int64_t> below;
      for (size_t row = 0; row < levels[level].size(); ++row) {
        for (int64_t i = 0; i < levels[level][row] && below.size() < rows_below; ++i) {
          below.push_back(place[row] < 0 || i >= width ? -1 : place[row] * width + i);
        }
      }
      place = std::move(below);
    }
    // The values of one row lie side by side. Those that are cut off need not be there, and values
    // behind the last row do no harm.
    const RowLengths& lengths = levels.back();
    const int64_t width = shape.dim(static_cast<int>(levels.size()));
    const int64_t slice = DimProduct(values.shape(), 1, values.rank());
    return VisitStorageType(values.dtype(), [&]<typename T>() {
      const T* const from = reinterpret_cast<const T*>(values.raw());
      T* const to = reinterpret_cast<T*>(output->mutable_raw());
      int64_t first = 0;
      for (size_t row = 0; row < lengths.size(); first += lengths[row], ++row) {
        const int64_t count = place[row] < 0 ? 0 : std::min(lengths[row], width);
        if (count == 0) continue;
        if (first + count > values.dim(0)) {
          return absl::InvalidArgumentError(absl::StrCat("row ", row, " ends with value ",
                                                         first + count - 1, ", there are only ",
                                                         values.dim(0), " values"));
        }
        std::copy_n(from + first * slice, count * slice, to + place[row] * width * slice);
      }
      return absl::OkStatus();
    });
  }

 private:
  // The lengths of each ragged dimension's rows, outermost first.
  absl::StatusOr<std::vector<RowLengths>> ReadLevels(const KernelContext& ctx) const {
    std::vector<RowLengths> levels;
    int64_t rows = -1;  // of the present level; -1: what the splits say
    for (size_t i = 0; i < types_.size(); ++i) {
      const Tensor& partition = ctx.input(partitions_.begin + static_cast<int>(i));
      if (types_[i] == "FIRST_DIM_SIZE") {
        ASSIGN_OR_RETURN(rows, ReadIndexScalar(partition, "the first dimension's size"));
        if (rows < 0) return absl::InvalidArgumentError("the first dimension's size is negative");
        continue;
      }
      RowLengths lengths;
      int64_t total = 0;
      if (types_[i] == "ROW_SPLITS") {
        ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                         ReadRowSplits(partition, -1, "row splits"));
        for (size_t r = 0; r + 1 < splits.size(); ++r) lengths.push_back(splits[r + 1] - splits[r]);
        total = splits.back();
        // The last rows may be left out.
        if (rows >= 0 && static_cast<int64_t>(lengths.size()) > rows) {
          return absl::InvalidArgumentError(absl::StrCat(
              "row partition ", i, " has ", lengths.size(), " rows, there are ", rows));
        }
      } else {
        ASSIGN_OR_RETURN(const IndexVector ids, ReadIndexVector(partition, "value row ids"));
        ASSIGN_OR_RETURN(lengths, CountRows(ids, rows));
        total = static_cast<int64_t>(ids.size());
      }
      rows = total;
      levels.push_back(std::move(lengths));
    }
    if (levels.empty()) return absl::InvalidArgumentError("there is no ragged dimension");
    return levels;
  }

  // Errors: INVALID_ARGUMENT unless the ids rise within [0, rows).
  static absl::StatusOr<RowLengths> CountRows(const IndexVector& ids, int64_t rows) {
    constexpr int64_t kMostRows = int64_t{1} << 27;
    if (rows > kMostRows) {
      return absl::ResourceExhaustedError(absl::StrCat("a ragged tensor of ", rows, " rows"));
    }
    RowLengths lengths(rows, 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (ids[i] < 0 || ids[i] >= rows || (i > 0 && ids[i] < ids[i - 1])) {
        return absl::InvalidArgumentError(absl::StrCat("value row id ", i, " = ", ids[i],
                                                       ": they must rise within [0, ", rows, ")"));
      }
      ++lengths[ids[i]];
    }
    return lengths;
  }

  // What the input `shape` asks for; where it leaves a dimension open, the longest row.
  static absl::StatusOr<Shape> OutputShape(const Tensor& wanted,
                                           const std::vector<RowLengths>& levels,
                                           const Tensor& values) {
    IndexVector dims = {static_cast<int64_t>(levels[0].size())};
    for (const RowLengths& lengths : levels) {
      dims.push_back(lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end()));
    }
    const size_t ragged_dims = dims.size();
    for (int d = 1; d < values.rank(); ++d) dims.push_back(values.dim(d));
    if (wanted.rank() > 0) {
      ASSIGN_OR_RETURN(const IndexVector asked, ReadIndexVector(wanted, "shape"));
      if (asked.size() != dims.size()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "shape has ", asked.size(), " dimensions, the ragged tensor ", dims.size()));
      }
      for (size_t d = 0; d < dims.size(); ++d) {
        if (asked[d] < 0) continue;
        if (d >= ragged_dims && asked[d] != dims[d]) {
          return absl::InvalidArgumentError(absl::StrCat("dimension ", d, " of shape is ", asked[d],
                                                         ", that of the values ", dims[d]));
        }
        dims[d] = asked[d];
      }
    } else {
      ASSIGN_OR_RETURN(const int64_t open, ReadIndexScalar(wanted, "shape"));
      if (open != -1) return absl::InvalidArgumentError("a scalar shape must be -1");
    }
    return Shape::Make(dims);
  }

  // The default, broadcast to one value's shape, everywhere.
  absl::Status FillDefault(KernelContext& ctx, const Tensor& fallback, const Tensor& values,
                           Tensor* output) const {
    if (fallback.num_elements() == 1) {
      return fill_(ctx, &fallback, output);
    }
    const int surplus = output->rank() - fallback.rank();
    IndexVector strides(output->rank(), 0);
    const auto row_major = RowMajorStrides(fallback.shape().dims());
    bool fits = fallback.rank() < values.rank();
    for (int d = 0; fits && d < fallback.rank(); ++d) {
      fits = fallback.dim(d) == 1 || fallback.dim(d) == output->dim(surplus + d);
      if (fallback.dim(d) != 1) strides[surplus + d] = row_major[d];
    }
    if (!fits) {
      return absl::InvalidArgumentError(absl::StrCat(
          "default_value of shape ", fallback.shape().ToString(),
          " does not broadcast to a value of shape ", values.shape().ToString(), "[1:]"));
    }
    return copy_(ctx, output->shape().dims(), fallback, {strides}, output,
                 {RowMajorStrides(output->shape().dims())});
  }

  const Primitive<StridedCopy> copy_;
  const Primitive<Fill> fill_;
  const std::vector<std::string> types_;
  const ArgRange partitions_;
};
REGISTER_KERNEL("RaggedTensorToTensor", kCpu, RaggedToDenseKernel);

}  // namespace
}  // namespace tessera

// Ragged tensors made, gathered from, and turned sparse: RaggedRange, RaggedGather,
// RaggedTensorToSparse. See ragged_to_dense.cc for padding.
#include <cmath>

#include "Eigen/Core"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

// Row i holds starts[i], starts[i] + deltas[i], ... up to limits[i]; scalars stand for all rows.
class RaggedRangeKernel : public OpKernel {
 public:
  explicit RaggedRangeKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    switch (ctx.input(0).dtype()) {
      case DType::kFloat:
        return Run<float>(ctx);
      case DType::kDouble:
        return Run<double>(ctx);
      case DType::kBfloat16:
        return Run<Eigen::bfloat16>(ctx);
      case DType::kInt32:
        return Run<int32_t>(ctx);
      default:
        return Run<int64_t>(ctx);
    }
  }

 private:
  // A number for each row: elements of a vector, or a scalar.
  template <typename T>
  class Column {
   public:
    explicit Column(const Tensor& tensor)
        : data_(tensor.data<T>()), step_(tensor.rank() == 0 ? 0 : 1) {}
    T operator[](int64_t row) const { return data_[row * step_]; }

   private:
    const T* const data_;
    const int64_t step_;
  };

  // Errors: INVALID_ARGUMENT for a zero delta or a row beyond what splits can count.
  template <typename T>
  static absl::StatusOr<int64_t> RowSize(T start, T limit, T delta) {
    if (delta == T(0)) return absl::InvalidArgumentError("deltas must not be 0");
    if ((delta > T(0) && limit < start) || (delta < T(0) && limit > start)) return 0;
    if constexpr (std::is_integral_v<T>) {
      // Most differences are small, and divide quickly.
      constexpr T kSmall = std::numeric_limits<int32_t>::max() / 2;
      const auto is_small = [](T x) { return x >= -kSmall && x <= kSmall; };
      if (is_small(start) && is_small(limit) && is_small(delta)) {
        const int32_t span = static_cast<int32_t>(limit - start);
        const int32_t step = static_cast<int32_t>(delta);
        return span / step + (span % step != 0 ? 1 : 0);
      }
      // In 128 bits nothing overflows.
      const __int128 span = static_cast<__int128>(limit) - start;
      const __int128 step = delta;
      const __int128 size = (span + step + (step > 0 ? -1 : 1)) / step;
      if (size <= std::numeric_limits<int64_t>::max()) return static_cast<int64_t>(size);
    } else {
      // Rounded to T at each step, which TensorFlow does, and which tells whether a limit that is a
      // multiple of the delta is reached.
      const T steps = static_cast<T>(static_cast<T>(limit - start) / delta);
      const double size = std::ceil(std::abs(static_cast<double>(steps)));
      if (size < 9e18) return static_cast<int64_t>(size);
    }
    return absl::InvalidArgumentError("a range has too many elements");
  }

  template <typename T>
  static absl::Status Run(KernelContext& ctx) {
    int64_t rows = 1;
    for (int i = 0; i < 3; ++i) {
      const Tensor& input = ctx.input(i);
      if (input.rank() > 1) {
        return absl::InvalidArgumentError("starts, limits and deltas must be scalars or vectors");
      }
      if (input.rank() == 0) continue;
      if (rows != 1 && input.dim(0) != rows) {
        return absl::InvalidArgumentError("starts, limits and deltas must have one length");
      }
      rows = input.dim(0);
    }
    for (int i = 0; i < 3; ++i) {
      if (ctx.input(i).rank() == 1 && ctx.input(i).dim(0) != rows) {
        return absl::InvalidArgumentError("starts, limits and deltas must have one length");
      }
    }
    const Column<T> starts(ctx.input(0)), limits(ctx.input(1)), deltas(ctx.input(2));
    std::vector<int64_t> splits(rows + 1, 0);
    for (int64_t row = 0; row < rows; ++row) {
      ASSIGN_OR_RETURN(const int64_t size, RowSize(starts[row], limits[row], deltas[row]));
      if (__builtin_add_overflow(splits[row], size, &splits[row + 1])) {
        return absl::InvalidArgumentError("the ranges have too many elements");
      }
    }
    ASSIGN_OR_RETURN(Tensor* const out_splits, ctx.AllocateOutput(0, Shape{rows + 1}));
    RETURN_IF_ERROR(WriteRowSplits(splits, out_splits));
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, Shape{splits.back()}));
    T* out = values->data<T>();
    for (int64_t row = 0; row < rows; ++row) {
      T value = starts[row];
      const T delta = deltas[row];
      for (int64_t n = splits[row + 1] - splits[row]; n > 0; --n) {
        *out++ = value;
        if (n > 1) value = static_cast<T>(value + delta);
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("RaggedRange", kCpu, RaggedRangeKernel);

// The splits of all ragged dimensions, outermost first, checked against each other and the values.
absl::StatusOr<std::vector<std::vector<int64_t>>> ReadNestedSplits(const KernelContext& ctx,
                                                                   const ArgRange& splits,
                                                                   const Tensor& values) {
  if (values.rank() < 1) {
    return absl::InvalidArgumentError("the values of a ragged tensor must not be a scalar");
  }
  std::vector<std::vector<int64_t>> nested;
  for (int i = splits.begin; i < splits.end; ++i) {
    const int64_t below = i + 1 < splits.end ? ctx.input(i + 1).num_elements() - 1 : values.dim(0);
    ASSIGN_OR_RETURN(std::vector<int64_t> level, ReadRowSplits(ctx.input(i), below, "row splits"));
    nested.push_back(std::move(level));
  }
  return nested;
}

// Rows of a ragged tensor by index; indices of any rank.
class RaggedGatherKernel : public OpKernel {
 public:
  explicit RaggedGatherKernel(const KernelBuild& build)
      : splits_(build.inputs("params_nested_splits")),
        out_splits_(build.outputs("output_nested_splits")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(splits_.end);
    const Tensor& indices = ctx.input(splits_.end + 1);
    ASSIGN_OR_RETURN(const auto nested, ReadNestedSplits(ctx, splits_, values));
    const int levels = static_cast<int>(nested.size());
    const int64_t rows = static_cast<int64_t>(nested[0].size()) - 1;
    if (out_splits_.size() != indices.rank() + levels - 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "OUTPUT_RAGGED_RANK must be ", indices.rank() + levels - 1, ", is ", out_splits_.size()));
    }
    // Each index picks a range of rows, which is one range of rows on every level below.
    struct Range {
      int64_t begin, end;
    };
    std::vector<Range> ranges;
    RETURN_IF_ERROR(VisitIndexType(indices.dtype(), [&]<typename T>() -> absl::Status {
      for (T value : indices.flat<T>()) {
        const int64_t row = static_cast<int64_t>(value);
        if (row < 0 || row >= rows) {
          return absl::InvalidArgumentError(
              absl::StrCat("indices[", ranges.size(), "] = ", row, " is not in [0, ", rows, ")"));
        }
        ranges.push_back({row, row + 1});
      }
      return absl::OkStatus();
    }));
    RETURN_IF_ERROR(SetUniformSplits(ctx, indices.shape()));
    for (int level = 0; level < levels; ++level) {
      std::vector<int64_t> splits = {0};
      for (Range& range : ranges) {
        for (int64_t row = range.begin; row < range.end; ++row) {
          splits.push_back(splits.back() + nested[level][row + 1] - nested[level][row]);
        }
        range = {nested[level][range.begin], nested[level][range.end]};
      }
      const int at = out_splits_.end - levels + level;
      if (at >= out_splits_.begin) {
        ASSIGN_OR_RETURN(Tensor* const output,
                         ctx.AllocateOutput(at, Shape{static_cast<int64_t>(splits.size())}));
        RETURN_IF_ERROR(WriteRowSplits(splits, output));
      }
    }
    int64_t total = 0;
    for (const Range& range : ranges) total += range.end - range.begin;
    IndexVector dims(values.shape().dims().begin(), values.shape().dims().end());
    dims[0] = total;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(out_splits_.end, shape));
    // The rows of no values may have more elements than memory has bytes.
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t slice = DimProduct(shape, 1, shape.rank());
    const int64_t bytes = slice * static_cast<int64_t>(DTypeSize(values.dtype()));
    char* to = output->mutable_raw();
    for (const Range& range : ranges) {
      const int64_t count = range.end - range.begin;
      CopyElements(values.dtype(), values.raw() + range.begin * bytes, to, count * slice);
      to += count * bytes;
    }
    return absl::OkStatus();
  }

 private:
  // The dimensions of the indices but the last become ragged ones of equal rows.
  absl::Status SetUniformSplits(KernelContext& ctx, const Shape& indices) const {
    int64_t rows = 1;
    for (int d = 0; d + 1 < indices.rank(); ++d) {
      const int64_t width = indices.dim(d + 1);
      rows *= indices.dim(d);
      ASSIGN_OR_RETURN(Tensor* const output,
                       ctx.AllocateOutput(out_splits_.begin + d, Shape{rows + 1}));
      // Fails where the last split does not fit.
      RETURN_IF_ERROR(WriteRowSplits({rows * width}, output));
      VisitIndexType(output->dtype(), [&]<typename I>() {
        for (int64_t i = 0; i <= rows; ++i) output->data<I>()[i] = static_cast<I>(i * width);
      });
    }
    return absl::OkStatus();
  }

  const ArgRange splits_, out_splits_;
};
REGISTER_KERNEL("RaggedGather", kCpu, RaggedGatherKernel);

// The same values with their coordinates, and the smallest dense shape that holds them.
class RaggedToSparseKernel : public OpKernel {
 public:
  explicit RaggedToSparseKernel(const KernelBuild& build)
      : splits_(build.inputs("rt_nested_splits")) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(splits_.end);
    ASSIGN_OR_RETURN(const auto nested, ReadNestedSplits(ctx, splits_, values));
    const int levels = static_cast<int>(nested.size());
    const int rank = levels + values.rank();
    IndexVector shape = {static_cast<int64_t>(nested[0].size()) - 1};
    for (const std::vector<int64_t>& level : nested) {
      int64_t widest = 0;
      for (size_t i = 0; i + 1 < level.size(); ++i) {
        widest = std::max(widest, level[i + 1] - level[i]);
      }
      shape.push_back(widest);
    }
    for (int d = 1; d < values.rank(); ++d) shape.push_back(values.dim(d));
    const int64_t count = values.num_elements();
    ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, Shape{count, rank}));
    const int64_t inner = DimProduct(values.shape(), 1, values.rank());
    // On each level, the row that the present innermost row lies in; and its coordinates.
    std::vector<int64_t> row(levels, 0), prefix(levels, 0);
    int64_t* index = indices->data<int64_t>();
    const std::vector<int64_t>& innermost = nested.back();
    // Rows of values without elements may be more than anybody can go through.
    for (size_t r = 0; count > 0 && r + 1 < innermost.size(); ++r) {
      if (innermost[r] == innermost[r + 1]) continue;
      row.back() = prefix[0] = static_cast<int64_t>(r);
      for (int level = levels - 2; level >= 0; --level) {
        while (nested[level][row[level] + 1] <= row[level + 1]) ++row[level];
        prefix[level + 1] = row[level + 1] - nested[level][row[level]];
        prefix[0] = row[level];
      }
      for (int64_t v = innermost[r]; v < innermost[r + 1]; ++v) {
        for (int64_t e = 0; e < inner; ++e, index += rank) {
          for (int level = 0; level < levels; ++level) index[level] = prefix[level];
          index[levels] = v - innermost[r];
          int64_t rest = e;
          for (int d = values.rank() - 1; d >= 1; --d) {
            index[levels + d] = rest % values.dim(d);
            rest /= values.dim(d);
          }
        }
      }
    }
    ASSIGN_OR_RETURN(Tensor flat, values.Reshaped(Shape{count}));
    ctx.set_output(1, std::move(flat));
    return SetVectorOutput(ctx, 2, absl::MakeConstSpan(shape));
  }

 private:
  const ArgRange splits_;
};
REGISTER_KERNEL("RaggedTensorToSparse", kCpu, RaggedToSparseKernel);

}  // namespace
}  // namespace tessera

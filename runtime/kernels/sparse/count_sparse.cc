// Counting with sparse input or output: SparseBincount, DenseCountSparseOutput,
// SparseCountSparseOutput, RaggedCountSparseOutput.
#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/wrapping.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/scalar_input.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// Errors: INVALID_ARGUMENT unless the weights are empty or have the values' shape.
absl::Status CheckWeights(const Tensor& weights, const Tensor& values) {
  if (weights.num_elements() == 0 || weights.shape() == values.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weights must be empty or have the values' shape ",
                                                 values.shape().ToString(), ", not ",
                                                 weights.shape().ToString()));
}

// Calls visit(i, value) for each. Errors: INVALID_ARGUMENT for a negative value.
template <typename Visit>
absl::Status ForValues(const Tensor& values, Visit visit) {
  absl::Status status;
  VisitIndexType(values.dtype(), [&]<typename I>() {
    for (int64_t i = 0; i < values.num_elements(); ++i) {
      const int64_t value = values.data<I>()[i];
      if (value < 0) {
        status =
            absl::InvalidArgumentError(absl::StrCat("cannot count ", value, ": it is negative"));
        return;
      }
      visit(i, value);
    }
  });
  return status;
}

// Inputs: a sparse tensor, how many bins, weights. Output [bins] for a vector, else [rows, bins].
// Errors: INVALID_ARGUMENT for a scalar, indices outside the shape, negative values or sizes.
class SparseBincountKernel : public OpKernel {
 public:
  explicit SparseBincountKernel(const KernelBuild& build)
      : binary_(build.attr<bool>("binary_output")) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
    const Tensor& weights = ctx.input(4);
    if (sparse.rank() < 1) return absl::InvalidArgumentError("a scalar cannot be counted");
    ASSIGN_OR_RETURN(const int64_t size, ReadIntegerOfScalar(ctx.input(3), "size"));
    if (size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("'size' must not be negative, is ", size));
    }
    RETURN_IF_ERROR(sparse.CheckInBounds());
    RETURN_IF_ERROR(CheckWeights(weights, sparse.values));
    const bool matrix = sparse.rank() > 1;
    ASSIGN_OR_RETURN(const Shape shape,
                     matrix ? Shape::Make({sparse.shape[0], size}) : Shape::Make({size}));
    ASSIGN_OR_RETURN(Tensor * bins, ctx.AllocateOutput(0, shape));
    std::fill_n(bins->mutable_raw(), bins->size_bytes(), 0);
    return VisitRealType(bins->dtype(), [&]<typename T>() {
      return ForValues(sparse.values, [&](int64_t i, int64_t value) {
        if (value >= size) return;
        T& bin = bins->data<T>()[(matrix ? sparse.index(i)[0] * size : 0) + value];
        if (binary_) {
          bin = T(1);
        } else {
          bin += weights.num_elements() > 0 ? weights.data<T>()[i] : T(1);
        }
      });
    });
  }

 private:
  const bool binary_;
};
REGISTER_KERNEL("SparseBincount", kCpu, SparseBincountKernel).HostMemory("size");

// Counts rows into a sparse matrix; a single row into a sparse vector. Its width is `maxlength`,
// and values from there on are left out; if that is negative, the width is that of the greatest
// value, at least `minlength`.
class CountSparseOutputBase : public OpKernel {
 public:
  explicit CountSparseOutputBase(const KernelBuild& build)
      : min_length_(build.attr<int64_t>("minlength")),
        max_length_(build.attr<int64_t>("maxlength")),
        binary_(build.attr<bool>("binary_output")) {}

 protected:
  // `row_of(i)` is the row of value i, below `rows`; -1 rows: there is one, and no dimension for
  // it. Errors: INVALID_ARGUMENT for a matrix without rows, and for a negative value.
  template <typename RowOf>
  absl::Status Count(KernelContext& ctx, const Tensor& values, const Tensor& weights, int64_t rows,
                     RowOf row_of) const {
    if (rows == 0) return absl::InvalidArgumentError("a matrix without rows cannot be counted");
    RETURN_IF_ERROR(CheckWeights(weights, values));
    return VisitRealType(ctx.output_type(1), [&]<typename T>() -> absl::Status {
      // By row and value; most of the rows may be empty.
      std::map<std::pair<int64_t, int64_t>, T> counts;
      int64_t greatest = 0;
      RETURN_IF_ERROR(ForValues(values, [&](int64_t i, int64_t value) {
        if (max_length_ >= 0 && value >= max_length_) return;
        T& count = counts[{rows < 0 ? 0 : row_of(i), value}];
        if (binary_) {
          count = T(1);
        } else {
          count = WrappingAdd(count, weights.num_elements() > 0 ? weights.data<T>()[i] : T(1));
        }
        greatest = std::max(greatest, value);
      }));
      if (greatest == std::numeric_limits<int64_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat("cannot count ", greatest));
      }
      const int64_t width = max_length_ >= 0 ? max_length_ : std::max(greatest + 1, min_length_);
      std::vector<int64_t> shape = {width};
      if (rows >= 0) shape.insert(shape.begin(), rows);
      ASSIGN_OR_RETURN(const SparseOutput out,
                       AllocateSparse(ctx, 0, static_cast<int64_t>(counts.size()), shape));
      int64_t* index = out.indices->template data<int64_t>();
      T* to = out.values->template data<T>();
      for (const auto& [place, count] : counts) {
        if (rows >= 0) *index++ = place.first;
        *index++ = place.second;
        *to++ = count;
      }
      return absl::OkStatus();
    });
  }

 private:
  const int64_t min_length_, max_length_;
  const bool binary_;
};

// Errors: INVALID_ARGUMENT for anything but a vector or a matrix, or a negative value.
class DenseCountKernel : public CountSparseOutputBase {
 public:
  using CountSparseOutputBase::CountSparseOutputBase;
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    if (values.rank() < 1 || values.rank() > 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "only vectors and matrices are counted, not shape ", values.shape().ToString()));
    }
    const int64_t columns = values.dim(values.rank() - 1);
    return Count(ctx, values, ctx.input(1), values.rank() == 2 ? values.dim(0) : -1,
                 [&](int64_t i) { return i / columns; });
  }
};
REGISTER_KERNEL("DenseCountSparseOutput", kCpu, DenseCountKernel);

// Errors: INVALID_ARGUMENT for anything but a sparse vector or matrix, or a negative value.
class SparseCountKernel : public CountSparseOutputBase {
 public:
  using CountSparseOutputBase::CountSparseOutputBase;
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor sparse, SparseTensor::Input(ctx, 0));
    if (sparse.rank() < 1 || sparse.rank() > 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("only vectors and matrices are counted, not rank ", sparse.rank()));
    }
    RETURN_IF_ERROR(sparse.CheckInBounds());
    return Count(ctx, sparse.values, ctx.input(3), sparse.rank() == 2 ? sparse.shape[0] : -1,
                 [&](int64_t i) { return sparse.index(i)[0]; });
  }
};
REGISTER_KERNEL("SparseCountSparseOutput", kCpu, SparseCountKernel);

// Errors: INVALID_ARGUMENT for splits that do not part the values, or a negative value.
class RaggedCountKernel : public CountSparseOutputBase {
 public:
  using CountSparseOutputBase::CountSparseOutputBase;
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(1);
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(0), values.num_elements(), "splits"));
    return Count(ctx, values, ctx.input(2), static_cast<int64_t>(splits.size()) - 1,
                 [&](int64_t i) {
                   return std::upper_bound(splits.begin(), splits.end(), i) - splits.begin() - 1;
                 });
  }
};
REGISTER_KERNEL("RaggedCountSparseOutput", kCpu, RaggedCountKernel);

}  // namespace
}  // namespace tessera

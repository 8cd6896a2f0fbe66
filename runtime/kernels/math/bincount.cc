// Counting: Bincount, DenseBincount, RaggedBincount, HistogramFixedWidth, Bucketize.
#include "runtime/kernels/primitives/bincount.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/histogram.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/scalar_input.h"

namespace tessera {
namespace {

// The number of bins. Errors: INVALID_ARGUMENT unless `size` is a scalar and not negative.
absl::StatusOr<int64_t> ReadSize(const Tensor& size) {
  ASSIGN_OR_RETURN(const int64_t bins, ReadIntegerOfScalar(size, "size"));
  if (bins >= 0) return bins;
  return absl::InvalidArgumentError(absl::StrCat("'size' must not be negative, is ", bins));
}

// Errors: INVALID_ARGUMENT for weights that are neither empty nor of the values' shape.
absl::Status CheckWeights(const Tensor& weights, const Tensor& values) {
  if (weights.num_elements() == 0 || weights.shape() == values.shape()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("weights must be empty or have the values' shape ",
                                                 values.shape().ToString(), ", not ",
                                                 weights.shape().ToString()));
}

// Counts a vector, or each row of a matrix. Values of `size` or more are left out.
// Errors: INVALID_ARGUMENT for a negative size or value, other ranks, or weights that are neither
// empty nor of the values' shape.
class BincountKernel : public OpKernel {
 public:
  explicit BincountKernel(const KernelBuild& build)
      : bincount_(build),
        dense_(build.op().name == "DenseBincount"),
        binary_(dense_ && build.attr<bool>("binary_output")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    const Tensor& weights = ctx.input(2);
    if (dense_ && values.rank() > 2) {
      return absl::InvalidArgumentError(absl::StrCat("only vectors and matrices are counted, not ",
                                                     "shape ", values.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t size, ReadSize(ctx.input(1)));
    RETURN_IF_ERROR(CheckWeights(weights, values));
    const bool is_matrix = dense_ && values.rank() == 2;
    const int64_t rows = is_matrix ? values.dim(0) : 1;
    ASSIGN_OR_RETURN(const Shape shape,
                     is_matrix ? Shape::Make({rows, size}) : Shape::Make({size}));
    ASSIGN_OR_RETURN(Tensor * bins, ctx.AllocateOutput(0, shape));
    // There may be any number of rows of nothing.
    const int64_t counted = values.num_elements() == 0 ? 0 : rows;
    absl::InlinedVector<int64_t, 8> splits(counted + 1);
    for (int64_t r = 1; r <= counted; ++r) splits[r] = values.num_elements() / rows * r;
    return bincount_(ctx, splits, values, weights, binary_, bins);
  }

 private:
  const Primitive<Bincount> bincount_;
  const bool dense_, binary_;
};
REGISTER_KERNEL("Bincount", DevicesOf<Bincount>, BincountKernel).HostMemory("size");
REGISTER_KERNEL("DenseBincount", DevicesOf<Bincount>, BincountKernel).HostMemory("size");

// Counts each row of a ragged matrix. Inputs: splits, values, size, weights.
// Errors: INVALID_ARGUMENT for a negative size or value, weights that are neither empty nor of the
// values' shape, or splits that do not part the values.
class RaggedBincountKernel : public OpKernel {
 public:
  explicit RaggedBincountKernel(const KernelBuild& build)
      : bincount_(build), binary_(build.attr<bool>("binary_output")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(1);
    const Tensor& weights = ctx.input(3);
    ASSIGN_OR_RETURN(const int64_t size, ReadSize(ctx.input(2)));
    RETURN_IF_ERROR(CheckWeights(weights, values));
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(0), values.num_elements(), "splits"));
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, size}));
    ASSIGN_OR_RETURN(Tensor * bins, ctx.AllocateOutput(0, shape));
    return bincount_(ctx, splits, values, weights, binary_, bins);
  }

 private:
  const Primitive<Bincount> bincount_;
  const bool binary_;
};
REGISTER_KERNEL("RaggedBincount", DevicesOf<Bincount>, RaggedBincountKernel)
    .HostMemory("splits")
    .HostMemory("size");

// Counts values by equal parts of a range; what lies outside goes to the first or the last part.
// Errors: INVALID_ARGUMENT for a range that is empty or not finite, or less than one part.
class HistogramKernel : public OpKernel {
 public:
  explicit HistogramKernel(const KernelBuild& build) : histogram_(build) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    const Tensor& range = ctx.input(1);
    if (!(range.shape() == Shape{2})) {
      return absl::InvalidArgumentError(absl::StrCat("'value_range' must have two elements, has ",
                                                     "shape ", range.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t bins, ReadIntegerOfScalar(ctx.input(2), "nbins"));
    if (bins <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("'nbins' must be positive, is ", bins));
    }
    ASSIGN_OR_RETURN(Tensor * counts, ctx.AllocateOutput(0, Shape{bins}));
    double low = 0, high = 0;
    RETURN_IF_ERROR(VisitRealType(range.dtype(), [&]<typename T>() {
      low = static_cast<double>(range.data<T>()[0]);
      high = static_cast<double>(range.data<T>()[1]);
      return absl::OkStatus();
    }));
    if (!(low < high) || !std::isfinite(high - low)) {
      return absl::InvalidArgumentError(
          absl::StrCat("'value_range' must ascend and be finite, is [", low, ", ", high, "]"));
    }
    return histogram_(ctx, low, high, values, counts);
  }

 private:
  const Primitive<Histogram> histogram_;
};
REGISTER_KERNEL("HistogramFixedWidth", DevicesOf<Histogram>, HistogramKernel)
    .HostMemory("value_range")
    .HostMemory("nbins");

// How many boundaries are not above each value.
// Errors: INVALID_ARGUMENT at creation unless the boundaries are sorted.
class BucketizeKernel : public OpKernel {
 public:
  explicit BucketizeKernel(const KernelBuild& build)
      : bucketize_(build), boundaries_(build.attr<std::vector<float>>("boundaries")) {
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end())) {
      build.Fail(absl::InvalidArgumentError("'boundaries' must be sorted"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    return bucketize_(ctx, boundaries_, x, y);
  }

 private:
  const Primitive<Bucketize> bucketize_;
  const std::vector<float> boundaries_;
};
REGISTER_KERNEL("Bucketize", DevicesOf<Bucketize>, BucketizeKernel);

}  // namespace
}  // namespace tessera

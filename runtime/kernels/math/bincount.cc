// Counting: Bincount, DenseBincount, RaggedBincount, HistogramFixedWidth, Bucketize.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/dtype_set.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// Adds to bins[v] one, or the weight, for each of `count` values v below `size`; with `binary`,
// bins of values that occur are 1. `weights` may be null.
template <typename Index, typename T>
void Count(const Index* values, const T* weights, int64_t count, int64_t size, bool binary,
           T* bins) {
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = values[i];
    if (v >= size) continue;
    if (binary) {
      bins[v] = T(1);
    } else {
      bins[v] += weights != nullptr ? weights[i] : T(1);
    }
  }
}

// Counts a vector, or each row of a matrix. Values of `size` or more are left out.
// Errors: INVALID_ARGUMENT for a negative size or value, other ranks, or weights that are neither
// empty nor of the values' shape.
class BincountKernel : public OpKernel {
 public:
  explicit BincountKernel(const KernelBuild& build)
      : dense_(build.op().name == "DenseBincount"),
        binary_(dense_ && build.attr<bool>("binary_output")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    const Tensor& weights = ctx.input(2);
    if (dense_ && values.rank() > 2) {
      return absl::InvalidArgumentError(absl::StrCat("only vectors and matrices are counted, not ",
                                                     "shape ", values.shape().ToString()));
    }
    if (!ctx.input(1).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'size' must be a scalar, has shape ", ctx.input(1).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t size, ReadIndexScalar(ctx.input(1), "size"));
    if (size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("'size' must not be negative, is ", size));
    }
    if (weights.num_elements() > 0 && !(weights.shape() == values.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("weights must be empty or have the values' shape ",
                       values.shape().ToString(), ", not ", weights.shape().ToString()));
    }
    const bool matrix = dense_ && values.rank() == 2;
    ASSIGN_OR_RETURN(const Shape shape,
                     matrix ? Shape::Make({values.dim(0), size}) : Shape::Make({size}));
    ASSIGN_OR_RETURN(Tensor * bins, ctx.AllocateOutput(0, shape));
    std::fill_n(bins->mutable_raw(), bins->size_bytes(), 0);
    const int64_t rows = matrix ? values.dim(0) : 1;
    return values.dtype() == DType::kInt32 ? CountRows<int32_t>(values, weights, rows, size, bins)
                                           : CountRows<int64_t>(values, weights, rows, size, bins);
  }

 private:
  template <typename Index>
  absl::Status CountRows(const Tensor& values, const Tensor& weights, int64_t rows, int64_t size,
                         Tensor* bins) const {
    for (const Index v : values.flat<Index>()) {
      if (v < 0) {
        return absl::InvalidArgumentError(absl::StrCat("cannot count ", v, ": it is negative"));
      }
    }
    if (rows == 0) return absl::OkStatus();
    const int64_t columns = values.num_elements() / rows;
    return VisitRealType(bins->dtype(), [&]<typename T>() {
      const T* const w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
      for (int64_t r = 0; r < rows; ++r) {
        Count(values.data<Index>() + r * columns, w == nullptr ? w : w + r * columns, columns, size,
              binary_, bins->data<T>() + r * size);
      }
      return absl::OkStatus();
    });
  }

  const bool dense_, binary_;
};
REGISTER_KERNEL("Bincount", kCpu, BincountKernel).HostMemory("size");
REGISTER_KERNEL("DenseBincount", kCpu, BincountKernel).HostMemory("size");

// Counts each row of a ragged matrix. Inputs: splits, values, size, weights.
// Errors: INVALID_ARGUMENT for a negative size or value, weights that are neither empty nor of the
// values' shape, or splits that do not part the values.
class RaggedBincountKernel : public OpKernel {
 public:
  explicit RaggedBincountKernel(const KernelBuild& build)
      : binary_(build.attr<bool>("binary_output")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(1);
    const Tensor& weights = ctx.input(3);
    if (!ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'size' must be a scalar, has shape ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t size, ReadIndexScalar(ctx.input(2), "size"));
    if (size < 0) {
      return absl::InvalidArgumentError(absl::StrCat("'size' must not be negative, is ", size));
    }
    if (weights.num_elements() > 0 && !(weights.shape() == values.shape())) {
      return absl::InvalidArgumentError(
          absl::StrCat("weights must be empty or have the values' shape ",
                       values.shape().ToString(), ", not ", weights.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(0), values.num_elements(), "splits"));
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make({rows, size}));
    ASSIGN_OR_RETURN(Tensor * bins, ctx.AllocateOutput(0, shape));
    std::fill_n(bins->mutable_raw(), bins->size_bytes(), 0);
    return values.dtype() == DType::kInt32
               ? CountRows<int32_t>(splits, values, weights, size, bins)
               : CountRows<int64_t>(splits, values, weights, size, bins);
  }

 private:
  template <typename Index>
  absl::Status CountRows(const std::vector<int64_t>& splits, const Tensor& values,
                         const Tensor& weights, int64_t size, Tensor* bins) const {
    for (const Index v : values.flat<Index>()) {
      if (v < 0) {
        return absl::InvalidArgumentError(absl::StrCat("cannot count ", v, ": it is negative"));
      }
    }
    return VisitRealType(bins->dtype(), [&]<typename T>() {
      const T* const w = weights.num_elements() > 0 ? weights.data<T>() : nullptr;
      for (size_t r = 0; r + 1 < splits.size(); ++r) {
        Count(values.data<Index>() + splits[r], w == nullptr ? w : w + splits[r],
              splits[r + 1] - splits[r], size, binary_, bins->data<T>() + r * size);
      }
      return absl::OkStatus();
    });
  }

  const bool binary_;
};
REGISTER_KERNEL("RaggedBincount", kCpu, RaggedBincountKernel).HostMemory("size");

// Counts values by equal parts of a range; what lies outside goes to the first or the last part.
// Errors: INVALID_ARGUMENT for a range that is empty or not finite, or less than one part.
class HistogramKernel : public OpKernel {
 public:
  explicit HistogramKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& values = ctx.input(0);
    const Tensor& range = ctx.input(1);
    if (!(range.shape() == Shape{2})) {
      return absl::InvalidArgumentError(absl::StrCat("'value_range' must have two elements, has ",
                                                     "shape ", range.shape().ToString()));
    }
    if (!ctx.input(2).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("'nbins' must be a scalar, has shape ", ctx.input(2).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const int64_t bins, ReadIndexScalar(ctx.input(2), "nbins"));
    if (bins <= 0) {
      return absl::InvalidArgumentError(absl::StrCat("'nbins' must be positive, is ", bins));
    }
    ASSIGN_OR_RETURN(Tensor * counts, ctx.AllocateOutput(0, Shape{bins}));
    return VisitRealType(values.dtype(), [&]<typename T>() -> absl::Status {
      const double low = static_cast<double>(range.data<T>()[0]);
      const double high = static_cast<double>(range.data<T>()[1]);
      if (!(low < high) || !std::isfinite(high - low)) {
        return absl::InvalidArgumentError(
            absl::StrCat("'value_range' must ascend and be finite, is [", low, ", ", high, "]"));
      }
      ASSIGN_OR_RETURN(Tensor wide, ctx.AllocateTemp(DType::kInt64, Shape{bins}));
      int64_t* const histogram = wide.data<int64_t>();
      std::fill_n(histogram, bins, 0);
      const double step = (high - low) / static_cast<double>(bins);
      for (const T v : values.flat<T>()) {
        const double place = std::floor((static_cast<double>(v) - low) / step);
        const double last = static_cast<double>(bins - 1);
        ++histogram[static_cast<int64_t>(place > 0 ? std::min(place, last) : 0)];
      }
      for (int64_t i = 0; i < bins; ++i) {
        if (counts->dtype() == DType::kInt32) {
          counts->data<int32_t>()[i] = static_cast<int32_t>(histogram[i]);
        } else {
          counts->data<int64_t>()[i] = histogram[i];
        }
      }
      return absl::OkStatus();
    });
  }
};
REGISTER_KERNEL("HistogramFixedWidth", kCpu, HistogramKernel)
    .HostMemory("value_range")
    .HostMemory("nbins");

// How many boundaries are not above each value.
// Errors: INVALID_ARGUMENT at creation unless the boundaries are sorted.
class BucketizeKernel : public OpKernel {
 public:
  explicit BucketizeKernel(const KernelBuild& build)
      : boundaries_(build.attr<std::vector<float>>("boundaries")) {
    if (!std::is_sorted(boundaries_.begin(), boundaries_.end())) {
      build.Fail(absl::InvalidArgumentError("'boundaries' must be sorted"));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * y, ctx.AllocateOutput(0, x.shape()));
    return VisitRealType(x.dtype(), [&]<typename T>() {
      ctx.ParallelFor(x.num_elements(), 10, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const auto above = std::upper_bound(boundaries_.begin(), boundaries_.end(),
                                              x.data<T>()[i], [](T v, float b) { return v < b; });
          y->data<int32_t>()[i] = static_cast<int32_t>(above - boundaries_.begin());
        }
      });
      return absl::OkStatus();
    });
  }

 private:
  const std::vector<float> boundaries_;
};
REGISTER_KERNEL("Bucketize", kCpu, BucketizeKernel);

}  // namespace
}  // namespace tessera

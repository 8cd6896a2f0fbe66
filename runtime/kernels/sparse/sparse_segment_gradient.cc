// Gradients of SparseSegmentSum, Mean and SqrtN: dense ones, and with only the rows that have any.
#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Inputs: the gradient, of which segment s is row s; the indices and segment ids of the forward op;
// and its number of rows. Row indices[i] of the data gets that of segment_ids[i], divided by the
// number of rows in the segment (Mean) or its square root (SqrtN).
class SparseSegmentGradientKernel : public OpKernel {
 public:
  explicit SparseSegmentGradientKernel(const KernelBuild& build)
      : mean_(absl::StartsWith(build.op().name, "SparseSegmentMean")),
        sqrt_n_(absl::StartsWith(build.op().name, "SparseSegmentSqrtN")),
        only_touched_rows_(build.num_outputs() == 2) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& gradient = ctx.input(0);
    if (gradient.rank() < 1 || ctx.input(1).rank() != 1 || ctx.input(2).rank() != 1 ||
        ctx.input(3).rank() != 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "grad must have a rank of at least 1, indices and segment_ids must be vectors and the "
          "number of rows a scalar; they have shapes ",
          gradient.shape().ToString(), ", ", ctx.input(1).shape().ToString(), ", ",
          ctx.input(2).shape().ToString(), ", ", ctx.input(3).shape().ToString()));
    }
    ASSIGN_OR_RETURN(const IndexVector indices, ReadIndexVector(ctx.input(1), "indices"));
    ASSIGN_OR_RETURN(const IndexVector segments, ReadIndexVector(ctx.input(2), "segment_ids"));
    ASSIGN_OR_RETURN(const int64_t rows, ReadIndexScalar(ctx.input(3), "output_dim0"));
    RETURN_IF_ERROR(CheckRanges(indices, segments, gradient.dim(0), rows));
    // The row of the output for each index.
    IndexVector to(indices);
    int64_t output_rows = rows;
    if (only_touched_rows_) {
      IndexVector unique(indices);
      std::sort(unique.begin(), unique.end());
      unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
      output_rows = static_cast<int64_t>(unique.size());
      for (int64_t& row : to) {
        row = std::lower_bound(unique.begin(), unique.end(), row) - unique.begin();
      }
      ASSIGN_OR_RETURN(Tensor* const sorted, ctx.AllocateOutput(1, Shape{output_rows}));
      VisitIndexType(sorted->dtype(), [&]<typename I>() {
        std::copy(unique.begin(), unique.end(), sorted->data<I>());
      });
    }
    IndexVector dims(gradient.shape().dims().begin(), gradient.shape().dims().end());
    dims[0] = output_rows;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    if (output->num_elements() == 0) return absl::OkStatus();
    return VisitRealType(gradient.dtype(), [&]<typename T>() {
      Scatter<T>(gradient, to, segments, output);
      return absl::OkStatus();
    });
  }

 private:
  static absl::Status CheckRanges(const IndexVector& indices, const IndexVector& segments,
                                  int64_t num_segments, int64_t rows) {
    if (indices.size() != segments.size()) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", indices.size(), " indices but ",
                                                     segments.size(), " segment ids"));
    }
    if (rows < 0) return absl::InvalidArgumentError(absl::StrCat("output_dim0 is ", rows));
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0 || indices[i] >= rows) {
        return absl::InvalidArgumentError(
            absl::StrCat("Index ", indices[i], " out of range [0, ", rows, ")."));
      }
      if (segments[i] < 0 || segments[i] >= num_segments) {
        return absl::InvalidArgumentError(
            absl::StrCat("Segment id ", segments[i], " out of range [0, ", num_segments, ")."));
      }
    }
    return absl::OkStatus();
  }

  std::vector<double> Scales(const IndexVector& segments, int64_t num_segments) const {
    std::vector<double> scales(num_segments, 0);
    for (const int64_t segment : segments) ++scales[segment];
    for (double& scale : scales) {
      scale = mean_ ? 1 / std::max(scale, 1.0) : sqrt_n_ ? 1 / std::sqrt(std::max(scale, 1.0)) : 1;
    }
    return scales;
  }

  template <typename T>
  void Scatter(const Tensor& gradient, const IndexVector& to, const IndexVector& segments,
               Tensor* output) const {
    // Narrow floats are summed in float.
    using Sum = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const int64_t width = DimProduct(output->shape(), 1, output->rank());
    const std::vector<double> scales = Scales(segments, gradient.dim(0));
    std::vector<Sum> sums(output->num_elements(), Sum(0));
    for (size_t i = 0; i < to.size(); ++i) {
      const T* const from = gradient.data<T>() + segments[i] * width;
      Sum* const row = sums.data() + to[i] * width;
      const Sum scale = static_cast<Sum>(scales[segments[i]]);
      for (int64_t c = 0; c < width; ++c) row[c] += static_cast<Sum>(from[c]) * scale;
    }
    std::transform(sums.begin(), sums.end(), output->data<T>(),
                   [](Sum sum) { return static_cast<T>(sum); });
  }

  const bool mean_, sqrt_n_, only_touched_rows_;
};
REGISTER_KERNEL("SparseSegmentSumGrad", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentMeanGrad", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentSqrtNGrad", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentSumGradV2", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentMeanGradV2", kCpu, SparseSegmentGradientKernel);
REGISTER_KERNEL("SparseSegmentSqrtNGradV2", kCpu, SparseSegmentGradientKernel);

}  // namespace
}  // namespace tessera

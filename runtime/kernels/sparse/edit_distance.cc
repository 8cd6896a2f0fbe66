// EditDistance: how many insertions, deletions and replacements turn one sequence into another.
#include <limits>
#include <string>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/element_type.h"
#include "runtime/kernels/primitives/numeric_type.h"
#include "runtime/kernels/primitives/strides.h"
#include "runtime/kernels/sparse/sparse_tensor.h"

namespace tessera {
namespace {

// Levenshtein's distance, in memory for one row of the table.
template <typename T>
int64_t Distance(absl::Span<const T> a, absl::Span<const T> b) {
  std::vector<int64_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    int64_t diagonal = row[0];
    row[0] = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int64_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

// The last dimension of two sparse tensors holds sequences; one distance for each pair. Elements
// are compared as numbers: 0 equals -0, and NaN equals nothing.
class EditDistanceKernel : public OpKernel {
 public:
  explicit EditDistanceKernel(const KernelBuild& build)
      : normalize_(build.attr<bool>("normalize")) {}
  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const SparseTensor hypothesis, SparseTensor::Input(ctx, 0));
    ASSIGN_OR_RETURN(const SparseTensor truth, SparseTensor::Input(ctx, 3));
    if (hypothesis.rank() != truth.rank() || truth.rank() < 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("hypothesis and truth must have one rank of 2 or more, have ",
                       hypothesis.rank(), " and ", truth.rank()));
    }
    RETURN_IF_ERROR(hypothesis.CheckInBounds());
    RETURN_IF_ERROR(truth.CheckInBounds());
    IndexVector dims;
    for (int d = 0; d + 1 < truth.rank(); ++d) {
      dims.push_back(std::max(hypothesis.shape[d], truth.shape[d]));
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, shape));
    ZeroElements(output->dtype(), output->mutable_raw(), output->num_elements());
    const auto run = [&]<typename T>() {
      Run<T>(hypothesis, truth, output);
      return absl::OkStatus();
    };
    switch (const DType dtype = truth.values.dtype()) {
      case DType::kString:
        return run.template operator()<std::string>();
      case DType::kBool:
        return run.template operator()<bool>();
      default:
        return VisitNumericType(dtype, run);
    }
  }

 private:
  // One past the last value of the sequence that begins at value `begin`.
  static int64_t EndOfSequence(const SparseTensor& tensor, int64_t begin) {
    int64_t end = begin;
    while (end < tensor.count() &&
           CompareIndices(tensor.index(begin), tensor.index(end), tensor.rank() - 1) == 0) {
      ++end;
    }
    return end;
  }

  template <typename T>
  void Run(const SparseTensor& hypothesis, const SparseTensor& truth, Tensor* output) const {
    const auto strides = RowMajorStrides(output->shape().dims());
    auto values = [](const SparseTensor& tensor, int64_t begin, int64_t end) {
      return absl::Span<const T>(reinterpret_cast<const T*>(tensor.values.raw()) + begin,
                                 end - begin);
    };
    int64_t h = 0, t = 0;
    while (h < hypothesis.count() || t < truth.count()) {
      const int order = h >= hypothesis.count() ? 1
                        : t >= truth.count()
                            ? -1
                            : CompareIndices(hypothesis.index(h), truth.index(t), truth.rank() - 1);
      const int64_t h_end = order <= 0 ? EndOfSequence(hypothesis, h) : h;
      const int64_t t_end = order >= 0 ? EndOfSequence(truth, t) : t;
      const int64_t* const index = order <= 0 ? hypothesis.index(h) : truth.index(t);
      int64_t at = 0;
      for (size_t d = 0; d < strides.size(); ++d) at += index[d] * strides[d];
      const int64_t length = t_end - t;
      float distance =
          static_cast<float>(Distance(values(hypothesis, h, h_end), values(truth, t, t_end)));
      // A sequence where there should be none is infinitely far off.
      if (normalize_) {
        distance = length > 0 ? distance / static_cast<float>(length)
                              : std::numeric_limits<float>::infinity();
      }
      output->data<float>()[at] = distance;
      h = h_end;
      t = t_end;
    }
  }

  const bool normalize_;
};
REGISTER_KERNEL("EditDistance", kCpu, EditDistanceKernel);

}  // namespace
}  // namespace tessera

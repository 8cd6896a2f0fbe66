// RougeL: how well hypotheses agree with references, by their longest common subsequences.
//
// C.-Y. Lin, ROUGE: A Package for Automatic Evaluation of Summaries, ACL Workshop 2004.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// Returns the length of the longest common subsequence of two sequences. `row` is scratch memory
// for one number more than `b` has elements.
template <typename T>
int32_t CommonLength(absl::Span<const T> a, absl::Span<const T> b, int32_t* row) {
  std::fill_n(row, b.size() + 1, 0);
  for (const T& element : a) {
    int32_t diagonal = 0;  // what row[j] was before this element
    for (size_t j = 0; j < b.size(); ++j) {
      const int32_t above = row[j + 1];
      row[j + 1] = element == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

// Keeps quotients by zero finite, as TensorFlow does.
constexpr double kTiny = 1e-12;

// The weighted harmonic mean of precision and recall, or, if alpha is negative, the one that the
// library tensor2tensor computes.
float FMeasure(float precision, float recall, float alpha) {
  if (alpha < 0) {
    const float beta = static_cast<float>(precision / (recall + kTiny));
    const float square = beta * beta;
    const float denominator = recall + square * precision;
    return denominator > 0 ? (1 + square) * recall * precision / denominator : 0.0f;
  }
  const float denominator = alpha * recall + (1 - alpha) * precision;
  return denominator > 0 ? precision * recall / denominator : denominator;
}

// Inputs: the tokens of hypotheses with row splits, those of references with row splits, and the
// weight of recall. Outputs, for each row: the F-measure, the precision and the recall.
// Errors: INVALID_ARGUMENT for splits that are none or of different numbers of rows, and for
// weights above 1.
class RougeLKernel final : public OpKernel {
 public:
  explicit RougeLKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& hypotheses = ctx.input(0);
    const Tensor& references = ctx.input(2);
    if (hypotheses.rank() != 1 || references.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("hyp_values and ref_values must be vectors, have shapes ",
                       hypotheses.shape().ToString(), " and ", references.shape().ToString()));
    }
    const Tensor& weight = ctx.input(4);
    if (weight.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("alpha must be a scalar, has shape ", weight.shape().ToString()));
    }
    const float alpha = weight.flat<float>()[0];
    if (!(alpha <= 1)) {
      return absl::InvalidArgumentError(absl::StrCat("alpha must be at most 1, is ", alpha));
    }
    ASSIGN_OR_RETURN(const auto splits,
                     ReadRowSplits(ctx.input(1), hypotheses.dim(0), "hyp_splits"));
    ASSIGN_OR_RETURN(const auto reference_splits,
                     ReadRowSplits(ctx.input(3), references.dim(0), "ref_splits"));
    if (splits.size() != reference_splits.size()) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", splits.size() - 1,
                                                     " hypotheses for ",
                                                     reference_splits.size() - 1, " references"));
    }
    switch (hypotheses.dtype()) {
      case DType::kInt32:
        return Measure<int32_t>(ctx, splits, reference_splits, alpha);
      case DType::kInt64:
        return Measure<int64_t>(ctx, splits, reference_splits, alpha);
      default:
        return Measure<std::string>(ctx, splits, reference_splits, alpha);
    }
  }

 private:
  template <typename T>
  static absl::Status Measure(KernelContext& ctx, const std::vector<int64_t>& splits,
                              const std::vector<int64_t>& reference_splits, float alpha) {
    const auto rows = static_cast<int64_t>(splits.size()) - 1;
    float* measures[3];
    for (int i = 0; i < 3; ++i) {
      ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(i, Shape{rows}));
      measures[i] = output->data<float>();
    }
    const auto hypotheses = ctx.input(0).flat<T>(), references = ctx.input(2).flat<T>();
    ASSIGN_OR_RETURN(
        Tensor scratch,
        ctx.AllocateTemp(DType::kInt32, Shape{static_cast<int64_t>(references.size()) + 1}));
    for (int64_t row = 0; row < rows; ++row) {
      const int64_t size = splits[row + 1] - splits[row];
      const int64_t reference_size = reference_splits[row + 1] - reference_splits[row];
      const auto common = static_cast<float>(CommonLength<T>(
          hypotheses.subspan(splits[row], size),
          references.subspan(reference_splits[row], reference_size), scratch.data<int32_t>()));
      const auto precision = static_cast<float>(common / (static_cast<float>(size) + kTiny));
      const auto recall = static_cast<float>(common / (static_cast<float>(reference_size) + kTiny));
      measures[0][row] = FMeasure(precision, recall, alpha);
      measures[1][row] = precision;
      measures[2][row] = recall;
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("RougeL", kCpu, RougeLKernel)
    .TypeConstraint("Tvalues", {DType::kInt32, DType::kInt64, DType::kString});

}  // namespace
}  // namespace tessera

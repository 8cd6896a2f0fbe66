// IsotonicRegression: the closest sequences that never rise.
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Pool adjacent violators (M. Best, N. Chakravarti, Active set algorithms for isotonic regression,
// 1990) on each row of [batch, n]. Outputs the values, and the number of the constant stretch that
// each is in.
class IsotonicRegressionKernel : public OpKernel {
 public:
  explicit IsotonicRegressionKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    if (input.rank() != 2) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be a matrix, has shape ", input.shape().ToString()));
    }
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, input.shape()));
    ASSIGN_OR_RETURN(Tensor* const segments, ctx.AllocateOutput(1, input.shape()));
    return VisitRealType(input.dtype(), [&]<typename T>() {
      return VisitRealType(values->dtype(), [&]<typename Out>() {
        for (int64_t row = 0; row < input.dim(0); ++row) {
          const int64_t at = row * input.dim(1);
          Regress(input.data<T>() + at, input.dim(1), values->data<Out>() + at,
                  segments->data<int32_t>() + at);
        }
        return absl::OkStatus();
      });
    });
  }

 private:
  template <typename T, typename Out>
  static void Regress(const T* input, int64_t n, Out* values, int32_t* segments) {
    struct Stretch {
      double sum;
      int64_t count;
      double mean() const { return sum / static_cast<double>(count); }
    };
    std::vector<Stretch> stretches;
    for (int64_t i = 0; i < n; ++i) {
      stretches.push_back({static_cast<double>(input[i]), 1});
      while (stretches.size() > 1 &&
             stretches.back().mean() >= stretches[stretches.size() - 2].mean()) {
        const Stretch last = stretches.back();
        stretches.pop_back();
        stretches.back().sum += last.sum;
        stretches.back().count += last.count;
      }
    }
    for (size_t s = 0; s < stretches.size(); ++s) {
      for (int64_t i = 0; i < stretches[s].count; ++i) {
        *values++ = static_cast<Out>(stretches[s].mean());
        *segments++ = static_cast<int32_t>(s);
      }
    }
  }
};
REGISTER_KERNEL("IsotonicRegression", kCpu, IsotonicRegressionKernel)
    .TypeConstraint("output_dtype",
                    {DType::kHalf, DType::kBfloat16, DType::kFloat, DType::kDouble});

}  // namespace
}  // namespace tessera

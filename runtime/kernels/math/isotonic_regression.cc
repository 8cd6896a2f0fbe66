// IsotonicRegression: the closest sequences that never rise.
#include <algorithm>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Pool adjacent violators (M. Best, N. Chakravarti, Active set algorithms for isotonic regression,
// 1990) on each row of [..., n]. Outputs the values, and the number of the constant stretch that
// each is in.
class IsotonicRegressionKernel : public OpKernel {
 public:
  explicit IsotonicRegressionKernel(const KernelBuild&) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const int64_t size = input.rank() == 0 ? 1 : input.dim(input.rank() - 1);
    // There may be more rows without elements than anybody can go through.
    const int64_t count = size == 0 ? 0 : input.num_elements() / size;
    ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(0, input.shape()));
    ASSIGN_OR_RETURN(Tensor* const segments, ctx.AllocateOutput(1, input.shape()));
    return VisitRealType(input.dtype(), [&]<typename T>() {
      return VisitRealType(values->dtype(), [&]<typename Out>() {
        for (int64_t row = 0; row < count; ++row) {
          const int64_t at = row * size;
          Regress(input.data<T>() + at, size, values->data<Out>() + at,
                  segments->data<int32_t>() + at);
        }
        return absl::OkStatus();
      });
    });
  }

 private:
  template <typename T, typename Out>
  static void Regress(const T* input, int64_t n, Out* values, int32_t* segments) {
    // TensorFlow sums in the precision of the output, and keeps neighbours of the same mean apart.
    struct Stretch {
      Out sum, mean;
      int64_t count;
    };
    std::vector<Stretch> stretches;
    for (int64_t i = 0; i < n; ++i) {
      const Out x = static_cast<Out>(input[i]);
      stretches.push_back({x, x, 1});
      while (stretches.size() > 1 && stretches.back().mean > stretches[stretches.size() - 2].mean) {
        const Stretch last = stretches.back();
        stretches.pop_back();
        Stretch& joined = stretches.back();
        joined.sum = joined.sum + last.sum;
        joined.count += last.count;
        joined.mean = joined.sum / static_cast<Out>(joined.count);
      }
    }
    for (size_t s = 0; s < stretches.size(); ++s) {
      for (int64_t i = 0; i < stretches[s].count; ++i) {
        *values++ = stretches[s].mean;
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

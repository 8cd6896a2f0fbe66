// The best path through connectionist temporal classification: CTCGreedyDecoder
// (Graves et al., 2006).
#include <algorithm>
#include <vector>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/ctc_paths.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Inputs: logits [time, batch, classes], and how long each sequence is. Outputs: the classes of
// each sequence as a sparse matrix, without blanks, and the negated sum of their logits.
// Errors: INVALID_ARGUMENT for other shapes, a blank that is no class, or a length that is negative
// or above `time`.
class CtcGreedyDecoderKernel : public OpKernel {
 public:
  explicit CtcGreedyDecoderKernel(const KernelBuild& build)
      : merge_repeated_(build.attr<bool>("merge_repeated")),
        blank_(build.attr<int64_t>("blank_index")) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& logits = ctx.input(0);
    const Tensor& lengths = ctx.input(1);
    RETURN_IF_ERROR(CheckCtcInputs(ctx));
    if (logits.num_elements() == 0) {
      return absl::InvalidArgumentError("inputs must not be empty");
    }
    const int64_t batch = logits.dim(1), classes = logits.dim(2);
    const int64_t blank = blank_ < 0 ? blank_ + classes : blank_;
    if (blank < 0 || blank >= classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the blank ", blank_, " is none of ", classes, " classes"));
    }
    std::vector<std::vector<int64_t>> paths(batch);
    ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(3, Shape{batch, 1}));
    const int32_t* const length = lengths.data<int32_t>();
    constexpr double kNanosecondsAClass = 0.7;
    const double cost = kNanosecondsAClass * static_cast<double>(logits.num_elements() / batch);
    RETURN_IF_ERROR(VisitRealType(logits.dtype(), [&]<typename T>() {
      ctx.ParallelFor(batch, cost, [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          T sum = T(0);
          int64_t previous = -1;
          for (int32_t t = 0; t < length[b]; ++t) {
            const T* const row = logits.data<T>() + (t * batch + b) * classes;
            const int64_t best = std::max_element(row, row + classes) - row;
            sum -= row[best];
            if (best != blank && !(merge_repeated_ && best == previous)) paths[b].push_back(best);
            previous = best;
          }
          sums->data<T>()[b] = sum;
        }
      });
      return absl::OkStatus();
    }));
    return WriteCtcPaths(ctx, 0, 1, 2, paths);
  }

 private:
  const bool merge_repeated_;
  const int64_t blank_;
};
REGISTER_KERNEL("CTCGreedyDecoder", kCpu, CtcGreedyDecoderKernel);

}  // namespace
}  // namespace tessera

// The best path through connectionist temporal classification: CTCGreedyDecoder
// (Graves et al., 2006).
#include <algorithm>
#include <vector>

#include "runtime/framework/kernel_registry.h"
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
    if (logits.rank() != 3 || !(lengths.shape() == Shape{logits.dim(1)})) {
      return absl::InvalidArgumentError(absl::StrCat(
          "inputs must be logits [time, batch, classes] and lengths [batch], have shapes ",
          logits.shape().ToString(), " and ", lengths.shape().ToString()));
    }
    const int64_t time = logits.dim(0), batch = logits.dim(1), classes = logits.dim(2);
    const int64_t blank = blank_ < 0 ? blank_ + classes : blank_;
    if (blank < 0 || blank >= classes) {
      return absl::InvalidArgumentError(
          absl::StrCat("the blank ", blank_, " is none of ", classes, " classes"));
    }
    for (int32_t length : lengths.flat<int32_t>()) {
      if (length < 0) {
        return absl::InvalidArgumentError(absl::StrCat("a sequence has length ", length));
      }
      if (length > time) {
        return absl::FailedPreconditionError(
            absl::StrCat("a sequence of length ", length, " does not fit ", time, " steps"));
      }
    }
    std::vector<std::vector<int64_t>> paths(batch);
    ASSIGN_OR_RETURN(Tensor * sums, ctx.AllocateOutput(3, Shape{batch, 1}));
    RETURN_IF_ERROR(VisitRealType(logits.dtype(), [&]<typename T>() {
      for (int64_t b = 0; b < batch; ++b) {
        T sum = T(0);
        int64_t previous = -1;
        for (int32_t t = 0; t < lengths.data<int32_t>()[b]; ++t) {
          const T* const row = logits.data<T>() + (t * batch + b) * classes;
          const int64_t best = std::max_element(row, row + classes) - row;
          sum -= row[best];
          if (best != blank && !(merge_repeated_ && best == previous)) paths[b].push_back(best);
          previous = best;
        }
        sums->data<T>()[b] = sum;
      }
      return absl::OkStatus();
    }));
    return WriteSparse(ctx, paths);
  }

 private:
  static absl::Status WriteSparse(KernelContext& ctx,
                                  const std::vector<std::vector<int64_t>>& paths) {
    int64_t total = 0, longest = 0;
    for (const auto& path : paths) {
      total += static_cast<int64_t>(path.size());
      longest = std::max(longest, static_cast<int64_t>(path.size()));
    }
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(0, Shape{total, 2}));
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(1, Shape{total}));
    int64_t n = 0;
    for (size_t b = 0; b < paths.size(); ++b) {
      for (size_t i = 0; i < paths[b].size(); ++i, ++n) {
        indices->data<int64_t>()[2 * n] = static_cast<int64_t>(b);
        indices->data<int64_t>()[2 * n + 1] = static_cast<int64_t>(i);
        values->data<int64_t>()[n] = paths[b][i];
      }
    }
    ctx.set_output(2, Tensor::Vector<int64_t>({static_cast<int64_t>(paths.size()), longest}));
    return absl::OkStatus();
  }

  const bool merge_repeated_;
  const int64_t blank_;
};
REGISTER_KERNEL("CTCGreedyDecoder", kCpu, CtcGreedyDecoderKernel);

}  // namespace
}  // namespace tessera

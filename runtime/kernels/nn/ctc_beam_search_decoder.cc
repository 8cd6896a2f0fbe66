// CTCBeamSearchDecoder.
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/nn/ctc_beam_search.h"
#include "runtime/kernels/nn/ctc_paths.h"
#include "runtime/kernels/primitives/numeric_type.h"

namespace tessera {
namespace {

// Outputs, for each of the `top_paths` best paths, a sparse matrix with a row for each sequence,
// and the log probabilities [batch, top_paths].
class CtcBeamSearchDecoderKernel : public OpKernel {
 public:
  explicit CtcBeamSearchDecoderKernel(const KernelBuild& build)
      : beam_width_(build.attr<int64_t>("beam_width")),
        top_paths_(build.attr<int64_t>("top_paths")),
        merge_repeated_(build.attr<bool>("merge_repeated")),
        indices_(build.outputs("decoded_indices")),
        values_(build.outputs("decoded_values")),
        shapes_(build.outputs("decoded_shape")) {
    if (top_paths_ > beam_width_) {
      build.Fail(absl::InvalidArgumentError(absl::StrCat(
          "requested more paths than the beam width: ", top_paths_, " and ", beam_width_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    RETURN_IF_ERROR(CheckCtcInputs(ctx));
    const Tensor& logits = ctx.input(0);
    const int64_t batch = logits.dim(1), classes = logits.dim(2);
    if (logits.num_elements() == 0) return absl::InvalidArgumentError("inputs must not be empty");
    ASSIGN_OR_RETURN(Tensor* const probabilities,
                     ctx.AllocateOutput(shapes_.end, Shape{batch, top_paths_}));
    // By rank of the path, then by sequence.
    std::vector<std::vector<std::vector<int64_t>>> paths(top_paths_,
                                                         std::vector<std::vector<int64_t>>(batch));
    RETURN_IF_ERROR(VisitRealType(logits.dtype(), [&]<typename T>() -> absl::Status {
      for (int64_t b = 0; b < batch; ++b) {
        CtcBeamSearch search(classes, beam_width_);
        for (int32_t t = 0; t < ctx.input(1).data<int32_t>()[b]; ++t) {
          const T* const row = logits.data<T>() + (t * batch + b) * classes;
          search.Step(std::vector<double>(row, row + classes));
        }
        std::vector<CtcPath> best = search.Best(top_paths_, merge_repeated_);
        if (static_cast<int64_t>(best.size()) < top_paths_) {
          return absl::InvalidArgumentError("Less leaves in the beam search than requested.");
        }
        for (int64_t p = 0; p < top_paths_; ++p) {
          probabilities->data<T>()[b * top_paths_ + p] = static_cast<T>(best[p].log_probability);
          paths[p][b] = std::move(best[p].classes);
        }
      }
      return absl::OkStatus();
    }));
    for (int p = 0; p < static_cast<int>(top_paths_); ++p) {
      RETURN_IF_ERROR(
          WriteCtcPaths(ctx, indices_.begin + p, values_.begin + p, shapes_.begin + p, paths[p]));
    }
    return absl::OkStatus();
  }

 private:
  const int64_t beam_width_, top_paths_;
  const bool merge_repeated_;
  const ArgRange indices_, values_, shapes_;
};
REGISTER_KERNEL("CTCBeamSearchDecoder", kCpu, CtcBeamSearchDecoderKernel);

}  // namespace
}  // namespace tessera

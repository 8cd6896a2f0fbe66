// StringNGrams: neighbouring strings of each row, joined.
#include <algorithm>
#include <limits>

#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"

namespace tessera {
namespace {

// For each width in turn, all runs of that many tokens of a row. A row is padded on both sides, by
// `pad_width` tokens (-1: as many as leave one token of the row) but fewer than the width.
class StringNGramsKernel : public OpKernel {
 public:
  explicit StringNGramsKernel(const KernelBuild& build)
      : separator_(build.attr<std::string>("separator")),
        widths_(build.attr<std::vector<int64_t>>("ngram_widths")),
        left_pad_(build.attr<std::string>("left_pad")),
        right_pad_(build.attr<std::string>("right_pad")),
        pad_width_(build.attr<int64_t>("pad_width")),
        preserve_short_(build.attr<bool>("preserve_short_sequences")) {
    // Sums of sizes and of paddings do not overflow then.
    constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();
    for (int64_t width : widths_) {
      if (width < 1 || width > kLargest) {
        build.Fail(absl::InvalidArgumentError(
            absl::StrCat("ngram_widths must be positive and fit in int32, hold ", width)));
      }
    }
    if (pad_width_ < std::numeric_limits<int32_t>::min() || pad_width_ > kLargest) {
      build.Fail(
          absl::InvalidArgumentError(absl::StrCat("pad_width must fit in int32, is ", pad_width_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& data = ctx.input(0);
    if (data.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("data must be a vector, has shape ", data.shape().ToString()));
    }
    if (ctx.input(1).num_elements() == 0) {
      if (data.dim(0) != 0) return absl::InvalidArgumentError("there is data but no splits");
      RETURN_IF_ERROR(ctx.AllocateOutput(0, Shape{0}).status());
      ctx.set_output(1, ctx.TakeInput(1));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(1), data.dim(0), "data_splits"));
    const auto tokens = data.flat<std::string>();
    std::vector<std::string> ngrams;
    std::vector<int64_t> out_splits = {0};
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      const auto sequence = tokens.subspan(splits[row], splits[row + 1] - splits[row]);
      const size_t before = ngrams.size();
      for (int64_t width : widths_) {
        const int64_t pad = pad_width_ < 0 ? width - 1 : std::min(pad_width_, width - 1);
        AppendAll(sequence, width, pad, &ngrams);
      }
      if (preserve_short_ && ngrams.size() == before && !sequence.empty()) {
        // Too short for any width: the padded row as a whole. With pads of any width there would
        // have been an n-gram.
        const int64_t pad = std::max<int64_t>(pad_width_, 0);
        AppendAll(sequence, static_cast<int64_t>(sequence.size()) + 2 * pad, pad, &ngrams);
      }
      out_splits.push_back(static_cast<int64_t>(ngrams.size()));
    }
    ASSIGN_OR_RETURN(Tensor* const values,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(ngrams.size())}));
    std::move(ngrams.begin(), ngrams.end(), values->data<std::string>());
    ASSIGN_OR_RETURN(Tensor* const row_splits,
                     ctx.AllocateOutput(1, Shape{static_cast<int64_t>(out_splits.size())}));
    return WriteRowSplits(out_splits, row_splits);
  }

 private:
  void AppendAll(absl::Span<const std::string> sequence, int64_t width, int64_t pad,
                 std::vector<std::string>* ngrams) const {
    const int64_t size = static_cast<int64_t>(sequence.size());
    for (int64_t first = -pad; first + width <= size + pad; ++first) {
      std::string& ngram = ngrams->emplace_back();
      for (int64_t i = first; i < first + width; ++i) {
        if (i > first) ngram += separator_;
        ngram += i < 0 ? left_pad_ : i >= size ? right_pad_ : sequence[i];
      }
    }
  }

  const std::string separator_;
  const std::vector<int64_t> widths_;
  const std::string left_pad_, right_pad_;
  const int64_t pad_width_;
  const bool preserve_short_;
};
REGISTER_KERNEL("StringNGrams", kCpu, StringNGramsKernel);

}  // namespace
}  // namespace tessera

// Utf8Binarize: the bits of characters, as the model RetVec takes them.
//
// E. Bursztein et al., RETVec: Resilient and Efficient Text Vectorizer, NeurIPS 2023.
#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

// Input: strings. Output: for each the lowest `bits_per_char` bits, from the lowest on, of its
// first `word_length` code points, and zeros if it has fewer. What is not valid UTF-8 counts as the
// code point `replacement_char`.
// Errors: INVALID_ARGUMENT for negative lengths.
class Utf8BinarizeKernel final : public OpKernel {
 public:
  explicit Utf8BinarizeKernel(const KernelBuild& build)
      : length_(build.attr<int64_t>("word_length")),
        bits_(build.attr<int64_t>("bits_per_char")),
        replacement_(static_cast<int32_t>(build.attr<int64_t>("replacement_char"))) {
    constexpr int64_t kMost = 1 << 30;
    if (length_ < 0 || bits_ < 0 || (bits_ > 0 && length_ > kMost / bits_)) {
      build.Fail(absl::InvalidArgumentError(
          absl::StrCat("word_length and bits_per_char must not be negative and their product at "
                       "most ",
                       kMost, ", are ", length_, " and ", bits_)));
    }
  }

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& tokens = ctx.input(0);
    if (tokens.rank() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input_tokens must be a vector, has shape ", tokens.shape().ToString()));
    }
    const int64_t width = length_ * bits_;
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{tokens.dim(0), width}));
    float* row = output->data<float>();
    for (const std::string& text : tokens.flat<std::string>()) {
      std::fill_n(row, width, 0.0f);
      const auto size = static_cast<int32_t>(text.size());
      int32_t at = 0;
      for (int64_t i = 0; i < length_ && at < size; ++i) {
        UChar32 c;
        U8_NEXT(text.data(), at, size, c);
        if (c < 0) c = replacement_;
        for (int64_t bit = 0; bit < bits_; ++bit) {
          row[i * bits_ + bit] = static_cast<float>(c >> std::min<int64_t>(bit, 31) & 1);
        }
      }
      row += width;
    }
    return absl::OkStatus();
  }

 private:
  const int64_t length_, bits_;
  const int32_t replacement_;
};
REGISTER_KERNEL("TFText>Utf8Binarize", kCpu, Utf8BinarizeKernel);

}  // namespace
}  // namespace tessera

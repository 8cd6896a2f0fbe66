// Parts of strings with where they begin and end, in bytes: WhitespaceTokenizeWithOffsetsV2,
// ByteSplitWithOffsets, ByteSplitByOffsets.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/whitespace_words.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// Inputs: strings, and a bit for each code point that says whether it is white space; those behind
// the last are not. Outputs: what stands between white space, row splits, and where it begins and
// ends.
class WhitespaceKernel final : public OpKernel {
 public:
  explicit WhitespaceKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& config = ctx.input(1);
    if (config.num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("input_config must be a scalar, has shape ", config.shape().ToString()));
    }
    const std::string& bits = config.flat<std::string>()[0];
    std::vector<absl::string_view> words;
    std::vector<int64_t> lengths, begins, ends;
    for (const std::string& text : ctx.input(0).flat<std::string>()) {
      const size_t before = words.size();
      for (const WordRange& word : WhitespaceSeparatedWords(text, bits)) {
        words.push_back(absl::string_view(text).substr(word.begin, word.end - word.begin));
        begins.push_back(word.begin);
        ends.push_back(word.end);
      }
      lengths.push_back(static_cast<int64_t>(words.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<std::string>(ctx, 0, words));
    RETURN_IF_ERROR(WriteSplits<int64_t>(ctx, 1, lengths));
    RETURN_IF_ERROR(WriteVector<int32_t>(ctx, 2, begins));
    return WriteVector<int32_t>(ctx, 3, ends);
  }
};
REGISTER_KERNEL("TFText>WhitespaceTokenizeWithOffsetsV2", kCpu, WhitespaceKernel);

// Outputs: the bytes of all strings, row splits, and where each byte begins and ends.
class ByteSplitKernel final : public OpKernel {
 public:
  explicit ByteSplitKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    std::vector<uint8_t> bytes;
    std::vector<int64_t> lengths, begins, ends;
    for (const std::string& text : ctx.input(0).flat<std::string>()) {
      bytes.insert(bytes.end(), text.begin(), text.end());
      lengths.push_back(static_cast<int64_t>(text.size()));
      for (int64_t i = 0; i < lengths.back(); ++i) {
        begins.push_back(i);
        ends.push_back(i + 1);
      }
    }
    RETURN_IF_ERROR(WriteVector<uint8_t>(ctx, 0, bytes));
    RETURN_IF_ERROR(WriteSplits<int64_t>(ctx, 1, lengths));
    RETURN_IF_ERROR(WriteVector<int32_t>(ctx, 2, begins));
    return WriteVector<int32_t>(ctx, 3, ends);
  }
};
REGISTER_KERNEL("TFText>ByteSplitWithOffsets", kCpu, ByteSplitKernel);

// Inputs: strings, and for each where parts of it begin and end, with row splits. Outputs: the
// parts, and the row splits.
// Errors: INVALID_ARGUMENT for parts that reach beyond their string or end before they begin, and
// for shapes that do not fit.
class ByteSplitByOffsetsKernel final : public OpKernel {
 public:
  explicit ByteSplitByOffsetsKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    const auto texts = ctx.input(0).flat<std::string>();
    const auto begins = ctx.input(1).flat<int32_t>(), ends = ctx.input(2).flat<int32_t>();
    const auto count = static_cast<int64_t>(begins.size());
    ASSIGN_OR_RETURN(const auto splits, ReadRowSplits(ctx.input(3), count, "input_row_splits"));
    if (splits.size() != texts.size() + 1 || ends.size() != begins.size()) {
      return absl::InvalidArgumentError(absl::StrCat("there are ", texts.size(), " strings, ",
                                                     splits.size() - 1, " rows, ", begins.size(),
                                                     " starts and ", ends.size(), " ends"));
    }
    ASSIGN_OR_RETURN(Tensor* const output, ctx.AllocateOutput(0, Shape{count}));
    for (size_t row = 0; row < texts.size(); ++row) {
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        if (begins[i] < 0 || ends[i] < begins[i] ||
            static_cast<size_t>(ends[i]) > texts[row].size()) {
          return absl::InvalidArgumentError(absl::StrCat("bytes ", begins[i], " to ", ends[i],
                                                         " are no part of a string of ",
                                                         texts[row].size(), " bytes"));
        }
        output->data<std::string>()[i] = texts[row].substr(begins[i], ends[i] - begins[i]);
      }
    }
    ctx.set_output(1, ctx.input(3));
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TFText>ByteSplitByOffsets", kCpu, ByteSplitByOffsetsKernel);

}  // namespace
}  // namespace tessera

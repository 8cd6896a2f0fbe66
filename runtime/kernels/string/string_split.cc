// Splitting strings into sparse tensors of words: StringSplit, StringSplitV2.
#include "absl/strings/ascii.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/index_input.h"
#include "runtime/kernels/vector_output.h"

namespace tessera {
namespace {

using Words = std::vector<absl::string_view>;

// Cuts at each character of `delimiters`; with none, into single bytes. An empty text has no words.
void SplitAtAny(absl::string_view text, absl::string_view delimiters, bool skip_empty,
                Words* words) {
  if (text.empty()) return;
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) words->push_back(text.substr(i, 1));
    return;
  }
  for (size_t begin = 0; begin <= text.size();) {
    size_t end = text.find_first_of(delimiters, begin);
    if (end == absl::string_view::npos) end = text.size();
    if (end > begin || !skip_empty) words->push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

// Python's str.split(): cuts at `separator`, or at runs of white space if it is empty, at most
// `max_split` times (-1: any number). As TensorFlow has it, text is left as it is after 0 cuts, and
// there is a rest after the last cut at white space, though it may be empty.
void SplitLikePython(absl::string_view text, absl::string_view separator, int64_t max_split,
                     Words* words) {
  if (max_split == 0) {
    words->push_back(text);
    return;
  }
  if (separator.empty()) {
    text = absl::StripLeadingAsciiWhitespace(text);
    for (int64_t cuts = 0; !text.empty() && cuts != max_split;) {
      size_t end = 0;
      while (end < text.size() && !absl::ascii_isspace(text[end])) ++end;
      words->push_back(text.substr(0, end));
      text = absl::StripLeadingAsciiWhitespace(text.substr(end));
      if (++cuts == max_split) words->push_back(text);
    }
    return;
  }
  for (int64_t cuts = 0;; ++cuts) {
    const size_t end = cuts == max_split ? absl::string_view::npos : text.find(separator);
    if (end == absl::string_view::npos) break;
    words->push_back(text.substr(0, end));
    text.remove_prefix(end + separator.size());
  }
  words->push_back(text);
}

// Outputs the words of all strings as a sparse [strings, most words] matrix. The words of string i
// end at `ends[i]`.
absl::Status SetSparse(KernelContext& ctx, const Words& words, const std::vector<size_t>& ends) {
  const auto total = static_cast<int64_t>(words.size());
  ASSIGN_OR_RETURN(Tensor* const indices, ctx.AllocateOutput(0, Shape{total, 2}));
  ASSIGN_OR_RETURN(Tensor* const values, ctx.AllocateOutput(1, Shape{total}));
  int64_t* index = indices->data<int64_t>();
  std::string* value = values->data<std::string>();
  size_t begin = 0, widest = 0;
  for (size_t i = 0; i < ends.size(); ++i) {
    for (size_t j = begin; j < ends[i]; ++j) {
      *index++ = static_cast<int64_t>(i);
      *index++ = static_cast<int64_t>(j - begin);
      value++->assign(words[j].data(), words[j].size());
    }
    widest = std::max(widest, ends[i] - begin);
    begin = ends[i];
  }
  return SetVectorOutput(ctx, 2, {static_cast<int64_t>(ends.size()), static_cast<int64_t>(widest)});
}

class StringSplitKernel : public OpKernel {
 public:
  explicit StringSplitKernel(const KernelBuild& build)
      : v2_(build.op().name == "StringSplitV2"),
        skip_empty_(!v2_ && build.attr<bool>("skip_empty")),
        max_split_(v2_ ? build.attr<int64_t>("maxsplit") : -1) {}
  absl::Status Compute(KernelContext& ctx) override {
    const Tensor& input = ctx.input(0);
    const Tensor& separator = ctx.input(1);
    if (input.rank() != 1 || separator.rank() != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("the input must be a vector and the separator a scalar, shapes are ",
                       input.shape().ToString(), " and ", separator.shape().ToString()));
    }
    const std::string& cut = separator.scalar<std::string>();
    Words words;  // of all strings
    std::vector<size_t> ends;
    ends.reserve(input.num_elements());
    for (const std::string& text : input.flat<std::string>()) {
      if (v2_) {
        SplitLikePython(text, cut, max_split_, &words);
      } else {
        SplitAtAny(text, cut, skip_empty_, &words);
      }
      ends.push_back(words.size());
    }
    return SetSparse(ctx, words, ends);
  }

 private:
  const bool v2_;
  const bool skip_empty_;
  const int64_t max_split_;
};
REGISTER_KERNEL("StringSplit", kCpu, StringSplitKernel);
REGISTER_KERNEL("StringSplitV2", kCpu, StringSplitKernel);

}  // namespace
}  // namespace tessera

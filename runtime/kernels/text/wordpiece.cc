// WordpieceTokenizeWithOffsets: cuts words into the longest pieces that a look-up table has.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/host_values.h"
#include "runtime/kernels/lookup/lookup_table.h"
#include "runtime/kernels/resource_handle_kernel.h"
#include "runtime/kernels/text/write_vector.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

struct Pieces {
  std::vector<std::string> texts;
  std::vector<int64_t> begins, ends;  // in bytes of the word

  void Add(std::string text, int64_t begin, int64_t end) {
    texts.push_back(std::move(text));
    begins.push_back(begin);
    ends.push_back(end);
  }
  void Truncate(size_t size) {
    texts.resize(size);
    begins.resize(size);
    ends.resize(size);
  }
};

// Inputs: words, and a table of strings to int64, in which a piece is one that is not -1. Outputs:
// pieces, their number in each word or row splits, and where they begin and end in their word.
// A word without a piece somewhere is unknown as a whole, or only its character there.
// Errors: INVALID_ARGUMENT for a table of other dtypes, or of vectors; INTERNAL for an unknown row
// partition;
// those of the table.
class WordpieceKernel final : public OpKernel {
 public:
  explicit WordpieceKernel(const KernelBuild& build)
      : suffix_(build.attr<std::string>("suffix_indicator")),
        max_bytes_(build.attr<int64_t>("max_bytes_per_word")),
        max_chars_(build.attr<int64_t>("max_chars_per_token")),
        use_unknown_(build.attr<bool>("use_unknown_token")),
        unknown_(build.attr<std::string>("unknown_token")),
        split_unknown_(build.attr<bool>("split_unknown_characters")),
        partition_(build.attr<std::string>("output_row_partition_type")),
        missing_(ConstantScalar(build, kMissing)) {
    if (partition_ == "row_lengths" || partition_ == "row_splits") return;
    build.Fail(absl::InternalError(absl::StrCat(
        "output_row_partition_type must be row_lengths or row_splits, is '", partition_, "'")));
  }

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const auto table, ResourceInput<LookupTable>(ctx, 1));
    const LookupTable::Options& options = table->options();
    // A key of several strings would take several pieces at once.
    if (options.key_dtype != DType::kString || options.value_dtype != DType::kInt64 ||
        !options.key_shape.IsScalar() || !options.value_shape.IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the vocabulary must map strings to int64, is a ", table->DebugString(),
                       " with keys of shape ", options.key_shape.ToString()));
    }
    Pieces pieces;
    std::vector<int64_t> lengths;
    for (const std::string& word : ctx.input(0).flat<std::string>()) {
      const size_t before = pieces.texts.size();
      RETURN_IF_ERROR(Cut(ctx, *table, word, &pieces));
      lengths.push_back(static_cast<int64_t>(pieces.texts.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<std::string>(ctx, 0, pieces.texts));
    RETURN_IF_ERROR(partition_ == "row_splits" ? WriteSplits<int64_t>(ctx, 1, lengths)
                                               : WriteVector<int64_t>(ctx, 1, lengths));
    RETURN_IF_ERROR(WriteVector<int64_t>(ctx, 2, pieces.begins));
    return WriteVector<int64_t>(ctx, 3, pieces.ends);
  }

 private:
  absl::Status Cut(KernelContext& ctx, const LookupTable& table, const std::string& word,
                   Pieces* pieces) const {
    const auto size = static_cast<int64_t>(word.size());
    if (size > max_bytes_) {
      // TensorFlow gives the unknown token its own length here.
      const std::string& text = use_unknown_ ? unknown_ : word;
      pieces->Add(text, 0, static_cast<int64_t>(text.size()));
      return absl::OkStatus();
    }
    const size_t before = pieces->texts.size();
    for (int64_t begin = 0; begin < size;) {
      const std::vector<int64_t> ends = CharacterEnds(word, begin);
      ASSIGN_OR_RETURN(const int64_t end, LongestPiece(ctx, table, word, begin, ends));
      if (end > 0) {
        pieces->Add(Named(word.substr(begin, end - begin), begin), begin, end);
        begin = end;
      } else if (split_unknown_) {
        const std::string text = use_unknown_ ? unknown_ : word.substr(begin, ends[0] - begin);
        pieces->Add(Named(text, begin), begin, ends[0]);
        begin = ends[0];
      } else {
        pieces->Truncate(before);
        pieces->Add(use_unknown_ ? unknown_ : word, 0, size);
        return absl::OkStatus();
      }
    }
    return absl::OkStatus();
  }

  // The name that a piece has in the vocabulary.
  std::string Named(absl::string_view text, int64_t begin) const {
    return begin > 0 ? absl::StrCat(suffix_, text) : std::string(text);
  }

  // Where the characters end that a piece from `begin` can have.
  std::vector<int64_t> CharacterEnds(const std::string& word, int64_t begin) const {
    std::vector<int64_t> ends;
    const auto size = static_cast<int32_t>(word.size());
    for (auto i = static_cast<int32_t>(begin); i < size;) {
      UChar32 c;
      U8_NEXT(word.data(), i, size, c);
      ends.push_back(i);
      if (static_cast<int64_t>(ends.size()) == max_chars_) break;
    }
    return ends;
  }

  // The end of the longest piece in the vocabulary; 0 if there is none.
  static absl::StatusOr<int64_t> FindLongest(const Tensor& values,
                                             const std::vector<int64_t>& ends) {
    for (auto i = static_cast<int64_t>(ends.size()) - 1; i >= 0; --i) {
      if (values.data<int64_t>()[i] != kMissing) return ends[i];
    }
    return 0;
  }
  absl::StatusOr<int64_t> LongestPiece(KernelContext& ctx, const LookupTable& table,
                                       const std::string& word, int64_t begin,
                                       const std::vector<int64_t>& ends) const {
    ASSIGN_OR_RETURN(Tensor keys,
                     ctx.AllocateTemp(DType::kString, Shape{static_cast<int64_t>(ends.size())}));
    for (size_t i = 0; i < ends.size(); ++i) {
      keys.data<std::string>()[i] = Named(word.substr(begin, ends[i] - begin), begin);
    }
    ASSIGN_OR_RETURN(const Tensor values,
                     table.Find(keys, missing_, ctx.allocator(MemoryKind::kHost)));
    return FindLongest(values, ends);
  }

  static constexpr int64_t kMissing = -1;

  const std::string suffix_;
  const int64_t max_bytes_, max_chars_;  // max_chars_ of 0: any number
  const bool use_unknown_;
  const std::string unknown_;
  const bool split_unknown_;
  const std::string partition_;
  const Tensor missing_;
};
REGISTER_KERNEL("WordpieceTokenizeWithOffsets", kCpu, WordpieceKernel);

}  // namespace
}  // namespace tessera

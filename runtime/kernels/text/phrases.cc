// PhraseTokenize and PhraseDetokenize: words, and phrases of several words, by a vocabulary.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "absl/random/random.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/double_array_trie.h"
#include "runtime/kernels/text/whitespace_words.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

// Ends of words that are tokens of their own in models that split them off.
constexpr std::array<absl::string_view, 11> kWordEnds = {"!",  ",",  ".",   "?",   "'d", "'m",
                                                         "'s", "'t", "'ll", "'re", "'ve"};

// A model in TensorFlow Text's compiled form. The tensor that it is read from must outlive it.
class PhraseModel {
 public:
  struct Token {
    std::string text;
    int32_t id;
  };

  // Errors: INVALID_ARGUMENT for what is no model.
  static absl::StatusOr<PhraseModel> Read(const Tensor& model) {
    const absl::string_view bytes(reinterpret_cast<const char*>(model.raw()),
                                  static_cast<size_t>(model.num_elements()));
    ASSIGN_OR_RETURN(const FlatTable table, FlatTable::Root(bytes));
    ASSIGN_OR_RETURN(const FlatTable trie, table.Table(kTrie));
    ASSIGN_OR_RETURN(const auto units, trie.Vector<uint32_t>(0));
    PhraseModel read(table, units);
    ASSIGN_OR_RETURN(read.unknown_, table.String(kUnknown));
    ASSIGN_OR_RETURN(read.vocabulary_, table.Vector<uint32_t>(kVocabulary));
    ASSIGN_OR_RETURN(read.white_space_, table.String(kWhiteSpace));
    return read;
  }

  // Appends the tokens of the text, from the left the longest phrases that the vocabulary has. A
  // model with a probability takes a shorter one with it; draws have no seed.
  void Tokenize(absl::string_view text, absl::BitGen& random, std::vector<Token>* tokens) const {
    const std::string line = WithSingleSpaces(text);
    for (size_t at = 0; at < line.size();) {
      int32_t id = -1;
      size_t length = 0;
      bool is_taken = false;
      trie_.VisitPrefixes(absl::string_view(line).substr(at), [&](size_t size, uint32_t value) {
        const size_t end = at + size;
        if (is_taken || (end < line.size() && line[end] != ' ')) return;
        id = static_cast<int32_t>(value);
        length = size;
        is_taken = probability_ > 0 && absl::Bernoulli(random, probability_);
      });
      if (length == 0) {
        tokens->push_back({std::string(unknown_), unknown_id_});
        length = std::min(line.find(' ', at), line.size()) - at;
      } else {
        tokens->push_back({line.substr(at, length), id});
      }
      at += length + 1;
    }
  }

  // The words of the ids. Errors: FAILED_PRECONDITION for a model without a vocabulary;
  // INVALID_ARGUMENT for an id out of range.
  absl::StatusOr<std::string> Detokenize(absl::Span<const int32_t> ids) const {
    if (!detokenizes_) {
      return absl::FailedPreconditionError("the model was built without support_detokenization");
    }
    std::string text;
    for (size_t i = 0; i < ids.size(); ++i) {
      ASSIGN_OR_RETURN(const absl::string_view word,
                       table_.StringOf(vocabulary_, static_cast<uint32_t>(ids[i])));
      // Ends of words that were split off stand behind no space. A text of split words, unlike
      // another one, begins with no space though its first words be empty.
      const bool joins = splits_word_ends_ ? text.empty() || IsWordEnd(word) : i == 0;
      absl::StrAppend(&text, joins ? "" : " ", word);
    }
    return text;
  }

 private:
  enum Field : int {
    kProbability = 0,  // in percent
    kUnknown = 1,
    kUnknownId = 2,
    kDetokenizes = 3,
    kVocabulary = 4,
    kTrie = 5,
    kWhiteSpace = 6,
    kSplitsWordEnds = 7,
  };

  PhraseModel(const FlatTable& table, const FlatVector<uint32_t>& units)
      : table_(table),
        trie_(units),
        unknown_id_(table.Scalar<int32_t>(kUnknownId, 0)),
        probability_(std::clamp(static_cast<double>(table.Scalar<int32_t>(kProbability, 0)) / 100,
                                0.0, 1.0)),
        detokenizes_(table.Scalar<uint8_t>(kDetokenizes, 0) != 0),
        splits_word_ends_(table.Scalar<uint8_t>(kSplitsWordEnds, 0) != 0) {}

  static bool IsWordEnd(absl::string_view word) {
    return std::find(kWordEnds.begin(), kWordEnds.end(), word) != kWordEnds.end();
  }

  // The words of the text, their ends split off if the model does so, with a space between two.
  std::string WithSingleSpaces(absl::string_view text) const {
    std::string line;
    for (const WordRange& range : WhitespaceSeparatedWords(text, white_space_)) {
      absl::string_view word = text.substr(range.begin, range.end - range.begin), end;
      for (const absl::string_view candidate : kWordEnds) {
        if (splits_word_ends_ && absl::EndsWith(word, candidate)) end = candidate;
      }
      word.remove_suffix(end.size());
      absl::StrAppend(&line, line.empty() ? "" : " ", word, end.empty() ? "" : " ", end);
    }
    return line;
  }

  const FlatTable table_;
  const DoubleArrayTrie trie_;  // leads to ids
  const int32_t unknown_id_;
  const double probability_;
  const bool detokenizes_, splits_word_ends_;
  absl::string_view unknown_, white_space_;
  FlatVector<uint32_t> vocabulary_;
};

// Inputs: strings and the model. Outputs: phrases, their ids, and row splits.
// Errors: INVALID_ARGUMENT for what is no model.
class PhraseTokenizeKernel final : public OpKernel {
 public:
  explicit PhraseTokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const PhraseModel model, PhraseModel::Read(ctx.input(1)));
    absl::BitGen random;
    std::vector<PhraseModel::Token> tokens;
    std::vector<int64_t> lengths;
    for (const std::string& text : ctx.input(0).flat<std::string>()) {
      const size_t before = tokens.size();
      model.Tokenize(text, random, &tokens);
      lengths.push_back(static_cast<int64_t>(tokens.size() - before));
    }
    const Shape shape{static_cast<int64_t>(tokens.size())};
    ASSIGN_OR_RETURN(Tensor* const texts, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor* const ids, ctx.AllocateOutput(1, shape));
    for (size_t i = 0; i < tokens.size(); ++i) {
      texts->data<std::string>()[i] = std::move(tokens[i].text);
      ids->data<int64_t>()[i] = tokens[i].id;
    }
    return WriteSplits<int64_t>(ctx, 2, lengths);
  }
};
REGISTER_KERNEL("PhraseTokenize", kCpu, PhraseTokenizeKernel);

// Inputs: ids, row splits and the model. Output: a text for each row.
class PhraseDetokenizeKernel final : public OpKernel {
 public:
  explicit PhraseDetokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const PhraseModel model, PhraseModel::Read(ctx.input(2)));
    const auto ids = ctx.input(0).flat<int32_t>();
    ASSIGN_OR_RETURN(
        const std::vector<int64_t> splits,
        ReadRowSplits(ctx.input(1), static_cast<int64_t>(ids.size()), "input_row_splits"));
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(splits.size()) - 1}));
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      ASSIGN_OR_RETURN(output->data<std::string>()[row],
                       model.Detokenize(absl::MakeConstSpan(ids).subspan(
                           splits[row], splits[row + 1] - splits[row])));
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TFText>PhraseDetokenize", kCpu, PhraseDetokenizeKernel);

}  // namespace
}  // namespace tessera

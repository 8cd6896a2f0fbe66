// FastSentencepieceTokenize and FastSentencepieceDetokenize: unigram models of SentencePiece in the
// compiled form of TensorFlow Text, which its converter makes for devices with little memory.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/framework/kernel_registry.h"
#include "runtime/kernels/primitives/index_type.h"
#include "runtime/kernels/row_splits.h"
#include "runtime/kernels/text/double_array_trie.h"
#include "runtime/kernels/text/sentencepiece_normalizer.h"
#include "runtime/kernels/text/write_vector.h"

namespace tessera {
namespace {

absl::string_view BytesOf(const Tensor& model) {
  return {reinterpret_cast<const char*>(model.raw()), static_cast<size_t>(model.num_elements())};
}

bool IsWhiteSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

// What cuts text into pieces. The model that it is read from must outlive it.
class Encoder {
 public:
  // Errors: INVALID_ARGUMENT for what is no model; INTERNAL for another version.
  static absl::StatusOr<Encoder> Read(const Tensor& model) {
    ASSIGN_OR_RETURN(const FlatTable table, FlatTable::Root(BytesOf(model)));
    if (table.Scalar<int8_t>(kVersion, 0) != 0) {
      return absl::InternalError("the model has an unknown version");
    }
    ASSIGN_OR_RETURN(const auto pieces, TrieOf(table, kPieces));
    ASSIGN_OR_RETURN(const auto scores, table.Vector<float>(kScores));
    ASSIGN_OR_RETURN(const auto prefixes, TrieOf(table, kPrefixes));
    // The converter writes replacements of any length into a model without any.
    absl::string_view replacements;
    if (prefixes.size > 0) {
      ASSIGN_OR_RETURN(replacements, table.String(kReplacements));
    }
    return Encoder(table, DoubleArrayTrie(pieces), scores, DoubleArrayTrie(prefixes), replacements);
  }

  // Appends the ids of the pieces whose sum of scores is largest, the last piece first. Nothing is
  // appended to text that cannot be cut.
  void AppendFromTheEnd(absl::string_view text, std::vector<int64_t>* ids) const {
    // The best way to cut what is before a byte: its score, its last piece, and where that begins.
    struct Best {
      float score = 0;
      int32_t id = -1;
      int64_t begin = -1;  // -1: there is none
    };
    const std::string normal = Normalized(text);
    std::vector<Best> ends(normal.size() + 1);
    const auto offer = [&](size_t end, float score, int32_t id, int64_t begin) {
      if (ends[end].begin < 0 || ends[end].score < score) ends[end] = {score, id, begin};
    };
    for (size_t at = 0; at < normal.size(); ++at) {
      if (at > 0 && ends[at].begin < 0) continue;
      const Best before = ends[at];
      const auto begin = static_cast<int64_t>(at);
      // Unknown bytes that follow each other are one piece.
      if (unknown_ >= 0) {
        offer(at + 1, before.score + unknown_penalty_, unknown_,
              before.id == unknown_ ? before.begin : begin);
      }
      pieces_.VisitPrefixes(absl::string_view(normal).substr(at), [&](size_t size, uint32_t id) {
        if (id >= scores_.size) return;  // the model is damaged
        offer(at + size, before.score + scores_[id], static_cast<int32_t>(id), begin);
      });
    }
    for (auto at = static_cast<int64_t>(normal.size()); at > 0 && ends[at].begin >= 0;
         at = ends[at].begin) {
      const int32_t id = ends[at].id;
      ids->push_back(id == unknown_ ? id : int64_t{id} + offset_);
    }
  }

  int32_t bos() const { return bos_; }
  int32_t eos() const { return eos_; }

 private:
  enum Field : int {
    kVersion = 0,
    kBos = 1,
    kEos = 2,
    kUnknown = 3,
    kUnknownPenalty = 4,
    kOffset = 5,
    kPieces = 6,
    kScores = 7,
    kMergesSpaces = 8,
    kAddsSpace = 9,
    kMarksSpaces = 10,
    kPrefixes = 11,
    kReplacements = 12,
  };

  Encoder(const FlatTable& table, DoubleArrayTrie pieces, FlatVector<float> scores,
          DoubleArrayTrie prefixes, absl::string_view replacements)
      : pieces_(pieces),
        scores_(scores),
        prefixes_(prefixes),
        replacements_(replacements),
        bos_(table.Scalar<int32_t>(kBos, 0)),
        eos_(table.Scalar<int32_t>(kEos, 0)),
        unknown_(table.Scalar<int32_t>(kUnknown, -1)),
        unknown_penalty_(table.Scalar<float>(kUnknownPenalty, 0)),
        offset_(table.Scalar<int32_t>(kOffset, 0)),
        merges_spaces_(table.Scalar<uint8_t>(kMergesSpaces, 0) != 0),
        adds_space_(table.Scalar<uint8_t>(kAddsSpace, 0) != 0),
        marks_spaces_(table.Scalar<uint8_t>(kMarksSpaces, 0) != 0) {}

  // The units of a trie that is a table of its own; none if there is no such table.
  static absl::StatusOr<FlatVector<uint32_t>> TrieOf(const FlatTable& table, int field) {
    if (!table.Has(field)) return FlatVector<uint32_t>();
    ASSIGN_OR_RETURN(const FlatTable trie, table.Table(field));
    return trie.Vector<uint32_t>(0);
  }

  // The text as pieces are looked for in it.
  std::string Normalized(absl::string_view text) const {
    if (text.empty()) return "";
    std::string normal = adds_space_ ? " " : "";
    absl::StrAppend(&normal, text);
    normal = WithReplacements(normal);
    if (merges_spaces_) normal = WithMergedSpaces(normal);
    if (!marks_spaces_) return normal;
    std::string marked;
    for (const char& c : normal) {
      absl::StrAppend(&marked, IsWhiteSpace(c) ? SentencepieceNormalizer::kSpaceMark
                                               : absl::string_view(&c, 1));
    }
    return marked;
  }

  // Replaces the longest beginnings that the model has replacements for.
  std::string WithReplacements(absl::string_view text) const {
    std::string replaced;
    while (!text.empty()) {
      size_t consumed = 0;
      absl::string_view replacement;
      prefixes_.VisitPrefixes(text, [&](size_t size, uint32_t at) {
        if (at >= replacements_.size()) return;  // the model is damaged
        consumed = size;
        replacement = replacements_.substr(at);
        replacement = replacement.substr(0, replacement.find('\0'));
      });
      absl::StrAppend(&replaced, consumed > 0 ? replacement : text.substr(0, 1));
      text.remove_prefix(std::max<size_t>(consumed, 1));
    }
    return replaced;
  }

  // Replaces runs of white space by one space, and removes it from the end.
  static std::string WithMergedSpaces(absl::string_view text) {
    std::string merged;
    for (size_t at = 0; at < text.size();) {
      size_t end = at + 1;
      while (IsWhiteSpace(text[at]) && end < text.size() && IsWhiteSpace(text[end])) ++end;
      merged += end > at + 1 ? ' ' : text[at];
      at = end;
    }
    if (!merged.empty() && IsWhiteSpace(merged.back())) merged.pop_back();
    return merged;
  }

  const DoubleArrayTrie pieces_;  // leads to ids
  const FlatVector<float> scores_;
  const DoubleArrayTrie prefixes_;        // leads to positions in replacements_
  const absl::string_view replacements_;  // each ends with a zero byte
  const int32_t bos_, eos_, unknown_;     // unknown_ is negative if there is none
  const float unknown_penalty_;
  const int32_t offset_;  // what is added to the ids of pieces
  const bool merges_spaces_, adds_space_, marks_spaces_;
};

// Inputs: the model, strings, two numbers for sampling that are not looked at, and whether the
// beginning and the end of a string get ids, and whether ids are reversed. Outputs: ids, and row
// splits.
class FastSentencepieceTokenizeKernel final : public OpKernel {
 public:
  explicit FastSentencepieceTokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    bool flags[3];
    for (int i = 0; i < 3; ++i) {
      const Tensor& flag = ctx.input(4 + i);
      if (flag.num_elements() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("add_bos, add_eos and reverse must be scalars, one has shape ",
                         flag.shape().ToString()));
      }
      flags[i] = flag.flat<bool>()[0];
    }
    const auto [adds_bos, adds_eos, reverses] = flags;
    ASSIGN_OR_RETURN(const Encoder encoder, Encoder::Read(ctx.input(0)));
    std::vector<int64_t> ids, lengths;
    for (const std::string& text : ctx.input(1).flat<std::string>()) {
      const size_t before = ids.size();
      if (adds_eos) ids.push_back(encoder.eos());
      encoder.AppendFromTheEnd(text, &ids);
      if (adds_bos) ids.push_back(encoder.bos());
      if (!reverses) std::reverse(ids.begin() + static_cast<int64_t>(before), ids.end());
      lengths.push_back(static_cast<int64_t>(ids.size() - before));
    }
    RETURN_IF_ERROR(WriteVector<int32_t>(ctx, 0, ids));
    return VisitIndexType(ctx.output_type(1),
                          [&]<typename Splits>() { return WriteSplits<Splits>(ctx, 1, lengths); });
  }
};
REGISTER_KERNEL("TFText>FastSentencepieceTokenize", kCpu, FastSentencepieceTokenizeKernel)
    .TypeConstraint("out_type", {DType::kInt32});

// Inputs: the decoder's model, ids, and row splits. Output: a text for each row.
// Errors: INVALID_ARGUMENT for what is no model, and for splits that are none; INTERNAL for an id
// out of range, and for another version.
class FastSentencepieceDetokenizeKernel final : public OpKernel {
 public:
  explicit FastSentencepieceDetokenizeKernel(const KernelBuild&) {}

  absl::Status Compute(KernelContext& ctx) override {
    enum Field : int { kVersion = 0, kOffset = 1, kPieces = 2, kRemovesSpace = 5 };
    ASSIGN_OR_RETURN(const FlatTable model, FlatTable::Root(BytesOf(ctx.input(0))));
    if (model.Scalar<int8_t>(kVersion, 0) != 0) {
      return absl::InternalError("the model has an unknown version");
    }
    const int64_t offset = model.Scalar<int32_t>(kOffset, 0);
    const bool removes_space = model.Scalar<uint8_t>(kRemovesSpace, 0) != 0;
    ASSIGN_OR_RETURN(const auto pieces, model.Vector<uint32_t>(kPieces));
    const auto ids = ctx.input(1).flat<int32_t>();
    ASSIGN_OR_RETURN(const std::vector<int64_t> splits,
                     ReadRowSplits(ctx.input(2), static_cast<int64_t>(ids.size()), "input_splits"));
    ASSIGN_OR_RETURN(Tensor* const output,
                     ctx.AllocateOutput(0, Shape{static_cast<int64_t>(splits.size()) - 1}));
    for (size_t row = 0; row + 1 < splits.size(); ++row) {
      std::string& text = output->data<std::string>()[row];
      for (int64_t i = splits[row]; i < splits[row + 1]; ++i) {
        const int64_t id = ids[i] - offset;
        if (id < 0 || id >= pieces.size) {
          return absl::InternalError(absl::StrCat("there is no piece ", ids[i], " among ",
                                                  pieces.size, " from ", offset, " on"));
        }
        ASSIGN_OR_RETURN(absl::string_view piece,
                         model.StringOf(pieces, static_cast<uint32_t>(id)));
        piece = piece.substr(0, piece.find('\0'));
        if (removes_space && i == splits[row]) absl::ConsumePrefix(&piece, " ");
        absl::StrAppend(&text, piece);
      }
    }
    return absl::OkStatus();
  }
};
REGISTER_KERNEL("TFText>FastSentencepieceDetokenize", kCpu, FastSentencepieceDetokenizeKernel);

}  // namespace
}  // namespace tessera

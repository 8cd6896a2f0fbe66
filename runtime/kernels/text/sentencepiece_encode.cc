// How a SentencepieceModel cuts text: the two algorithms.
#include <algorithm>
#include <queue>

#include "runtime/kernels/text/sentencepiece_model.h"
#include "unicode/utf8.h"

namespace tessera {
namespace {

// The bytes of the character that the text, which is not empty, begins with.
size_t CharacterSize(absl::string_view text) {
  int32_t size = 0;
  U8_FWD_1(text.data(), size, static_cast<int32_t>(text.size()));
  return static_cast<size_t>(size);
}

}  // namespace

std::vector<SentencepieceModel::Part> SentencepieceModel::EncodeUnigram(
    absl::string_view text) const {
  constexpr float kUnknownPenalty = 10;
  // The best way to cut what is before a byte: its score, and the last part.
  struct Best {
    float score = 0;
    size_t begin = 0;
    int32_t id = -1;  // -1: there is none
  };
  std::vector<Best> ends(text.size() + 1);
  const auto offer = [&](size_t begin, size_t end, float score, int32_t id) {
    const float total = score + ends[begin].score;
    if (ends[end].id < 0 || total > ends[end].score) ends[end] = {total, begin, id};
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t character = CharacterSize(text.substr(begin));
    const size_t most = std::min(longest_, text.size() - begin);
    bool is_known = false;
    for (size_t size = 1; size <= most; ++size) {
      const auto it = in_text_.find(text.substr(begin, size));
      if (it == in_text_.end() || KindOf(it->second) == Kind::kUnused) continue;
      // What the user has defined is always taken.
      const float score = KindOf(it->second) == Kind::kUserDefined
                              ? static_cast<float>(size) * largest_score_ - 0.1f
                              : spec_.pieces[static_cast<size_t>(it->second)].score;
      offer(begin, begin + size, score, it->second);
      is_known = is_known || size == character;
    }
    if (!is_known) offer(begin, begin + character, least_score_ - kUnknownPenalty, unknown_);
    begin += character;
  }
  std::vector<Part> parts;
  for (size_t end = text.size(); end > 0; end = ends[end].begin) {
    parts.push_back({text.substr(ends[end].begin, end - ends[end].begin), ends[end].id});
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

// Symbols in a list, from characters to pieces.
class SentencepieceModel::BpeMerger {
 public:
  BpeMerger(const SentencepieceModel& model, absl::string_view text) : model_(model) {
    for (size_t at = 0; at < text.size();) {
      const size_t defined = model.normalizer_->UserDefinedPrefix(text.substr(at));
      const size_t size = defined > 0 ? defined : CharacterSize(text.substr(at));
      const int index = static_cast<int>(symbols_.size());
      symbols_.push_back({text.substr(at, size), index - 1, index + 1, defined > 0});
      at += size;
    }
    if (!symbols_.empty()) symbols_.back().next = -1;
  }

  std::vector<Part> Merge() {
    for (size_t i = 1; i < symbols_.size(); ++i)
      Consider(static_cast<int>(i) - 1, static_cast<int>(i));
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      Symbol& left = symbols_[pair.left];
      Symbol& right = symbols_[pair.right];
      // One of them may have become part of another symbol since.
      if (left.text.empty() || right.text.empty() ||
          left.text.size() + right.text.size() != pair.size) {
        continue;
      }
      left.text = absl::string_view(left.text.data(), pair.size);
      right.text = {};
      left.next = right.next;
      if (left.next >= 0) symbols_[left.next].previous = pair.left;
      Consider(left.previous, pair.left);
      Consider(pair.left, left.next);
    }
    std::vector<Part> parts;
    for (int i = symbols_.empty() ? -1 : 0; i >= 0; i = symbols_[i].next) {
      AddPart(symbols_[i].text, &parts);
    }
    return parts;
  }

 private:
  struct Symbol {
    absl::string_view text;  // empty: it is part of another one
    int previous, next;      // -1 at the ends
    bool is_fixed;           // defined by the user
  };
  struct Pair {
    int left, right;
    float score;
    size_t size;
    // True if `other` comes first: the higher score, of equal ones what stands before.
    bool operator<(const Pair& other) const {
      return score < other.score || (score == other.score && left > other.left);
    }
  };

  void Consider(int left, int right) {
    if (left < 0 || right < 0 || symbols_[left].is_fixed || symbols_[right].is_fixed) return;
    const absl::string_view first = symbols_[left].text, second = symbols_[right].text;
    const absl::string_view joined(first.data(), first.size() + second.size());
    const auto it = model_.in_text_.find(joined);
    if (it == model_.in_text_.end()) return;
    pairs_.push(
        {left, right, model_.spec_.pieces[static_cast<size_t>(it->second)].score, joined.size()});
    // A piece that is not used may be merged further, but is taken apart again if it is left over.
    if (model_.KindOf(it->second) == Kind::kUnused) halves_[joined] = {first, second};
  }

  void AddPart(absl::string_view text, std::vector<Part>* parts) const {
    const auto it = model_.in_text_.find(text);
    const auto halves = halves_.find(text);
    if (it != model_.in_text_.end() && model_.KindOf(it->second) == Kind::kUnused &&
        halves != halves_.end()) {
      AddPart(halves->second.first, parts);
      AddPart(halves->second.second, parts);
      return;
    }
    parts->push_back({text, it == model_.in_text_.end() ? model_.IdOf(text) : it->second});
  }

  const SentencepieceModel& model_;
  std::vector<Symbol> symbols_;
  std::priority_queue<Pair> pairs_;
  absl::flat_hash_map<absl::string_view, std::pair<absl::string_view, absl::string_view>> halves_;
};

std::vector<SentencepieceModel::Part> SentencepieceModel::EncodeBpe(absl::string_view text) const {
  return BpeMerger(*this, text).Merge();
}

}  // namespace tessera

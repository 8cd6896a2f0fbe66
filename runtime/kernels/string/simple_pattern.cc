#include "runtime/kernels/string/simple_pattern.h"

#include <cstddef>

namespace tessera {
namespace {

using Characters = std::bitset<256>;

// Characters that stand for more than themselves, or do so in some places.
constexpr absl::string_view kSpecial = "\\.+*?()|[]{}^$";

bool IsAscii(char c) { return static_cast<unsigned char>(c) < 128; }
bool IsSpecial(char c) { return kSpecial.find(c) != absl::string_view::npos; }

void AddRange(char first, char last, Characters* set) {
  for (int c = first; c <= last; ++c) set->set(static_cast<size_t>(c));
}

// Takes the class that an escape names, or the character that it makes an ordinary one.
std::optional<Characters> TakeEscape(absl::string_view* pattern) {
  if (pattern->size() < 2) return std::nullopt;
  const char name = (*pattern)[1];
  pattern->remove_prefix(2);
  Characters set;
  if (name == 'd' || name == 'w') AddRange('0', '9', &set);
  if (name == 'w') {
    AddRange('A', 'Z', &set);
    AddRange('a', 'z', &set);
    set.set('_');
  }
  if (IsSpecial(name)) set.set(static_cast<size_t>(name));
  if (set.none()) return std::nullopt;
  return set;
}

// Takes a list of characters and ranges in brackets.
std::optional<Characters> TakeBrackets(absl::string_view* pattern) {
  const size_t end = pattern->find(']');
  if (end == absl::string_view::npos) return std::nullopt;
  absl::string_view list = pattern->substr(1, end - 1);
  pattern->remove_prefix(end + 1);
  Characters set;
  while (!list.empty()) {
    const bool is_range = list.size() >= 3 && list[1] == '-';
    const char first = list[0], last = is_range ? list[2] : first;
    for (const char c : {first, last}) {
      if (!IsAscii(c) || IsSpecial(c) || c == '-') return std::nullopt;
    }
    if (first > last) return std::nullopt;
    AddRange(first, last, &set);
    list.remove_prefix(is_range ? 3 : 1);
  }
  if (set.none()) return std::nullopt;
  return set;
}

std::optional<Characters> TakeCharacters(absl::string_view* pattern) {
  const char first = pattern->front();
  if (first == '\\') return TakeEscape(pattern);
  if (first == '[') return TakeBrackets(pattern);
  if (!IsAscii(first) || IsSpecial(first)) return std::nullopt;
  pattern->remove_prefix(1);
  return Characters().set(static_cast<size_t>(first));
}

}  // namespace

std::optional<SimplePattern> SimplePattern::Parse(absl::string_view pattern) {
  SimplePattern parsed;
  while (!pattern.empty()) {
    const std::optional<Characters> characters = TakeCharacters(&pattern);
    if (!characters) return std::nullopt;
    Item item{.characters = *characters};
    const char quantifier = pattern.empty() ? '\0' : pattern.front();
    if (quantifier == '?' || quantifier == '*' || quantifier == '+') {
      item.is_optional = quantifier != '+';
      item.repeats = quantifier != '?';
      pattern.remove_prefix(1);  // one more of them is a special character, which ends the parse
    }
    parsed.items_.push_back(item);
  }
  if (!parsed.IsOneWay()) return std::nullopt;
  return parsed;
}

bool SimplePattern::IsOneWay() const {
  for (size_t i = 0; i < items_.size(); ++i) {
    if (!items_[i].is_optional && !items_[i].repeats) continue;
    for (size_t next = i + 1; next < items_.size(); ++next) {
      if ((items_[i].characters & items_[next].characters).any()) return false;
      if (!items_[next].is_optional) break;
    }
  }
  return true;
}

bool SimplePattern::FullMatch(absl::string_view text) const {
  const char* at = text.data();
  const char* const end = at + text.size();
  for (const Item& item : items_) {
    const auto fits = [&] { return at != end && item.characters[static_cast<unsigned char>(*at)]; };
    if (fits()) {
      ++at;
      while (item.repeats && fits()) ++at;
    } else if (!item.is_optional) {
      return false;
    }
  }
  return at == end;
}

}  // namespace tessera

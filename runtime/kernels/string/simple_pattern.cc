#include "runtime/kernels/string/simple_pattern.h"

#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

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

// Returns the class that \d, \s or \w names.
std::optional<Characters> NamedClass(char name) {
  Characters set;
  switch (name) {
    case 'w':
      AddRange('A', 'Z', &set);
      AddRange('a', 'z', &set);
      set.set('_');
      [[fallthrough]];
    case 'd':
      AddRange('0', '9', &set);
      return set;
    case 's':
      for (const char c : {'\t', '\n', '\f', '\r', ' '}) set.set(static_cast<size_t>(c));
      return set;
    default:
      return std::nullopt;
  }
}

// Takes the character that an escape makes an ordinary one.
std::optional<char> TakeEscapedCharacter(absl::string_view* pattern) {
  if (pattern->size() < 2 || !absl::ascii_ispunct((*pattern)[1]) || (*pattern)[1] == '_') {
    return std::nullopt;
  }
  const char c = (*pattern)[1];
  pattern->remove_prefix(2);
  return c;
}

// Takes the class or the character that an escape stands for.
std::optional<Characters> TakeEscape(absl::string_view* pattern) {
  if (pattern->size() >= 2) {
    if (const std::optional<Characters> set = NamedClass((*pattern)[1])) {
      pattern->remove_prefix(2);
      return set;
    }
  }
  const std::optional<char> c = TakeEscapedCharacter(pattern);
  if (!c) return std::nullopt;
  return Characters().set(static_cast<size_t>(*c));
}

// Takes a character of a list in brackets.
std::optional<char> TakeListed(absl::string_view* list) {
  if (list->empty() || !IsAscii(list->front())) return std::nullopt;
  const char c = list->front();
  if (c == '\\') return TakeEscapedCharacter(list);
  if (absl::StartsWith(*list, "[:")) return std::nullopt;
  list->remove_prefix(1);
  return c;
}

// Takes a list of characters, ranges and classes in brackets. It may neither be negated nor begin
// with its closing bracket.
std::optional<Characters> TakeBrackets(absl::string_view* pattern) {
  pattern->remove_prefix(1);
  if (pattern->empty() || pattern->front() == '^' || pattern->front() == ']') return std::nullopt;
  Characters set;
  while (!pattern->empty() && pattern->front() != ']') {
    if (pattern->size() >= 2 && pattern->front() == '\\') {
      if (const std::optional<Characters> named = NamedClass((*pattern)[1])) {
        set |= *named;
        pattern->remove_prefix(2);
        continue;
      }
    }
    const std::optional<char> first = TakeListed(pattern);
    if (!first) return std::nullopt;
    std::optional<char> last = first;
    if (pattern->size() >= 2 && pattern->front() == '-' && (*pattern)[1] != ']') {
      pattern->remove_prefix(1);
      last = TakeListed(pattern);
      if (!last || *last < *first) return std::nullopt;
    }
    AddRange(*first, *last, &set);
  }
  if (pattern->empty()) return std::nullopt;
  pattern->remove_prefix(1);
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

SimplePattern::SimplePattern(std::vector<Item> items)
    : items_(std::move(items)), can_replace_(IsQuicklySearched()) {
  if (items_.empty() || items_[0].characters.count() != 1) return;
  first_character_ = static_cast<char>(items_[0].characters._Find_first());
}

std::optional<SimplePattern> SimplePattern::Parse(absl::string_view pattern) {
  std::vector<Item> items;
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
    items.push_back(item);
  }
  SimplePattern parsed(std::move(items));
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

bool SimplePattern::IsQuicklySearched() const {
  constexpr size_t kMaxItems = 16;  // that are compared with the text again at the next place
  if (items_.empty() || items_.size() > kMaxItems || items_[0].is_optional) return false;
  for (size_t i = 1; i + 1 < items_.size(); ++i) {
    if (items_[i].repeats) return false;
  }
  return true;
}

SimplePattern::Attempt SimplePattern::MatchAt(const char* at, const char* end) const {
  const char* next = at == end ? end : at + 1;
  for (size_t i = 0; i < items_.size(); ++i) {
    const Item& item = items_[i];
    const auto fits = [&] { return at != end && item.characters[static_cast<unsigned char>(*at)]; };
    if (fits()) {
      ++at;
      while (item.repeats && fits()) ++at;
      // A match that begins later in the run of the first item would go on as this one does.
      if (i == 0) next = at;
    } else if (!item.is_optional) {
      return {.matches = false, .end = at, .next = next};
    }
  }
  return {.matches = true, .end = at, .next = next};
}

bool SimplePattern::FullMatch(absl::string_view text) const {
  const char* const end = text.data() + text.size();
  const Attempt attempt = MatchAt(text.data(), end);
  return attempt.matches && attempt.end == end;
}

const char* SimplePattern::FindFirstItem(const char* at, const char* end) const {
  if (first_character_) {
    const void* const found = std::memchr(at, *first_character_, static_cast<size_t>(end - at));
    return found == nullptr ? end : static_cast<const char*>(found);
  }
  while (at != end && !items_[0].characters[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

std::string SimplePattern::Replace(absl::string_view text, absl::string_view replacement,
                                   bool all) const {
  std::string replaced;
  replaced.reserve(text.size() + replacement.size());
  const char* copied = text.data();  // up to here
  const char* const end = copied + text.size();
  const char* at = copied;
  while ((at = FindFirstItem(at, end)) != end) {
    const Attempt attempt = MatchAt(at, end);
    if (!attempt.matches) {
      at = attempt.next;
      continue;
    }
    replaced.append(copied, at);
    replaced.append(replacement.data(), replacement.size());
    copied = at = attempt.end;
    if (!all) break;
  }
  replaced.append(copied, end);
  return replaced;
}

}  // namespace tessera

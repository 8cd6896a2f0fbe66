// Regular expressions that need no automaton.
#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

// A sequence of sets of ASCII characters, each to be found once or as often as its quantifier
// says: `word[0-9]+`, `\d*-[A-Z]?`. It is matched in one pass over the text, without steps back,
// since a character that a repeated set takes cannot belong to what follows it.
class SimplePattern {
 public:
  // Returns nothing for a pattern that says more, or in which the end of a repetition depends on
  // what comes later, as in `a*ab`.
  static std::optional<SimplePattern> Parse(absl::string_view pattern);

  // Whether the text as a whole matches.
  bool FullMatch(absl::string_view text) const;

  // Whether Replace() can be called: some character belongs to every match, and the time that a
  // search takes is in proportion to the text, as that of an automaton is. Only the first and the
  // last set may be repeated then.
  bool can_replace() const { return can_replace_; }

  // Returns the text with `replacement`, which is taken as it is, in the place of the first match,
  // or of all. Matches are found from left to right, and each is as long as it can be.
  std::string Replace(absl::string_view text, absl::string_view replacement, bool all) const;

 private:
  using Characters = std::bitset<256>;
  struct Item {
    Characters characters;
    bool is_optional = false;  // ? and *
    bool repeats = false;      // + and *
  };
  // A place in the text where the pattern was looked for.
  struct Attempt {
    bool matches;
    const char* end;   // of the match
    const char* next;  // the first place where a match may begin if none begins here
  };

  explicit SimplePattern(std::vector<Item> items);
  bool IsOneWay() const;
  bool IsQuicklySearched() const;

  Attempt MatchAt(const char* at, const char* end) const;
  // Returns the first place from `at` on where the first item fits, `end` if there is none.
  const char* FindFirstItem(const char* at, const char* end) const;

  std::vector<Item> items_;
  bool can_replace_;
  std::optional<char> first_character_;  // if the first item is a single one
};

}  // namespace tessera

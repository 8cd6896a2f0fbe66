// Regular expressions that need no automaton.
#pragma once

#include <bitset>
#include <optional>
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

 private:
  struct Item {
    std::bitset<256> characters;
    bool is_optional = false;  // ? and *
    bool repeats = false;      // + and *
  };

  SimplePattern() = default;
  bool IsOneWay() const;

  std::vector<Item> items_;
};

}  // namespace tessera

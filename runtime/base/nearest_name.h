// Suggests a name for one that nobody knows.
#pragma once

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace tessera {

// Returns "; did you mean 'NAME'?" with the only name of `known` that begins with `name`, if that
// has three letters or more, and else with the one that takes the fewest changes of single letters;
// or an empty text if every one differs in more than half of the letters of `name`.
std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known);

}  // namespace tessera

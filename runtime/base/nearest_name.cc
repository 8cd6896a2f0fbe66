#include "runtime/base/nearest_name.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace tessera {
namespace {

// Returns the Levenshtein distance: insertions, deletions and replacements from `a` to `b`.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

// Returns the only name that begins with `name`, or the end of `known` if there are none or more.
// Few letters tell too little.
std::vector<std::string>::const_iterator OnlyCompletion(absl::string_view name,
                                                        const std::vector<std::string>& known) {
  constexpr size_t kFewestLetters = 3;
  if (name.size() < kFewestLetters) return known.end();
  const auto completes = [name](const std::string& other) { return absl::StartsWith(other, name); };
  const auto found = std::find_if(known.begin(), known.end(), completes);
  if (found == known.end()) return found;
  return std::any_of(found + 1, known.end(), completes) ? known.end() : found;
}

}  // namespace

std::string DidYouMean(absl::string_view name, const std::vector<std::string>& known) {
  const auto did_you_mean = [](const std::string& other) {
    return absl::StrCat("; did you mean '", other, "'?");
  };
  const auto completion = OnlyCompletion(name, known);
  if (completion != known.end()) return did_you_mean(*completion);
  const auto nearest = std::min_element(
      known.begin(), known.end(),
      [&](const auto& a, const auto& b) { return EditDistance(name, a) < EditDistance(name, b); });
  // A name that differs in more than half of its letters would only confuse.
  if (nearest == known.end() || EditDistance(name, *nearest) > (name.size() + 1) / 2) return "";
  return did_you_mean(*nearest);
}

}  // namespace tessera

// The target of an HTTP request: its path and its query.
#pragma once

#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace tessera::serving {

// Returns "/a?b" for "/a?b" and for "http://host:1/a?b".
absl::string_view WithoutAuthority(absl::string_view target);

// Returns "/a" for "/a?b=c" and for "http://host:1/a?b=c", with percent signs as they came.
absl::string_view PathOfTarget(absl::string_view target);

// Returns the value of the first parameter of this name in the query, decoded: "x y" of "v" for
// "/a?u=1&v=x%20y". "" for a parameter without a value; nullopt if there is none of this name.
std::optional<std::string> QueryParameter(absl::string_view target, absl::string_view name);

// Decodes percent-encoding: "a%2Fb" becomes "a/b". A '%' without two hexadecimal digits after it
// stays as it is, and so does '+'.
std::string PercentDecode(absl::string_view text);

}  // namespace tessera::serving

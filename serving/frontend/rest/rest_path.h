// Which model, and what of it, the path of a REST request names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// `GET /v1/models/m/labels/stable/metadata` is {.model = "m", .label = "stable",
// .action = "metadata"}.
struct RestTarget {
  // Names are percent-decoded. The model's is empty for `GET /v1/models`.
  std::string model;
  std::optional<int64_t> version;
  std::optional<std::string> label;
  // "predict", "classify" or "regress" of POST, as the path spells it: the words of a path may be
  // in any letter case, but there is no action of another case. "metadata", as spelt too, or
  // "status" of GET.
  std::string action;
};

// Matches the whole path, a query included: there is none in this API.
//   POST /v1/models/NAME[/versions/N | /labels/L]:(predict|classify|regress)
//   GET  /v1/models[/NAME][/versions/N | /labels/L][/metadata]
// Errors: INVALID_ARGUMENT "Malformed request: METHOD PATH", or for a version beyond int64.
absl::StatusOr<RestTarget> ParseRestPath(absl::string_view method, absl::string_view path);

// "a%2Fb" -> "a/b". What is no two hexadecimal digits after a '%' stays as it is, and so does '+'.
std::string PercentDecode(absl::string_view text);

}  // namespace tessera::serving

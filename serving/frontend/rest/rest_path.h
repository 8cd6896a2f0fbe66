// Parses the path of a REST request.
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
  // Percent-decoded. Empty for `GET /v1/models`.
  std::string model;
  std::optional<int64_t> version;
  std::optional<std::string> label;
  // For POST the action in the path, for GET "metadata" or "status". The words of a path match in
  // any letter case, but this is the action as the path spells it, and only the spellings
  // "predict", "classify", "regress" and "metadata" exist.
  std::string action;
};

// Parses a path. A query is part of it, and makes it malformed, because this API has none.
//   POST /v1/models/NAME[/versions/N | /labels/L]:(predict|classify|regress)
//   GET  /v1/models[/NAME][/versions/N | /labels/L][/metadata]
// Errors: INVALID_ARGUMENT "Malformed request: METHOD PATH", or for a version beyond int64.
absl::StatusOr<RestTarget> ParseRestPath(absl::string_view method, absl::string_view path);

}  // namespace tessera::serving

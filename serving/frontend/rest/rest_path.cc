#include "serving/frontend/rest/rest_path.h"

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "runtime/base/status.h"
#include "serving/frontend/http/http_target.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kModels = "/v1/models";

bool ConsumeWord(absl::string_view word, absl::string_view* rest) {
  if (!absl::StartsWithIgnoreCase(*rest, word)) return false;
  rest->remove_prefix(word.size());
  return true;
}

// Consumes "/NAME" from the front. A name contains neither '/' nor ':'.
bool ConsumeName(absl::string_view* rest, absl::string_view* name) {
  if (rest->empty() || rest->front() != '/') return false;
  const size_t end = std::min(rest->find_first_of("/:", 1), rest->size());
  if (end == 1) return false;
  *name = rest->substr(1, end - 1);
  rest->remove_prefix(end);
  return true;
}

// The parts of a path, unparsed.
struct Parts {
  absl::string_view model;
  absl::string_view version;
  absl::string_view label;
  absl::string_view action;
};

// Consumes "/versions/N" or "/labels/L" from the front if there is one.
void ConsumeChoice(absl::string_view* rest, Parts* parts) {
  absl::string_view after = *rest;
  if (ConsumeWord("/versions", &after) && ConsumeName(&after, &parts->version)) {
    const bool is_number =
        parts->version.find_first_not_of("0123456789") == absl::string_view::npos;
    if (is_number) {
      *rest = after;
      return;
    }
  }
  parts->version = {};
  after = *rest;
  if (ConsumeWord("/labels", &after) && ConsumeName(&after, &parts->label)) *rest = after;
}

bool MatchPost(absl::string_view rest, Parts* parts) {
  if (!ConsumeName(&rest, &parts->model)) return false;
  ConsumeChoice(&rest, parts);
  if (rest.empty() || rest.front() != ':') return false;
  parts->action = rest.substr(1);
  return absl::EqualsIgnoreCase(parts->action, "predict") ||
         absl::EqualsIgnoreCase(parts->action, "classify") ||
         absl::EqualsIgnoreCase(parts->action, "regress");
}

bool MatchGet(absl::string_view rest, bool with_name, Parts* parts) {
  if (with_name && !ConsumeName(&rest, &parts->model)) return false;
  ConsumeChoice(&rest, parts);
  if (rest.empty()) {
    parts->action = "status";
    return true;
  }
  parts->action = rest.substr(1);
  return absl::EqualsIgnoreCase(rest, "/metadata");
}

bool Match(absl::string_view method, absl::string_view path, Parts* parts) {
  if (!ConsumeWord(kModels, &path)) return false;
  if (method == "POST") return MatchPost(path, parts);
  if (method != "GET") return false;
  // "/v1/models/labels/x" is a label without a model, because "/x" cannot follow the name "labels".
  if (MatchGet(path, /*with_name=*/true, parts)) return true;
  *parts = Parts();
  return MatchGet(path, /*with_name=*/false, parts);
}

}  // namespace

absl::StatusOr<RestTarget> ParseRestPath(absl::string_view method, absl::string_view path) {
  Parts parts;
  if (!Match(method, path, &parts)) {
    return absl::InvalidArgumentError(absl::StrCat("Malformed request: ", method, " ", path));
  }
  RestTarget target{.model = PercentDecode(parts.model), .action = std::string(parts.action)};
  if (!parts.version.empty()) {
    int64_t version;
    if (!absl::SimpleAtoi(parts.version, &version)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Failed to convert version: ", parts.version, " to numeric."));
    }
    target.version = version;
  }
  if (!parts.label.empty()) target.label = PercentDecode(parts.label);
  return target;
}

}  // namespace tessera::serving

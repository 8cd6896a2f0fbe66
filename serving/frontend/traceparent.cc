#include "serving/frontend/traceparent.h"

#include <cstddef>

#include "absl/strings/match.h"

namespace tessera::serving {
namespace {

// The fields "VERSION-TRACE_ID-PARENT_ID-FLAGS" have fixed sizes.
constexpr size_t kVersionSize = 2;
constexpr size_t kTraceIdSize = 32;
constexpr size_t kParentIdSize = 16;
constexpr size_t kFlagsSize = 2;

bool IsHex(absl::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
}

bool IsZero(absl::string_view text) {
  return text.find_first_not_of('0') == absl::string_view::npos;
}

// Takes a field of this size, and the dash before it, off the front of `text`. Returns "" if there
// is no such field.
absl::string_view TakeField(size_t size, absl::string_view* text) {
  if (text->size() < size + 1 || text->front() != '-') return {};
  const absl::string_view field = text->substr(1, size);
  text->remove_prefix(size + 1);
  return IsHex(field) ? field : absl::string_view();
}

}  // namespace

absl::string_view TraceIdOf(absl::string_view traceparent) {
  const absl::string_view version = traceparent.substr(0, kVersionSize);
  if (version.size() < kVersionSize || !IsHex(version) || version == "ff") return {};
  absl::string_view rest = traceparent.substr(kVersionSize);
  const absl::string_view trace_id = TakeField(kTraceIdSize, &rest);
  const absl::string_view parent_id = TakeField(kParentIdSize, &rest);
  const absl::string_view flags = TakeField(kFlagsSize, &rest);
  if (IsZero(trace_id) || IsZero(parent_id) || flags.empty()) return {};
  const bool ends_well =
      version == "00" ? rest.empty() : rest.empty() || absl::StartsWith(rest, "-");
  return ends_well ? trace_id : absl::string_view();
}

}  // namespace tessera::serving

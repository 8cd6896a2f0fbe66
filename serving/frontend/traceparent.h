// The header `traceparent`, by which callers tell which distributed trace a request belongs to.
// W3C Recommendation "Trace Context", section 3.2: https://www.w3.org/TR/trace-context/
#pragma once

#include "absl/strings/string_view.h"

namespace tessera::serving {

inline constexpr absl::string_view kTraceparent = "traceparent";

// Returns the trace ID, 32 lower-case hexadecimal digits, as a view of the header's value. Returns
// "" if the value is malformed, which then counts as absent: a version other than 00 may have more
// fields after the four known ones, ff is no version, and IDs of zeros alone are invalid.
absl::string_view TraceIdOf(absl::string_view traceparent);

}  // namespace tessera::serving

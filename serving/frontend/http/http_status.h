// The numbers of HTTP's statuses.
#pragma once

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Returns the HTTP status for a code, as TensorFlow Serving's REST API maps them: 404 for
// NOT_FOUND.
int HttpStatusOf(absl::StatusCode code);

// Returns the reason phrase of a status: "Not Found" for 404.
absl::string_view HttpReasonPhrase(int status);

}  // namespace tessera::serving

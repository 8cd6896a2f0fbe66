// Inflates request bodies that are encoded with gzip or deflate.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Sets *out to the contents of gzip data, which may have several members. Takes no more memory than
// is needed for growing *out to `max_bytes`. Errors: INVALID_ARGUMENT if the data is no gzip data,
// ends early, has trailing bytes, or makes more than `max_bytes` of output; RESOURCE_EXHAUSTED if
// there is no memory to inflate it. After an error *out is empty.
absl::Status InflateGzip(absl::string_view compressed, size_t max_bytes, std::string* out);
// Does the same for data in the zlib format, which is what HTTP calls deflate.
absl::Status InflateZlib(absl::string_view compressed, size_t max_bytes, std::string* out);

}  // namespace tessera::serving

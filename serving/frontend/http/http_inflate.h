// gzip, as request bodies may be encoded.
#pragma once

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace tessera::serving {

// Sets *out to what gzip data stands for; several members count as one. Memory stays within
// `max_bytes` and what it takes to grow to that.
// Errors: INVALID_ARGUMENT for what is no gzip data, ends early, or has more bytes behind it;
// RESOURCE_EXHAUSTED for more than `max_bytes` of output. *out is empty then.
absl::Status InflateGzip(absl::string_view compressed, size_t max_bytes, std::string* out);

}  // namespace tessera::serving

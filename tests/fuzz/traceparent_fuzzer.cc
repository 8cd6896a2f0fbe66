// Any bytes as the header `traceparent`: what is read of it is "", or a trace ID of 32 lower-case
// hexadecimal digits at its place in the header.
#include <cstddef>
#include <cstdint>

#include "absl/strings/string_view.h"
#include "runtime/base/logging.h"
#include "serving/frontend/traceparent.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view value(reinterpret_cast<const char*>(data), size);
  const absl::string_view id = tessera::serving::TraceIdOf(value);
  if (id.empty()) return 0;
  CHECK(value.size() >= 55 && id.data() == value.data() + 3 && id.size() == 32);
  CHECK(id.find_first_not_of("0123456789abcdef") == absl::string_view::npos);
  CHECK(id.find_first_not_of('0') != absl::string_view::npos);
  return 0;
}

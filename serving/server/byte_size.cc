#include "serving/server/byte_size.h"

#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kPrefixes = "kmgt";

// Returns the bytes in a unit, which is in lower case; 0 if there is no such unit.
double BytesInUnit(absl::string_view unit) {
  absl::ConsumeSuffix(&unit, "b");
  if (unit.empty()) return 1;
  const size_t power = kPrefixes.find(unit.front());
  if (power == kPrefixes.npos) return 0;
  unit.remove_prefix(1);
  const double base = unit == "i" ? 1024 : 1000;
  if (unit != "i" && !unit.empty()) return 0;
  double bytes = base;
  for (size_t i = 0; i < power; ++i) bytes *= base;
  return bytes;
}

}  // namespace

absl::StatusOr<int64_t> ParseByteSize(absl::string_view text) {
  const size_t end = text.find_first_not_of("0123456789.");
  const absl::string_view number = text.substr(0, end);
  const std::string unit =
      absl::AsciiStrToLower(absl::StripAsciiWhitespace(end == text.npos ? "" : text.substr(end)));
  double value = 0;
  const double bytes_in_unit = BytesInUnit(unit);
  if (bytes_in_unit == 0 || !absl::SimpleAtod(number, &value) || value * bytes_in_unit < 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no size; write a number of bytes, or 512MiB, 6GiB, 1.5GB"));
  }
  const double bytes = value * bytes_in_unit;
  if (bytes >= 9223372036854775808.0) {
    return absl::InvalidArgumentError(absl::StrCat("'", text, "' is more than any memory"));
  }
  return static_cast<int64_t>(bytes);
}

}  // namespace tessera::serving

#include "runtime/session/numerics_name.h"

#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<Numerics> ParseNumerics(absl::string_view name) {
  if (name == "fast") return Numerics::kFast;
  if (name == "strict") return Numerics::kStrict;
  return absl::InvalidArgumentError(
      absl::StrCat("numerics is '", name, "'; it must be fast or strict"));
}

}  // namespace tessera

#include "runtime/kernels/string/shared_regex.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace tessera {

absl::StatusOr<std::shared_ptr<SharedRegex>> SharedRegex::Make(const std::string& pattern) {
  auto first = std::make_unique<RE2>(pattern, RE2::Quiet);
  if (first->ok()) return std::shared_ptr<SharedRegex>(new SharedRegex(std::move(first)));
  return absl::InvalidArgumentError(
      absl::StrCat("invalid regular expression '", pattern, "': ", first->error()));
}

SharedRegex::SharedRegex(std::unique_ptr<RE2> first)
    : pattern_(first->pattern()), simple_(SimplePattern::Parse(pattern_)) {
  Give(std::move(first));
}

std::unique_ptr<RE2> SharedRegex::Take() {
  {
    absl::MutexLock lock(&mu_);
    if (!idle_.empty()) {
      std::unique_ptr<RE2> idle = std::move(idle_.back());
      idle_.pop_back();
      return idle;
    }
  }
  return std::make_unique<RE2>(pattern_, RE2::Quiet);
}

void SharedRegex::Give(std::unique_ptr<RE2> copy) {
  absl::MutexLock lock(&mu_);
  idle_.push_back(std::move(copy));
}

}  // namespace tessera

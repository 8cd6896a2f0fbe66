// BearerTokens: who may speak to the admin address, by a file of secret tokens.
#pragma once

#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace tessera::serving {

struct BearerToken {
  std::string token;
  absl::Time expires = absl::InfiniteFuture();
};

// Parses the text of a token file:
//
//   # Empty lines and lines that begin with '#' are skipped.
//   TOKEN
//   TOKEN 2026-12-31T23:59:59Z
//
// A token has the characters of RFC 6750: letters, digits, "-._~+/", and "=" at its end. The time
// after it, of RFC 3339, is when it stops to count. Errors: INVALID_ARGUMENT with the number of the
// line, and never with the token, if a line is none of these or there is no token at all.
absl::StatusOr<std::vector<BearerToken>> ParseBearerTokens(absl::string_view text);

// Checks tokens against a file, which is read at each check, so that a token that was added or
// taken out counts at once. Thread-safe.
class BearerTokens {
 public:
  explicit BearerTokens(std::string file) : file_(std::move(file)) {}

  // Errors: those of reading the file, and of ParseBearerTokens().
  absl::StatusOr<std::vector<BearerToken>> Read() const;

  // Takes the value of the header or metadata entry `authorization`, "Bearer TOKEN". How long it
  // takes does not depend on how much of a token is right. Errors: UNAUTHENTICATED for all that is
  // no token of the file, and for one that has expired by `now`. A file with an error, which is
  // logged, has no tokens.
  absl::Status Check(absl::string_view authorization, absl::Time now);

 private:
  const std::string file_;
  absl::Mutex mu_;
  std::string logged_ ABSL_GUARDED_BY(mu_);  // the last error, so that it is logged once
};

}  // namespace tessera::serving

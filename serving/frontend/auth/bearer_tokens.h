// BearerTokens: who may ask, by a file of secret tokens.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "runtime/base/file_backed.h"

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

// Reads a token file. Errors: those of reading the file; those of ParseBearerTokens(), with the
// path.
absl::StatusOr<std::vector<BearerToken>> ReadBearerTokens(const std::string& file);

// Checks tokens against a file, in which a token that is added or taken out counts at once. A file
// that is gone or has an error leaves the tokens that it had, and the log says so. Thread-safe.
class BearerTokens {
 public:
  // `flag` is the one that names the file, as errors tell it: "--token_file". Errors: those of
  // ReadBearerTokens().
  static absl::StatusOr<std::unique_ptr<BearerTokens>> Open(const std::string& file,
                                                            absl::string_view flag);

  // Takes the value of the header or metadata entry `authorization`, "Bearer TOKEN". How long it
  // takes does not depend on how much of a token is right. Errors: UNAUTHENTICATED for all that is
  // no token of the file, and for one that has expired by `now`.
  absl::Status Check(absl::string_view authorization, absl::Time now) const;

  // How often Check() has refused.
  int64_t num_refused() const { return num_refused_.load(std::memory_order_relaxed); }

 private:
  absl::Status Find(absl::string_view authorization, absl::Time now) const;

  using File = FileBacked<std::vector<BearerToken>>;

  BearerTokens(std::unique_ptr<File> file, absl::string_view flag)
      : file_(std::move(file)), flag_(flag) {}

  const std::unique_ptr<File> file_;
  const std::string flag_;
  mutable std::atomic<int64_t> num_refused_{0};
};

}  // namespace tessera::serving

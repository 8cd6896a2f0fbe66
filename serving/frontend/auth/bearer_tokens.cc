#include "serving/frontend/auth/bearer_tokens.h"

#include <filesystem>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

bool IsToken(absl::string_view text) {
  const size_t padding = text.find_last_not_of('=');
  if (padding == absl::string_view::npos) return false;
  for (const char c : text.substr(0, padding + 1)) {
    if (!absl::ascii_isalnum(c) && !absl::StrContains("-._~+/", c)) return false;
  }
  return true;
}

absl::Status ParseLine(absl::string_view line, std::vector<BearerToken>* tokens) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
  if (words.empty() || absl::StartsWith(words[0], "#")) return absl::OkStatus();
  if (!IsToken(words[0])) {
    return absl::InvalidArgumentError(
        "no token: it has letters, digits and -._~+/ alone, and = at its end");
  }
  BearerToken token{.token = std::string(words[0])};
  std::string error;
  if (words.size() > 2 || (words.size() == 2 && !absl::ParseTime(absl::RFC3339_full, words[1],
                                                                 &token.expires, &error))) {
    return absl::InvalidArgumentError(
        "after the token may stand the time at which it expires, such as 2026-12-31T23:59:59Z");
  }
  tokens->push_back(std::move(token));
  return absl::OkStatus();
}

// Takes a time that depends on the length of `given` alone.
bool EqualInConstantTime(absl::string_view given, absl::string_view secret) {
  volatile size_t difference = given.size() ^ secret.size();
  for (size_t i = 0; i < given.size(); ++i) {
    difference = difference | static_cast<size_t>(given[i] ^ secret[i % secret.size()]);
  }
  return difference == 0;
}

}  // namespace

absl::StatusOr<std::vector<BearerToken>> ParseBearerTokens(absl::string_view text) {
  std::vector<BearerToken> tokens;
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    RETURN_IF_ERROR(Annotate(ParseLine(line, &tokens), absl::StrCat("line ", ++number, ": ")));
  }
  if (tokens.empty()) {
    return absl::InvalidArgumentError(
        "no token in it; `openssl rand -hex 32` makes one, which stands on a line of its own");
  }
  return tokens;
}

absl::StatusOr<std::vector<BearerToken>> ReadBearerTokens(const std::string& file) {
  // Reading a pipe would wait, and find nothing the second time.
  if (FileExists(file) && !std::filesystem::is_regular_file(file)) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is no regular file"));
  }
  ASSIGN_OR_RETURN(const std::string text, ReadFile(file));
  auto tokens = ParseBearerTokens(text);
  if (!tokens.ok()) return Annotate(tokens.status(), absl::StrCat(file, ": "));
  return tokens;
}

absl::StatusOr<std::unique_ptr<BearerTokens>> BearerTokens::Open(const std::string& file,
                                                                 absl::string_view flag) {
  ASSIGN_OR_RETURN(std::unique_ptr<File> tokens,
                   File::Open(absl::StrCat("the tokens of ", flag), {file},
                              [file] { return ReadBearerTokens(file); }));
  return std::unique_ptr<BearerTokens>(new BearerTokens(std::move(tokens), flag));
}

absl::Status BearerTokens::Check(absl::string_view authorization, absl::Time now) const {
  absl::Status status = Find(authorization, now);
  if (!status.ok()) num_refused_.fetch_add(1, std::memory_order_relaxed);
  return status;
}

absl::Status BearerTokens::Find(absl::string_view authorization, absl::Time now) const {
  constexpr absl::string_view kScheme = "Bearer ";
  if (!absl::StartsWithIgnoreCase(authorization, kScheme)) {
    return absl::UnauthenticatedError(absl::StrCat(
        "a bearer token is needed: send 'authorization: Bearer TOKEN' with a token of the "
        "server's ",
        flag_));
  }
  const absl::string_view given = absl::StripAsciiWhitespace(authorization.substr(kScheme.size()));
  const std::shared_ptr<const std::vector<BearerToken>> tokens = file_->Get();
  // All tokens are compared, whichever fits.
  const BearerToken* found = nullptr;
  for (const BearerToken& token : *tokens) {
    if (EqualInConstantTime(given, token.token)) found = &token;
  }
  if (found == nullptr) {
    return absl::UnauthenticatedError(
        absl::StrCat("this token is none of those in the server's ", flag_));
  }
  if (found->expires <= now) {
    return absl::UnauthenticatedError(
        absl::StrCat("this token expired at ",
                     absl::FormatTime(absl::RFC3339_sec, found->expires, absl::UTCTimeZone()),
                     ": add a new one to the server's ", flag_));
  }
  return absl::OkStatus();
}

}  // namespace tessera::serving

#include "serving/frontend/http/http_target.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace tessera::serving {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = absl::ascii_tolower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

absl::string_view WithoutAuthority(absl::string_view target) {
  if (absl::StartsWith(target, "/")) return target;
  const size_t authority = target.find("://");
  if (authority == absl::string_view::npos) return target;
  const size_t path = target.find('/', authority + 3);
  return path == absl::string_view::npos ? "/" : target.substr(path);
}

absl::string_view PathOfTarget(absl::string_view target) {
  const absl::string_view path = WithoutAuthority(target);
  return path.substr(0, path.find('?'));
}

std::optional<std::string> QueryParameter(absl::string_view target, absl::string_view name) {
  const size_t query = target.find('?');
  if (query == absl::string_view::npos) return std::nullopt;
  for (const absl::string_view parameter : absl::StrSplit(target.substr(query + 1), '&')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(parameter, absl::MaxSplits('=', 1));
    if (PercentDecode(parts.first) == name) return PercentDecode(parts.second);
  }
  return std::nullopt;
}

std::string PercentDecode(absl::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
      if (high >= 0 && low >= 0) {
        result.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    result.push_back(text[i]);
  }
  return result;
}

}  // namespace tessera::serving

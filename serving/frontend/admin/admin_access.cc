#include "serving/frontend/admin/admin_access.h"

#include <arpa/inet.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/status.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kOwnHeader = "X-Tessera-Admin";
constexpr absl::string_view kTokenFlag = "--admin_token_file";

bool IsIpv4(const std::string& text) {
  in_addr address;
  return inet_pton(AF_INET, text.c_str(), &address) == 1;
}

bool IsIpv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

}  // namespace

bool IsLoopback(const std::string& ip_address) {
  in6_addr v6;
  if (IsIpv4(ip_address)) return absl::StartsWith(ip_address, "127.");
  return inet_pton(AF_INET6, ip_address.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

bool IsAddressHost(absl::string_view host) {
  // An IPv6 address has brackets around it, and its colons are not that of a port.
  const bool has_brackets = absl::ConsumePrefix(&host, "[");
  const size_t end = std::min(host.find(has_brackets ? ']' : ':'), host.size());
  const std::string name(host.substr(0, end));
  host.remove_prefix(end);
  if (has_brackets && !absl::ConsumePrefix(&host, "]")) return false;
  absl::ConsumePrefix(&host, ":");
  const bool has_port_alone = std::all_of(host.begin(), host.end(), absl::ascii_isdigit);
  if (!has_port_alone) return false;
  if (has_brackets) return IsIpv6(name);
  return absl::EqualsIgnoreCase(name, "localhost") || IsIpv4(name);
}

bool IsFromAnotherSite(const HttpRequest& request) {
  const absl::string_view site = request.Header("Sec-Fetch-Site");
  const bool navigates = request.Header("Sec-Fetch-Mode") == "navigate" &&
                         request.Header("Sec-Fetch-Dest") == "document";
  if ((site == "cross-site" || site == "same-site") && !navigates) return true;
  absl::string_view origin = request.Header("Origin");
  if (origin.empty()) return false;
  // A proxy with TLS may stand in front of this address.
  if (!absl::ConsumePrefix(&origin, "http://")) absl::ConsumePrefix(&origin, "https://");
  return origin != request.Header("Host");
}

absl::StatusOr<std::unique_ptr<AdminAccess>> AdminAccess::Make(const std::string& address,
                                                               const std::string& token_file) {
  std::unique_ptr<BearerTokens> tokens;
  if (!token_file.empty()) {
    auto opened = BearerTokens::Open(token_file, kTokenFlag);
    if (!opened.ok()) return Annotate(opened.status(), absl::StrCat(kTokenFlag, ": "));
    tokens = *std::move(opened);
  } else if (!IsIpv4(address) && !IsIpv6(address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--admin_address=", address, " is no IP address; 127.0.0.1 and ::1 are this machine's"));
  } else if (!IsLoopback(address)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--admin_address=", address,
        " lets other machines steer this server: name a file with a secret token by "
        "--admin_token_file (`openssl rand -hex 32 > FILE` makes one), or leave the address at "
        "127.0.0.1"));
  }
  return std::unique_ptr<AdminAccess>(new AdminAccess(std::move(tokens)));
}

absl::Status AdminAccess::Check(const HttpRequest& request) const {
  if (tokens_ != nullptr) return Check(request.Header("Authorization"));
  if (!IsAddressHost(request.Header("Host"))) {
    return absl::PermissionDeniedError(
        "without --admin_token_file the header Host must be an IP address or localhost");
  }
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (!reads && request.Header(kOwnHeader).empty()) {
    return absl::PermissionDeniedError(absl::StrCat("without --admin_token_file a ", request.method,
                                                    " needs the header '", kOwnHeader, ": 1'"));
  }
  if (IsFromAnotherSite(request)) {
    return absl::PermissionDeniedError(
        "without --admin_token_file no page of another site may ask: open this address itself");
  }
  return absl::OkStatus();
}

absl::Status AdminAccess::Check(absl::string_view authorization) const {
  return tokens_ == nullptr ? absl::OkStatus() : tokens_->Check(authorization, absl::Now());
}

}  // namespace tessera::serving

#include "serving/frontend/dashboard/dashboard_page.h"

#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "serving/frontend/http/http_inflate.h"

namespace tessera::serving {
namespace {

constexpr size_t kMaxPageBytes = 1 << 20;

const std::string& Policy() {
  static const auto* const policy = new std::string(absl::StrCat(
      "default-src 'none'; script-src '", kDashboardScriptHash, "'; style-src '",
      kDashboardStyleHash,
      "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"));
  return *policy;
}

}  // namespace

HttpReply DashboardPage(const HttpRequest& request) {
  HttpReply reply{.content_type = "text/html; charset=utf-8",
                  .headers = {{"Content-Security-Policy", Policy()},
                              {"Referrer-Policy", "no-referrer"},
                              {"Vary", "Accept-Encoding"}}};
  if (absl::StrContains(request.Header("Accept-Encoding"), "gzip")) {
    reply.headers.push_back({"Content-Encoding", "gzip"});
    reply.body = std::string(kDashboardGzip);
  } else {
    InflateGzip(kDashboardGzip, kMaxPageBytes, &reply.body).IgnoreError();  // our own bytes
  }
  return reply;
}

}  // namespace tessera::serving

// Any text as a token file, and as a request to the admin address: who may not ask is refused, and
// all others get a status that HTTP has and JSON.
// The input is a token file, a method, a target, the headers Host and Authorization, and a body,
// with a zero byte between them.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/logging.h"
#include "serving/frontend/admin/admin_access.h"
#include "serving/frontend/admin/rollout_calls.h"
#include "serving/frontend/admin/rollout_feed.h"
#include "serving/frontend/admin/rollout_routes.h"
#include "serving/frontend/admin/testing/test_rollouts.h"
#include "serving/frontend/auth/bearer_tokens.h"
#include "serving/frontend/http/http_routes.h"
#include "serving/frontend/http/http_target.h"

namespace tessera::serving {
namespace {

// Cuts the text up to the next zero byte off `input`.
std::string TakeText(absl::string_view* input) {
  const size_t end = std::min(input->find('\0'), input->size());
  const std::string text(input->substr(0, end));
  input->remove_prefix(std::min(end + 1, input->size()));
  return text;
}

void FuzzTokens(const std::string& file) {
  const auto tokens = ParseBearerTokens(file);
  if (!tokens.ok()) return;
  CHECK(!tokens->empty());
  for (const BearerToken& token : *tokens) {
    CHECK(!token.token.empty());
    // A token can be sent in a header.
    CHECK(std::all_of(token.token.begin(), token.token.end(), absl::ascii_isgraph));
  }
}

void FuzzHost(absl::string_view host) {
  if (!IsAddressHost(host)) return;
  // The name of a site never passes.
  CHECK(absl::StartsWithIgnoreCase(host, "localhost") ||
        std::all_of(host.begin(), host.end(), [](char c) {
          return absl::ascii_isxdigit(c) || absl::StrContains("[]:.", c);
        }));
}

void FuzzRequest(const HttpRequest& request) {
  static const AdminAccess* const access = AdminAccess::Make("127.0.0.1", "")->release();
  static auto* const feed = new RolloutFeed({}, nullptr);
  TestRollouts rollouts;
  rollouts.Set("m", 3, 4);
  const RolloutCalls calls(&rollouts);
  const HttpRoutes routes(RolloutRoutes(access, &calls, feed));
  const bool may_ask = access->Check(request).ok();
  CHECK(!may_ask || IsAddressHost(request.Header("Host")));
  const HttpRoutes::Match match = routes.Find(request.method, PathOfTarget(request.target));
  if (!may_ask || match.route == nullptr) return;
  const HttpReply reply = match.route->handler(request);
  constexpr std::array<int, 6> kStatuses = {200, 400, 404, 409, 429, 503};
  CHECK(std::find(kStatuses.begin(), kStatuses.end(), reply.status) != kStatuses.end())
      << reply.status;
  if (reply.stream != nullptr) return;
  google::protobuf::Struct json;
  CHECK(google::protobuf::util::JsonStringToMessage(reply.body, &json).ok()) << reply.body;
}

void Fuzz(absl::string_view input) {
  FuzzTokens(TakeText(&input));
  HttpRequest request;
  request.method = TakeText(&input);
  request.target = TakeText(&input);
  const std::string host = TakeText(&input);
  FuzzHost(host);
  request.headers = {{"Host", host}, {"Authorization", TakeText(&input)}, {"X-Tessera-Admin", "1"}};
  request.body = std::string(input);
  FuzzRequest(request);
}

}  // namespace
}  // namespace tessera::serving

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  tessera::serving::Fuzz({reinterpret_cast<const char*>(data), size});
  return 0;
}

#include "serving/frontend/admin/rollout_routes.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "google/protobuf/util/json_util.h"
#include "runtime/base/status.h"
#include "serving/frontend/admin/admin_reply.h"
#include "serving/frontend/http/http_target.h"
#include "serving/frontend/json/json_message.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kRollouts = "/admin/v1/rollouts";
constexpr absl::string_view kFolder = "/admin/v1/rollouts/";
constexpr absl::string_view kEvents = "/admin/v1/events";

// Returns the part of the path below /admin/v1/rollouts/.
absl::string_view BelowFolder(const HttpRequest& request) {
  return PathOfTarget(request.target).substr(kFolder.size());
}

HttpReply Reply(const absl::StatusOr<RolloutStatus>& status) {
  return status.ok() ? JsonReply(*status) : ErrorReply(status.status());
}

absl::StatusOr<RolloutStatus> Act(const RolloutCalls& calls, const HttpRequest& request) {
  const absl::string_view rest = BelowFolder(request);
  const size_t colon = rest.rfind(':');
  const RolloutCalls::Action action =
      colon == rest.npos ? nullptr : RolloutCalls::ActionOf(rest.substr(colon + 1));
  if (action == nullptr) {
    return absl::NotFoundError(absl::StrCat("no such action: POST ", kFolder,
                                            "MODEL:ACTION takes promote, rollback, pause, resume"));
  }
  RolloutRequest message;
  if (!request.body.empty()) {
    const auto parsed = google::protobuf::util::JsonStringToMessage(request.body, &message);
    if (!parsed.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("the body is neither empty nor JSON such as {\"version\": 3}: ",
                       std::string(parsed.message())));
    }
  }
  const std::string model = PercentDecode(rest.substr(0, colon));
  if (!message.model().empty() && message.model() != model) {
    return absl::InvalidArgumentError("the path and the body name different models");
  }
  message.set_model(model);
  return calls.Act(action, message);
}

// Server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html).
class EventStream final : public RolloutFeed::Watcher {
 public:
  // `life` tells the numbers of events of this run of the server from those of others.
  EventStream(const AdminAccess* access, const HttpRequest& request, std::string life,
              std::shared_ptr<HttpStream> stream)
      : access_(access),
        credentials_{request.method, "", request.headers, ""},
        life_(std::move(life)),
        stream_(std::move(stream)) {}

  bool Send(const RolloutFeed::Numbered& event) override {
    const absl::StatusOr<std::string> json = MessageJson(event.event, /*on_one_line=*/true);
    if (!json.ok()) return true;  // left out
    return stream_->Write(
        absl::StrCat("id: ", life_, "-", event.number, "\nevent: rollout\ndata: ", *json, "\n\n"));
  }
  bool Beat() override {
    return access_->Check(credentials_).ok() && stream_->Write(": heartbeat\n\n");
  }
  void End() override { stream_.reset(); }

 private:
  const AdminAccess* const access_;
  const HttpRequest credentials_;
  const std::string life_;
  std::shared_ptr<HttpStream> stream_;
};

// Returns the number of the event after which a client wants more.
int64_t After(const HttpRequest& request, absl::string_view life, const RolloutFeed& feed) {
  absl::string_view id = request.Header("Last-Event-ID");
  int64_t number;
  if (!id.empty()) {
    const bool is_ours = absl::ConsumePrefix(&id, absl::StrCat(life, "-"));
    return is_ours && absl::SimpleAtoi(id, &number) ? number : 0;
  }
  return QueryParameter(request.target, "since_start") == "true" ? 0 : feed.latest();
}

HttpReply WatchEvents(const AdminAccess* access, RolloutFeed* feed, const std::string& life,
                      const HttpRequest& request) {
  if (const absl::Status room = feed->CheckRoom(); !room.ok()) return ErrorReply(room);
  const int64_t after = After(request, life, *feed);
  return {.content_type = "text/event-stream",
          .body = "retry: 2000\n\n",
          .stream = [access, feed, life, request, after](std::shared_ptr<HttpStream> stream) {
            const std::string model = QueryParameter(request.target, "model").value_or("");
            // Without room by now, the stream ends here.
            feed->Watch(model, after,
                        std::make_shared<EventStream>(access, request, life, std::move(stream)))
                .IgnoreError();
          }};
}

}  // namespace

std::vector<HttpRoute> RolloutRoutes(const AdminAccess* access, const RolloutCalls* calls,
                                     RolloutFeed* feed) {
  const std::string life = absl::StrCat(absl::Hex(absl::ToUnixMicros(absl::Now())));
  const std::string folder = absl::StrCat(kFolder, "*");
  return {
      {"GET", std::string(kRollouts),
       [calls](const HttpRequest&) { return JsonReply(calls->List()); }},
      {"GET", folder,
       [calls](const HttpRequest& request) {
         return Reply(calls->Get(PercentDecode(BelowFolder(request))));
       }},
      {"POST", folder, [calls](const HttpRequest& request) { return Reply(Act(*calls, request)); }},
      {"GET", std::string(kEvents),
       [access, feed, life](const HttpRequest& request) {
         return WatchEvents(access, feed, life, request);
       }},
  };
}

}  // namespace tessera::serving

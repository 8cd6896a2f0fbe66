#include "serving/frontend/dashboard/dashboard.h"

#include <pthread.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "serving/frontend/admin/admin_access.h"
#include "serving/frontend/admin/admin_reply.h"
#include "serving/frontend/dashboard/dashboard_page.h"
#include "serving/frontend/json/json_writer.h"

namespace tessera::serving {
namespace {

// The interval of overviews, and the shortest one, when many things change.
constexpr absl::Duration kInterval = absl::Seconds(1);
constexpr absl::Duration kShortestInterval = absl::Milliseconds(100);
// Inference requests that forms may have under way. Each holds a thread of the admin address, which
// has four and must stay reachable whatever a model does.
constexpr int kMaxAsking = 2;
// Enough for about 1,500 versions. A stream takes no more at once.
constexpr size_t kMaxOverviewBytes = HttpStream::kMaxUnsentBytes - 64;
// The largest body of a request that the page sends on to a model.
constexpr uint64_t kMaxRequestBytes = 16 << 20;

HttpReply JsonText(std::string body) {
  return {.content_type = "application/json", .body = std::move(body)};
}

// Refuses what a page of another site could read after its name was made to lead here, and such a
// page's streams, of which there is a limited number.
absl::Status CheckBrowser(const HttpRequest& request) {
  if (!IsAddressHost(request.Header("Host"))) {
    return absl::PermissionDeniedError(
        "on the REST port, the dashboard is for browsers that name the server by its IP address "
        "or as localhost; the admin address, with --admin_token_file, may have any name");
  }
  if (IsFromAnotherSite(request)) {
    return absl::PermissionDeniedError("on the REST port, no page of another site may ask");
  }
  return absl::OkStatus();
}

}  // namespace

Dashboard::Dashboard(Options options, ServedModels* models, VersionHistory* history,
                     RequestHandler* handler)
    : options_(std::move(options)),
      pool_({.name = "dashboard", .max_threads = kMaxAsking}),
      api_(options_.rest, handler, &pool_),
      states_(models->Subscribe([this, history](const ServableState& state) {
        history->Add(state);
        NoteChange();
      })) {
  if (options_.sources.rollouts != nullptr) {
    decisions_ = options_.sources.rollouts->WatchEvents([this](const RolloutEvent&) {
      ++num_decisions_;
      NoteChange();
    });
  }
  writer_ = std::thread([this] { WriteStreams(); });
}

Dashboard::~Dashboard() {
  api_.Cancel();
  states_.reset();
  decisions_.reset();
  {
    absl::MutexLock lock(&mu_);
    stopping_ = true;
  }
  writer_.join();
}

uint64_t Dashboard::revision() const {
  return options_.sources.history->revision() + num_decisions_;
}

void Dashboard::NoteChange() {
  absl::MutexLock lock(&mu_);
  changed_ = true;
}

HttpReply Dashboard::OpenStream(bool read_only) {
  std::shared_ptr<void> slot = stream_slots_[read_only];
  if (slot.use_count() - 1 > kMaxStreams) {
    return ErrorReply(absl::UnavailableError(
        absl::StrCat(kMaxStreams, " browsers look at this dashboard, which is all it serves")));
  }
  return {.content_type = "text/event-stream",
          .stream = [this, read_only, slot](std::shared_ptr<HttpStream> stream) {
            absl::MutexLock lock(&mu_);
            clients_.push_back({std::move(stream), slot, read_only, absl::Now() + kStreamTime});
            changed_ = true;  // it gets its first overview now
          }};
}

std::string Dashboard::OverviewEvent(bool read_only) const {
  std::string overview = OverviewJson(options_.sources, revision(), read_only);
  if (overview.size() > kMaxOverviewBytes) {
    overview = R"({"error": "this server has more versions than fit into a dashboard"})";
  }
  return absl::StrCat("data: ", overview, "\n\n");
}

void Dashboard::WriteStreams() {
  pthread_setname_np(pthread_self(), "dashboard");
  const auto is_needed = [this]() ABSL_SHARED_LOCKS_REQUIRED(mu_) {
    return stopping_ || !clients_.empty();
  };
  const auto has_changed = [this]()
                               ABSL_SHARED_LOCKS_REQUIRED(mu_) { return stopping_ || changed_; };
  while (true) {
    std::vector<Client> clients;
    {
      absl::MutexLock lock(&mu_);
      mu_.AwaitWithTimeout(absl::Condition(&stopping_), kShortestInterval);
      mu_.Await(absl::Condition(&is_needed));
      mu_.AwaitWithTimeout(absl::Condition(&has_changed), kInterval - kShortestInterval);
      if (stopping_) return;
      changed_ = false;
      clients.swap(clients_);
    }
    std::string events[2];
    std::vector<Client> open;
    for (Client& client : clients) {
      std::string& event = events[client.read_only];
      if (event.empty()) event = OverviewEvent(client.read_only);
      const bool goes_on = client.stream->Write(event) && absl::Now() < client.end;
      if (goes_on) open.push_back(std::move(client));
    }
    absl::MutexLock lock(&mu_);
    for (Client& client : open) clients_.push_back(std::move(client));
  }
}

HttpReply Dashboard::Ask(const HttpRequest& request) {
  HttpReply answer;
  absl::Notification answered;
  api_.Handle(request, [&](HttpReply reply) {
    answer = std::move(reply);
    answered.Notify();
  });
  answered.WaitForNotification();
  return answer;
}

HttpReply Dashboard::AskForInference(const HttpRequest& request) {
  const bool is_free = num_asking_.fetch_add(1) < kMaxAsking;
  HttpReply reply = is_free ? Ask(request)
                            : ErrorReply(absl::ResourceExhaustedError(
                                  "earlier requests of this dashboard are not answered yet: "
                                  "try again soon, or ask the REST port"));
  --num_asking_;
  return reply;
}

std::vector<HttpRoute> Dashboard::Routes(bool read_only) {
  return {
      {"GET", "/dashboard", DashboardPage, HttpRoute::kPublic},
      {"GET", "/dashboard/", DashboardPage, HttpRoute::kPublic},
      {"GET", "/dashboard/api/stream",
       [this, read_only](const HttpRequest&) { return OpenStream(read_only); }},
      {"GET", "/dashboard/api/timeline",
       [this](const HttpRequest&) { return JsonText(TimelineJson(options_.sources)); }},
      {"GET", "/dashboard/api/config",
       [this](const HttpRequest&) {
         std::string body = "{\"yaml\": ";
         AppendJsonString(options_.config(), &body);
         return JsonText(body + "}");
       }},
  };
}

std::vector<HttpRoute> Dashboard::ReadOnlyRoutes() {
  std::vector<HttpRoute> routes = Routes(/*read_only=*/true);
  for (HttpRoute& route : routes) {
    route.handler = [answer = std::move(route.handler),
                     access = route.access](const HttpRequest& request) {
      const absl::Status host =
          access == HttpRoute::kPublic ? absl::OkStatus() : CheckBrowser(request);
      HttpReply reply = host.ok() ? answer(request) : ErrorReply(host);
      AddBrowserHeaders(&reply);
      return reply;
    };
  }
  return routes;
}

std::vector<HttpRoute> Dashboard::AdminRoutes() {
  std::vector<HttpRoute> routes = Routes(/*read_only=*/false);
  routes.push_back(
      {"GET", "/v1/models/*", [this](const HttpRequest& request) { return Ask(request); }});
  routes.push_back(
      {.method = "POST",
       .path = "/v1/models/*",
       .handler = [this](const HttpRequest& request) { return AskForInference(request); },
       .max_body_bytes = kMaxRequestBytes});
  return routes;
}

}  // namespace tessera::serving

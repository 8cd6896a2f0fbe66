// Dashboard: a page for browsers that shows what the server does, and the data behind it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "serving/core/request_pool.h"
#include "serving/core/servable_event_bus.h"
#include "serving/frontend/dashboard/overview.h"
#include "serving/frontend/dashboard/version_history.h"
#include "serving/frontend/http/http_routes.h"
#include "serving/frontend/http/http_stream.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_api.h"

namespace tessera::serving {

// The routes:
//
//   GET  /dashboard               the page
//   GET  /dashboard/api/stream    server-sent events: an overview each second, and soon after each
//                                 change of a version's state or a rollout. It ends after
//                                 kStreamTime, and the page asks again: whether it may is checked
//                                 at each request. More than kMaxStreams get 503
//   GET  /dashboard/api/timeline  changes of states, loads, decisions of rollouts
//   GET  /dashboard/api/config    {"yaml": "..."}, the configuration in effect
//
// and, on the admin address alone, which has no REST API of its own,
//
//   GET  /v1/models/*             as on the REST port: signatures,
//   POST /v1/models/*             and inference requests, a few at a time; more get 429
//
// Thread-safe. One thread writes all streams; it sleeps while there are none.
class Dashboard {
 public:
  static constexpr absl::Duration kStreamTime = absl::Seconds(15);
  // Streams at once, for each of the two addresses.
  static constexpr int kMaxStreams = 32;

  struct Options {
    // `models` and `history` are needed. What it refers to must outlive the dashboard.
    OverviewSources sources;
    // Returns the configuration in effect, without secrets, as YAML.
    std::function<std::string()> config;
    RestApi::Options rest;
  };

  // Adds changes of states to `history` from now on. Both must outlive the dashboard.
  Dashboard(Options options, ServedModels* models, VersionHistory* history,
            RequestHandler* handler);
  ~Dashboard();

  // Makes inference requests of the form, present and future, fail with CANCELLED.
  void Cancel() { api_.Cancel(); }

  // The routes call this object, which must outlive the servers that have them.
  std::vector<HttpRoute> AdminRoutes();
  // For an address where everybody may look: pages tell that nothing can be changed here. The data
  // is for requests that name their host by an IP address or as localhost (DNS rebinding).
  std::vector<HttpRoute> ReadOnlyRoutes();

 private:
  struct Client {
    std::shared_ptr<HttpStream> stream;
    std::shared_ptr<void> slot;  // taken while it lives
    bool read_only;
    absl::Time end;
  };

  std::vector<HttpRoute> Routes(bool read_only);
  HttpReply OpenStream(bool read_only) ABSL_LOCKS_EXCLUDED(mu_);
  // Returns the answer of the REST API, for which it waits.
  HttpReply Ask(const HttpRequest& request);
  HttpReply AskForInference(const HttpRequest& request);
  uint64_t revision() const;
  std::string OverviewEvent(bool read_only) const;
  void NoteChange() ABSL_LOCKS_EXCLUDED(mu_);
  // Body of the thread.
  void WriteStreams() ABSL_LOCKS_EXCLUDED(mu_);

  const Options options_;
  RequestPool pool_;
  RestApi api_;
  std::atomic<int> num_asking_{0};
  std::atomic<uint64_t> num_decisions_{0};
  // One for each address; its copies are the streams.
  const std::shared_ptr<void> stream_slots_[2] = {std::make_shared<int>(), std::make_shared<int>()};
  absl::Mutex mu_;
  bool changed_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Client> clients_ ABSL_GUARDED_BY(mu_);
  std::unique_ptr<ServableEventBus::Subscription> states_;
  std::shared_ptr<void> decisions_;  // null without rollouts
  std::thread writer_;
};

}  // namespace tessera::serving

// RestApi: answers the requests of TensorFlow Serving's REST API, and those for a few other pages.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/auth/bearer_tokens.h"
#include "serving/frontend/http/http_message.h"
#include "serving/frontend/http/http_routes.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_runs.h"

namespace tessera::serving {

//   POST /v1/models/NAME[/versions/N | /labels/L]:(predict|classify|regress)
//   GET  /v1/models/NAME[/versions/N | /labels/L][/metadata]
//   GET  /livez        200 while the process can answer at all
//   GET  /readyz       200 if every configured model has a version available, else 503
//   GET  /models       the configured models with the states of their versions, as JSON
//   any  the path of the metrics, if there is one
//   further pages, see Options::pages
// Everything else is 404. Outside /v1/, HEAD is answered as GET, and a method that a page lacks is
// answered with 405 and the header Allow. Replies below /v1/ are JSON, errors {"error": "..."} with
// the status of their code. Each request below /v1/ is counted in the handler's metrics.
//
// A request is answered on the thread that calls Handle() if its body is small and not compressed,
// and its signature typically runs for a short time, see RestRuns. Others are answered on the
// threads of the pool. Thread-safe.
class RestApi {
 public:
  // The largest size that a gzip body may inflate to.
  static constexpr size_t kMaxInflatedBytes = 100 << 20;
  // TensorFlow Serving answers 404 outside /v1/, so that no path of its own can be this one; its
  // GET /v1/models is an error that clients know.
  static constexpr absl::string_view kModelListPath = "/models";
  static constexpr absl::string_view kLivePath = "/livez";
  static constexpr absl::string_view kReadyPath = "/readyz";

  struct Options {
    // Time limit of predict, classify and regress, after which they fail with DEADLINE_EXCEEDED.
    // Zero or less: no limit.
    absl::Duration timeout = absl::Seconds(30);
    // Whether to send headers that let pages of any origin read replies below /v1/.
    bool enable_cors = false;
    // The tokens of the clients whose requests are answered. The API leaves the check to
    // RestAccess. Null: all requests are answered.
    std::shared_ptr<const BearerTokens> tokens;
    // Path of the metrics, which takes precedence over all other paths. Empty: none.
    std::string monitoring_path;
    // Further pages, whoever asks for them. What their handlers use must outlive the server.
    std::vector<HttpRoute> pages;
  };

  // Both must outlive the API.
  RestApi(const Options& options, RequestHandler* handler, RequestPool* pool)
      : options_(options),
        pages_(options.pages),
        handler_(handler),
        pool_(pool),
        runs_(options.timeout, handler, pool) {}

  void Handle(HttpRequest request, HttpResponder respond);
  // Makes all runs, present and future, fail with CANCELLED.
  void Cancel() { runs_.Cancel(); }

 private:
  struct Call;

  HttpReply AnswerMonitoring(absl::string_view path) const;
  // Answers the list of models and the probes. Returns nullopt for another path.
  std::optional<HttpReply> AnswerStatePage(absl::string_view method, absl::string_view path) const;
  void HandleApi(HttpRequest request, absl::string_view path, HttpResponder respond);
  // These answer a call that runs a model: they read its body, and run it. If a candidate fails,
  // the stable version does both again.
  absl::Status Decode(Call& call);
  absl::Status DecodeForModel(Call& call) const;
  absl::Status DecodePredict(Call& call) const;
  absl::Status DecodeExamples(Call& call) const;
  absl::Status FindModel(Call& call) const;
  bool FallBack(const absl::Status& error, Call& call);
  absl::Status Run(Call& call, std::string* body);
  absl::Status RunPredict(Call& call, const CallOptions& options, std::string* body);
  absl::Status RunExamples(Call& call, const CallOptions& options, std::string* body);
  void RunAndReply(std::shared_ptr<Call> call);
  // Answers all other calls.
  absl::Status DescribeModel(const Call& call, std::string* body) const;

  // Replies with `http_status`, or, if there is none, with that of the status's code.
  void Reply(Call& call, const absl::Status& status, std::string body,
             std::optional<int> http_status = std::nullopt) const;

  const Options options_;
  const HttpRoutes pages_;
  RequestHandler* const handler_;
  RequestPool* const pool_;
  RestRuns runs_;
};

}  // namespace tessera::serving

// RestApi: TensorFlow Serving's REST API, and the few pages beside it, as a handler of requests.
#pragma once

#include <array>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "serving/core/elastic_pool.h"
#include "serving/frontend/http/http_message.h"
#include "serving/frontend/request_handler.h"

namespace tessera::serving {

// The HTTP status that stands for a status's code: 404 for NOT_FOUND.
int HttpStatusOf(absl::StatusCode code);

//   POST /v1/models/NAME[/versions/N | /labels/L]:(predict|classify|regress)
//   GET  /v1/models/NAME[/versions/N | /labels/L][/metadata]
//   GET  /livez        200 while the process can answer at all
//   GET  /readyz       200 if every configured model has a version available, else 503
//   any  the path of the metrics, if there is one
// Everything else is 404. Replies below /v1/ are JSON, errors {"error": "..."} with the status of
// their code. Each request below /v1/ is counted in the handler's metrics.
//
// A request is answered on the thread that calls Handle(), if its body is small, and not packed,
// and its signature typically runs for less than kInlineRunTime; else on the pool's threads.
// Thread-safe.
class RestApi {
 public:
  // About ten times what handing a request to another thread costs.
  static constexpr absl::Duration kInlineRunTime = absl::Microseconds(200);
  // Takes about as long to read.
  static constexpr size_t kInlineBodyBytes = 64 << 10;
  // What a gzip body may inflate to. More is answered as if there were no body.
  static constexpr size_t kMaxInflatedBytes = 100 << 20;

  struct Options {
    // In which predict, classify and regress must be done, else DEADLINE_EXCEEDED. Zero or less:
    // no limit.
    absl::Duration timeout = absl::Seconds(30);
    // Headers that let pages of any origin read replies below /v1/.
    bool enable_cors = false;
    // Where the metrics are; takes precedence over all other paths. Empty: nowhere.
    std::string monitoring_path;
  };

  // Both must outlive the API.
  RestApi(const Options& options, RequestHandler* handler, ElasticPool* pool)
      : options_(options), handler_(handler), pool_(pool) {}

  void Handle(HttpRequest request, HttpResponder respond);
  // Ends the runs there are and will be with CANCELLED.
  void Cancel();

 private:
  struct Call;

  HttpReply AnswerMonitoring(absl::string_view path) const;
  void HandleApi(HttpRequest request, absl::string_view path, HttpResponder respond);
  // The parts of answering a call that needs a model's run: reading its body, and running it.
  absl::Status Decode(Call& call) const;
  absl::Status DecodePredict(Call& call) const;
  absl::Status DecodeExamples(Call& call) const;
  absl::Status Run(Call& call, std::string* body);
  absl::Status RunPredict(Call& call, const CallOptions& options, std::string* body);
  absl::Status RunExamples(Call& call, const CallOptions& options, std::string* body);
  void RunAndReply(Call& call);
  // The other calls.
  absl::Status DescribeModel(const Call& call, std::string* body) const;

  void Reply(Call& call, const absl::Status& status, std::string body) const;

  const Options options_;
  RequestHandler* const handler_;
  ElasticPool* const pool_;
  // Several, each for some of the threads, so that runs do not meet on one lock.
  struct alignas(64) Cancellation {
    CancellationManager manager;
  };
  std::array<Cancellation, 16> cancellations_;
};

}  // namespace tessera::serving

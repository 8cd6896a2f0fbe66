// KServeRest: KServe's protocol, version 2, over HTTP.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "runtime/base/cancellation.h"
#include "serving/core/elastic_pool.h"
#include "serving/core/request_pool.h"
#include "serving/frontend/http/http_message.h"
#include "serving/frontend/kserve/kserve_path.h"
#include "serving/frontend/kserve/model_repository.h"
#include "serving/frontend/request_handler.h"
#include "serving/frontend/rest/rest_runs.h"

namespace tessera::serving {

//   GET  /v2, /v2/health/live, /v2/health/ready, /v2/models/stats
//   GET  /v2/models/M[/versions/V], and below that /ready, /config and /stats
//   POST /v2/models/M[/versions/V]/infer
//   POST /v2/repository/index, /v2/repository/models/M/load and /unload
//   GET, POST  /v2/logging, /v2/trace/setting
//
// Errors are {"error": "..."} with the status of their code; 405 for another method, 415 for a
// content encoding other than gzip and deflate. Bodies inflate to kMaxInflatedBytes at most, and
// those of calls that neither run nor load a model to kMaxSettingBytes.
// Inferences are recorded in the handler's metrics, and run where RestRuns puts them. Thread-safe.
class KServeRest {
 public:
  static constexpr size_t kMaxInflatedBytes = 100 << 20;
  static constexpr size_t kMaxSettingBytes = 64 << 10;

  // `timeout` limits an inference; zero or less: not. The others must outlive this object.
  KServeRest(absl::Duration timeout, RequestHandler* handler, ModelRepository* repository,
             RequestPool* pool)
      : handler_(handler), repository_(repository), runs_(timeout, handler, pool) {}

  // Returns whether a request is for this protocol.
  static bool Serves(const HttpRequest& request);
  // Returns the most bytes that the body of such a request may have. Calls that neither run nor
  // load a model are answered on the thread that reads them, which others wait for.
  static uint64_t MaxBodyBytes(const HttpRequest& head);
  // Requires Serves(). The destructor waits for the replies to loads and unloads.
  void Handle(HttpRequest request, HttpResponder respond);
  // Makes all inferences, loads and unloads, present and future, fail with CANCELLED.
  void Cancel();

 private:
  struct InferCall;

  void HandleInfer(HttpRequest request, KServePath path, HttpResponder respond);
  // These answer an inference: they find its model, read its body, and run the model. If a
  // candidate fails, the stable version does the last two again.
  absl::Status Decode(InferCall& call);
  absl::Status Read(InferCall& call) const;
  absl::Status Run(InferCall& call, HttpReply* reply);
  void RunAndReply(std::shared_ptr<InferCall> call);
  bool FallBack(const absl::Status& error, InferCall& call);
  void Reply(InferCall& call, const absl::Status& status, HttpReply reply) const;
  void NoteFailure(const HttpRequest& request, const KServePath& path,
                   const absl::Status& status) const;
  // Loads or unloads a model, and replies when that is done.
  void HandleControl(HttpRequest request, KServePath path, HttpResponder respond);
  // Answers all that is neither an inference nor a control.
  absl::Status Answer(const HttpRequest& request, const KServePath& path, std::string* body) const;

  RequestHandler* const handler_;
  ModelRepository* const repository_;
  RestRuns runs_;
  CancellationManager control_cancellation_;
  // Few threads suffice, because loads wait for each other anyway.
  ElasticPool control_pool_{{.name = "model control", .max_threads = 4}};
};

}  // namespace tessera::serving

#include "serving/frontend/kserve/kserve_rest.h"

#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "runtime/base/exception_status.h"
#include "runtime/base/status.h"
#include "serving/frontend/http/http_inflate.h"
#include "serving/frontend/http/http_status.h"
#include "serving/frontend/http/http_target.h"
#include "serving/frontend/json/json_response.h"
#include "serving/frontend/kserve/json_answer.h"
#include "serving/frontend/kserve/json_infer.h"
#include "serving/frontend/traceparent.h"

namespace tessera::serving {
namespace {

constexpr char kJson[] = "application/json";
constexpr char kBinary[] = "application/octet-stream";
constexpr absl::string_view kJsonLengthHeader = "Inference-Header-Content-Length";
constexpr absl::string_view kRoot = "/v2";

HttpReply ErrorReply(int status, absl::string_view message) {
  return {.status = status, .content_type = kJson, .body = JsonErrorBody(message)};
}

HttpReply ReplyOf(const absl::Status& status, std::string body) {
  if (!status.ok()) return ErrorReply(HttpStatusOf(status.code()), status.message());
  return {.content_type = body.empty() ? "" : kJson, .body = std::move(body)};
}

enum class Encoding { kNone, kGzip, kDeflate, kUnknown };

Encoding EncodingOf(const HttpRequest& request) {
  const absl::string_view name = request.Header("Content-Encoding");
  if (name.empty() || absl::EqualsIgnoreCase(name, "identity")) return Encoding::kNone;
  if (absl::EqualsIgnoreCase(name, "gzip") || absl::EqualsIgnoreCase(name, "x-gzip")) {
    return Encoding::kGzip;  // RFC 9110, section 8.4.1.3
  }
  return absl::EqualsIgnoreCase(name, "deflate") ? Encoding::kDeflate : Encoding::kUnknown;
}

absl::Status InflateBody(HttpRequest& request, size_t max_bytes = KServeRest::kMaxInflatedBytes) {
  const Encoding encoding = EncodingOf(request);
  if (encoding == Encoding::kNone) return absl::OkStatus();
  const auto inflate = encoding == Encoding::kGzip ? InflateGzip : InflateZlib;
  std::string inflated;
  RETURN_IF_ERROR(inflate(request.body, max_bytes, &inflated));
  request.body = std::move(inflated);
  return absl::OkStatus();
}

// Returns the refusal of a request whose method does not fit its path, or whose body has an
// encoding that is not known.
std::optional<HttpReply> RefuseHead(const HttpRequest& request, const KServePath& path) {
  if (!path.has_method) {
    const absl::string_view target = PathOfTarget(request.target);
    return ErrorReply(405, absl::StrCat(target, " does not take ", request.method));
  }
  if (EncodingOf(request) != Encoding::kUnknown) return std::nullopt;
  HttpReply reply = ErrorReply(415, "the body's encoding is neither gzip nor deflate");
  reply.headers = {{"Accept-Encoding", "gzip, deflate"}};
  return reply;
}

// Returns how many bytes of an inference's body are JSON, nullopt for all.
absl::StatusOr<std::optional<uint64_t>> JsonLength(const HttpRequest& request) {
  const absl::string_view text = request.Header(kJsonLengthHeader);
  if (text.empty()) return std::nullopt;
  uint64_t length;
  if (absl::SimpleAtoi(text, &length)) return length;
  return absl::InvalidArgumentError(
      absl::StrCat(kJsonLengthHeader, " is '", text, "'; it is a number of bytes"));
}

}  // namespace

// The members after `times` are set as the call is read.
struct KServeRest::InferCall {
  absl::string_view model_name() const { return path.model; }
  absl::string_view signature_name() const { return signature; }

  HttpRequest request;
  HttpResponder respond;
  KServePath path;
  RequestTimes times;
  RoutedModel model;
  absl::string_view signature;  // owned by the model
  std::optional<JsonInferRequest> infer;
};

bool KServeRest::Serves(const HttpRequest& request) {
  absl::string_view path = PathOfTarget(request.target);
  return absl::ConsumePrefix(&path, kRoot) && (path.empty() || path[0] == '/');
}

uint64_t KServeRest::MaxBodyBytes(const HttpRequest& head) {
  const std::optional<KServePath> path = ParseKServePath(head.method, PathOfTarget(head.target));
  const bool may_be_large =
      path && (path->call == KServeCall::kInfer || path->call == KServeCall::kLoad);
  return may_be_large ? std::numeric_limits<uint64_t>::max() : kMaxSettingBytes;
}

void KServeRest::Handle(HttpRequest request, HttpResponder respond) {
  const absl::string_view target = PathOfTarget(request.target);
  std::optional<KServePath> path = ParseKServePath(request.method, target);
  if (!path) return respond(ErrorReply(404, absl::StrCat("there is nothing at ", target)));
  if (std::optional<HttpReply> refusal = RefuseHead(request, *path)) {
    refusal->model = std::move(path->model);
    return respond(*std::move(refusal));
  }
  switch (path->call) {
    case KServeCall::kInfer:
      return HandleInfer(std::move(request), *std::move(path), std::move(respond));
    case KServeCall::kLoad:
    case KServeCall::kUnload:
      return HandleControl(std::move(request), *std::move(path), std::move(respond));
    default:
      break;
  }
  std::string body;
  const absl::Status status = CatchExceptions(kTheRequest, [&]() -> absl::Status {
    RETURN_IF_ERROR(InflateBody(request, kMaxSettingBytes));
    return Answer(request, *path, &body);
  });
  // What probes ask is answered by these; a server that is not ready has not failed.
  const bool is_probe = path->call == KServeCall::kReady || path->call == KServeCall::kModelReady;
  if (!is_probe) NoteFailure(request, *path, status);
  HttpReply reply = ReplyOf(status, std::move(body));
  reply.model = std::move(path->model);
  respond(std::move(reply));
}

void KServeRest::NoteFailure(const HttpRequest& request, const KServePath& path,
                             const absl::Status& status) const {
  const auto trace_id = [&] { return TraceIdOf(request.OnlyHeader(kTraceparent)); };
  handler_->failures().Note("rest", path.name, path.model, status, trace_id, absl::Now());
}

void KServeRest::Cancel() {
  runs_.Cancel();
  control_cancellation_.Cancel();
}

void KServeRest::HandleInfer(HttpRequest request, KServePath path, HttpResponder respond) {
  // With its counts a call is one of mimalloc's small objects. A larger one, of which there is most
  // often one at a time, costs over a thousand instructions more.
  static_assert(sizeof(InferCall) + 2 * sizeof(void*) <= 1024);
  auto call = std::make_shared<InferCall>();
  call->times.arrived = absl::Now();
  call->request = std::move(request);
  call->respond = std::move(respond);
  call->path = std::move(path);
  const bool quick_to_read = call->request.body.size() <= RestRuns::kInlineBodyBytes &&
                             EncodingOf(call->request) == Encoding::kNone;
  const auto refuse = [this](InferCall& call, const absl::Status& status) {
    Reply(call, status, {});
  };
  const auto decode = [this, refuse](InferCall& call) {
    const absl::Status status = CatchExceptions(kTheRequest, [&] { return Decode(call); });
    if (!status.ok()) refuse(call, status);
    return status.ok();
  };
  const auto run = [this](std::shared_ptr<InferCall> call) { RunAndReply(std::move(call)); };
  runs_.Answer(std::move(call), quick_to_read, decode, run, refuse);
}

absl::Status KServeRest::Decode(InferCall& call) {
  const auto keys = [&](absl::string_view name) -> std::optional<absl::string_view> {
    const absl::string_view value = call.request.Header(name);
    if (value.empty()) return std::nullopt;
    return value;
  };
  ASSIGN_OR_RETURN(call.model, repository_->Find(call.path.model, call.path.version, keys));
  call.times.cell = &call.model->request_stats().Begin(RequestMethod::kPredict, Entrypoint::kRest);
  call.times.version = call.model.version();
  RETURN_IF_ERROR(InflateBody(call.request));
  const absl::Status status = Read(call);
  return FallBack(status, call) ? Read(call) : status;
}

absl::Status KServeRest::Read(InferCall& call) const {
  const auto read = [&]() -> absl::Status {
    ASSIGN_OR_RETURN(const InferSignature signature, SignatureToInfer(call.model->info()));
    call.signature = signature.name;
    ASSIGN_OR_RETURN(const auto json_length, JsonLength(call.request));
    // It is needed again if a candidate fails.
    std::string body =
        handler_->MayFallBack(call.model) ? call.request.body : std::move(call.request.body);
    return call.infer.emplace().Read(std::move(body), json_length, call.model->info());
  };
  call.signature = {};
  const absl::Status status = read();
  if (!status.ok()) {
    handler_->NoteUnfit(call.model, call.signature, status, absl::Now() - call.times.arrived);
  }
  return status;
}

bool KServeRest::FallBack(const absl::Status& error, InferCall& call) {
  // Without its body, which was let go of, nobody can be asked, though a promotion since then may
  // have made another version the stable one.
  if (call.request.body.empty()) return false;
  return handler_->FallBack(error, {call.signature}, runs_.Options(&call.times), &call.model);
}

void KServeRest::RunAndReply(std::shared_ptr<InferCall> call) {
  HttpReply reply;
  absl::Status status = CatchExceptions(kTheRequest, [&] { return Run(*call, &reply); });
  if (FallBack(status, *call)) {
    status = CatchExceptions(kTheRequest, [&] { return Read(*call); });
    if (status.ok()) {
      const auto run = [this](std::shared_ptr<InferCall> call) { RunAndReply(std::move(call)); };
      return runs_.Answer(std::move(call), run);
    }
  }
  Reply(*call, status, std::move(reply));
}

absl::Status KServeRest::Run(InferCall& call, HttpReply* reply) {
  const auto read = [&](size_t i, DType dtype, const Shape& shape) {
    return call.infer->Elements(i, dtype, shape);
  };
  PredictResult result;
  RETURN_IF_ERROR(Infer(*handler_, call.model, call.infer->request(), read,
                        runs_.Options(&call.times), &result));
  ASSIGN_OR_RETURN(JsonInferResponse response,
                   WriteInferResponse(*call.infer, call.model.id(), result));
  reply->body = std::move(response.body);
  reply->content_type = response.json_length ? kBinary : kJson;
  if (response.json_length) {
    reply->headers = {{kJsonLengthHeader, absl::StrCat(*response.json_length)}};
  }
  return absl::OkStatus();
}

void KServeRest::Reply(InferCall& call, const absl::Status& status, HttpReply reply) const {
  if (!status.ok()) reply = ReplyOf(status, "");
  reply.model = call.path.model;
  reply.version = call.times.version;
  const auto trace_id = [&] { return TraceIdOf(call.request.OnlyHeader(kTraceparent)); };
  handler_->RecordRequest(Entrypoint::kRest, call.path.name, call.path.model, status, call.times,
                          trace_id);
  NoteFailure(call.request, call.path, status);
  call.model = RoutedModel();  // before the reply is sent: a slow client keeps no version loaded
  call.respond(std::move(reply));
}

void KServeRest::HandleControl(HttpRequest request, KServePath path, HttpResponder respond) {
  control_pool_.Schedule([this, request = std::move(request), path = std::move(path),
                          respond = std::move(respond)]() mutable {
    const auto control = [&]() -> absl::Status {
      RETURN_IF_ERROR(InflateBody(request));
      if (path.call == KServeCall::kLoad) {
        inference::RepositoryModelLoadRequest load;
        load.set_model_name(path.model);
        RETURN_IF_ERROR(ReadRequest(request.body, &load));
        return repository_->LoadModel(load, {.cancellation = &control_cancellation_});
      }
      inference::RepositoryModelUnloadRequest unload;
      unload.set_model_name(path.model);
      RETURN_IF_ERROR(ReadRequest(request.body, &unload));
      return repository_->UnloadModel(unload, {.cancellation = &control_cancellation_});
    };
    const absl::Status status = CatchExceptions(kTheRequest, control);
    NoteFailure(request, path, status);
    HttpReply reply = ReplyOf(status, "");
    reply.model = path.model;
    respond(std::move(reply));
  });
}

absl::Status KServeRest::Answer(const HttpRequest& request, const KServePath& path,
                                std::string* body) const {
  switch (path.call) {
    case KServeCall::kLive: {
      inference::ServerLiveResponse server;
      server.set_live(true);
      *body = AnswerJson(server);
      return absl::OkStatus();
    }
    case KServeCall::kReady: {
      if (!repository_->IsReady()) {
        return absl::FailedPreconditionError("a configured model is not served");
      }
      inference::ServerReadyResponse server;
      server.set_ready(true);
      *body = AnswerJson(server);
      return absl::OkStatus();
    }
    case KServeCall::kModelReady: {
      ASSIGN_OR_RETURN(const bool ready, repository_->IsModelReady(path.model, path.version));
      if (!ready) {
        return absl::FailedPreconditionError(
            absl::StrCat(path.version.empty() ? "" : absl::StrCat("version ", path.version, " of "),
                         "model '", path.model, "' is not served"));
      }
      *body = ReadyModelJson(path.model);
      return absl::OkStatus();
    }
    case KServeCall::kServerMetadata: {
      inference::ServerMetadataResponse server;
      repository_->FillServer(&server);
      *body = AnswerJson(server);
      return absl::OkStatus();
    }
    case KServeCall::kModelMetadata: {
      inference::ModelMetadataResponse metadata;
      RETURN_IF_ERROR(repository_->FillModel(path.model, path.version, &metadata));
      *body = AnswerJson(metadata);
      return absl::OkStatus();
    }
    case KServeCall::kModelConfig: {
      inference::ModelConfig config;
      RETURN_IF_ERROR(repository_->FillModelConfig(path.model, path.version, &config));
      *body = AnswerJson(config);
      return absl::OkStatus();
    }
    case KServeCall::kStatistics: {
      inference::ModelStatisticsResponse statistics;
      RETURN_IF_ERROR(repository_->FillModelStatistics(path.model, path.version, &statistics));
      *body = AnswerJson(statistics);
      return absl::OkStatus();
    }
    case KServeCall::kIndex: {
      inference::RepositoryIndexRequest asked;
      RETURN_IF_ERROR(ReadRequest(request.body, &asked));
      inference::RepositoryIndexResponse index;
      RETURN_IF_ERROR(repository_->FillIndex(asked, &index));
      *body = AnswerJson(index);
      return absl::OkStatus();
    }
    case KServeCall::kLogSettings: {
      inference::LogSettingsRequest asked;
      RETURN_IF_ERROR(ReadRequest(request.body, &asked));
      inference::LogSettingsResponse settings;
      RETURN_IF_ERROR(repository_->FillLogSettings(asked, &settings));
      *body = AnswerJson(settings);
      return absl::OkStatus();
    }
    case KServeCall::kTraceSettings: {
      inference::TraceSettingRequest asked;
      asked.set_model_name(path.model);
      RETURN_IF_ERROR(ReadRequest(request.body, &asked));
      inference::TraceSettingResponse settings;
      RETURN_IF_ERROR(repository_->FillTraceSettings(asked, &settings));
      *body = AnswerJson(settings);
      return absl::OkStatus();
    }
    case KServeCall::kInfer:
    case KServeCall::kLoad:
    case KServeCall::kUnload:
      break;  // answered elsewhere
  }
  return absl::InternalError("a call without an answer");
}

}  // namespace tessera::serving

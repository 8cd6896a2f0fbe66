#include "serving/frontend/rest/rest_api.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "runtime/base/exception_status.h"
#include "runtime/base/status.h"
#include "serving/frontend/http/http_inflate.h"
#include "serving/frontend/http/http_reply_head.h"
#include "serving/frontend/http/http_status.h"
#include "serving/frontend/http/http_target.h"
#include "serving/frontend/json/json_examples_request.h"
#include "serving/frontend/json/json_model_info.h"
#include "serving/frontend/json/json_predict_request.h"
#include "serving/frontend/json/json_response.h"
#include "serving/frontend/rest/rest_path.h"
#include "serving/frontend/traceparent.h"
#include "serving/servables/serving_proto.h"
#include "tensorflow_serving/apis/get_model_metadata.pb.h"

namespace tessera::serving {
namespace {

constexpr absl::string_view kApiPrefix = "/v1/";
constexpr char kRest[] = "rest";
constexpr char kJson[] = "application/json";
constexpr char kText[] = "text/plain";

bool IsKnownMethod(absl::string_view method) {
  for (const absl::string_view known :
       {"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"}) {
    if (method == known) return true;
  }
  return false;
}

HttpReply TextReply(int status, std::string text) {
  return {.status = status, .content_type = kText, .body = std::move(text)};
}

bool IsGzip(const HttpRequest& request) {
  return absl::StrContains(absl::AsciiStrToLower(request.Header("Content-Encoding")), "gzip");
}

// Inflates a gzip body. Errors: those of InflateGzip().
absl::Status InflateBody(HttpRequest& request) {
  if (!IsGzip(request)) return absl::OkStatus();
  std::string inflated;
  RETURN_IF_ERROR(InflateGzip(request.body, RestApi::kMaxInflatedBytes, &inflated));
  request.body = std::move(inflated);
  return absl::OkStatus();
}

// Returns true if the body is compressed by a method that is not gzip. A client may name any other
// coding for a body that is plain JSON: TensorFlow Serving never looks at that.
bool IsUnreadableCoding(absl::string_view content_encoding) {
  const std::string coding = absl::AsciiStrToLower(absl::StripAsciiWhitespace(content_encoding));
  for (const absl::string_view known : {"deflate", "br", "zstd", "compress", "x-compress"}) {
    if (coding == known) return true;
  }
  return false;
}

absl::Status CodingError(absl::string_view content_encoding) {
  return absl::InvalidArgumentError(
      absl::StrCat("Content-Encoding '", content_encoding,
                   "' is not supported: send the body as it is, or compressed with gzip"));
}

constexpr absl::string_view kGetAndHead = "GET, HEAD";

// Returns a reply to a request for a page that has only these methods.
HttpReply MethodNotAllowed(absl::string_view allowed) {
  HttpReply reply = HttpStatusPage(405);
  reply.headers = {{"Allow", std::string(allowed)}};
  return reply;
}

// Checks the preflight request that a browser sends for a page of another origin.
absl::Status CheckOrigin(const HttpRequest& request) {
  const absl::string_view origin = request.Header("Origin");
  if (absl::StrContains(origin, "http://") || absl::StrContains(origin, "https://")) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError("OPTIONS needs an Origin header with an http or https URL");
}

}  // namespace

// One request below /v1/. The names in `spec` and `predict` are views of the members above them.
struct RestApi::Call {
  bool is_predict() const { return target.action == "predict"; }
  bool needs_run() const {
    return is_predict() || target.action == "classify" || target.action == "regress";
  }
  RequestMethod method() const {
    if (is_predict()) return RequestMethod::kPredict;
    return target.action == "classify" ? RequestMethod::kClassify : RequestMethod::kRegress;
  }
  absl::string_view model_name() const { return target.model; }
  absl::string_view signature_name() const {
    return is_predict() ? predict.signature_name : examples.signature_name;
  }
  ModelSpec spec() const {
    ModelSpec spec{.name = target.model, .version = target.version};
    if (target.label) spec.label = *target.label;
    spec.signature_name = signature_name();
    return spec;
  }

  HttpRequest request;
  HttpResponder respond;
  RequestTimes times;
  RestTarget target;
  RoutedModel model;
  std::vector<InputType> input_types;
  PredictBody predict;
  ExamplesBody examples;
};

void RestApi::Handle(HttpRequest request, HttpResponder respond) {
  if (!IsKnownMethod(request.method)) return respond(HttpStatusPage(501));
  const std::string path(WithoutAuthority(request.target));
  const absl::string_view without_query = absl::string_view(path).substr(0, path.find('?'));
  if (!options_.monitoring_path.empty() && without_query == options_.monitoring_path) {
    return respond(AnswerMonitoring(path));
  }
  if (absl::StartsWithIgnoreCase(path, kApiPrefix)) {
    return HandleApi(std::move(request), path, std::move(respond));
  }
  if (auto reply = AnswerStatePage(request.method, without_query)) {
    return respond(*std::move(reply));
  }
  const HttpRoutes::Match page = pages_.Find(request.method, without_query);
  if (page.route == nullptr) {
    return respond(page.allowed.empty() ? HttpStatusPage(404) : MethodNotAllowed(page.allowed));
  }
  pool_->Schedule([page = page.route, request = std::move(request), respond = std::move(respond)] {
    HttpReply reply;
    const absl::Status status = CatchExceptions(kTheRequest, [&] {
      reply = page->handler(request);
      return absl::OkStatus();
    });
    if (!status.ok()) reply = TextReply(HttpStatusOf(status.code()), std::string(status.message()));
    respond(std::move(reply));
  });
}

HttpReply RestApi::AnswerMonitoring(absl::string_view path) const {
  if (path != options_.monitoring_path) {
    return TextReply(
        400, absl::StrCat("Unexpected path: ", path, ". Should be ", options_.monitoring_path));
  }
  return TextReply(200, handler_->metrics().RenderMetrics());
}

std::optional<HttpReply> RestApi::AnswerStatePage(absl::string_view method,
                                                  absl::string_view path) const {
  const bool is_known = path == kModelListPath || path == kLivePath || path == kReadyPath;
  if (!is_known) return std::nullopt;
  if (method != "GET" && method != "HEAD") return MethodNotAllowed(kGetAndHead);
  if (path == kModelListPath) {
    return HttpReply{.content_type = kJson, .body = JsonModelList(handler_->ModelStates())};
  }
  if (path == kLivePath || handler_->IsReady()) return TextReply(200, "ok\n");
  return TextReply(503, "models are not available yet\n");
}

void RestApi::HandleApi(HttpRequest request, absl::string_view path, HttpResponder respond) {
  auto call = std::make_shared<Call>();
  call->request = std::move(request);
  call->respond = std::move(respond);
  call->times.arrived = absl::Now();
  if (call->request.method == "OPTIONS") {
    return Reply(*call, CheckOrigin(call->request), "");
  }
  absl::StatusOr<RestTarget> target = ParseRestPath(call->request.method, path);
  if (!target.ok()) return Reply(*call, target.status(), "");
  call->target = *std::move(target);
  if (!call->needs_run()) {
    std::string body;
    const absl::Status status =
        CatchExceptions(kTheRequest, [&] { return DescribeModel(*call, &body); });
    return Reply(*call, status, std::move(body));
  }
  const absl::string_view coding = call->request.Header("Content-Encoding");
  if (IsUnreadableCoding(coding)) return Reply(*call, CodingError(coding), "", 415);

  // The inflated size of a gzip body is not known; it may be a thousand times as large.
  const bool quick_to_read =
      call->request.body.size() <= RestRuns::kInlineBodyBytes && !IsGzip(call->request);
  const auto refuse = [this](Call& call, const absl::Status& status) { Reply(call, status, ""); };
  const auto decode = [this, refuse](Call& call) {
    const absl::Status status = CatchExceptions(kTheRequest, [&] { return Decode(call); });
    if (!status.ok()) refuse(call, status);
    return status.ok();
  };
  const auto run = [this](std::shared_ptr<Call> call) { RunAndReply(std::move(call)); };
  runs_.Answer(std::move(call), quick_to_read, decode, run, refuse);
}

absl::Status RestApi::Decode(Call& call) {
  RETURN_IF_ERROR(InflateBody(call.request));
  absl::Status status = DecodeForModel(call);
  if (FallBack(status, call)) status = DecodeForModel(call);
  // It may be large, and the run may be long.
  if (!call.model || !handler_->MayFallBack(call.model)) call.request.body = std::string();
  return status;
}

absl::Status RestApi::DecodeForModel(Call& call) const {
  call.predict = {};
  call.examples = {};
  const absl::Status status = call.is_predict() ? DecodePredict(call) : DecodeExamples(call);
  if (!status.ok() && call.model) {
    handler_->NoteUnfit(call.model, call.signature_name(), status,
                        absl::Now() - call.times.arrived);
  }
  return status;
}

bool RestApi::FallBack(const absl::Status& error, Call& call) {
  // Without its body, which was let go of, nobody can be asked, though a promotion since then may
  // have made another version the stable one.
  if (call.request.body.empty()) return false;
  return call.model && handler_->FallBack(error, {call.signature_name()},
                                          runs_.Options(&call.times), &call.model);
}

absl::Status RestApi::FindModel(Call& call) const {
  const auto keys = [&](absl::string_view name) -> std::optional<absl::string_view> {
    const absl::string_view value = call.request.Header(name);
    if (value.empty()) return std::nullopt;
    return value;
  };
  ASSIGN_OR_RETURN(call.model, handler_->FindModel(call.spec(), keys));
  call.times.cell = &call.model->request_stats().Begin(call.method(), Entrypoint::kRest);
  call.times.version = call.model.version();
  return absl::OkStatus();
}

absl::Status RestApi::DecodePredict(Call& call) const {
  const auto find_inputs =
      [&](absl::string_view name) -> absl::StatusOr<absl::Span<const InputType>> {
    if (!call.model) {
      RETURN_IF_ERROR(FindModel(call));
    }
    const ModelInfo& info = call.model->info();
    const SignatureInfo* signature = info.FindSignature(name);
    if (signature == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("Serving signature name: \"", name.empty() ? kDefaultSignature : name,
                       "\" not found in signature def; the model has: ", info.SignatureNames()));
    }
    call.input_types.clear();
    for (const auto& [alias, tensor] : signature->inputs) {
      call.input_types.push_back({alias, tensor.dtype, tensor.has_default});
    }
    return call.input_types;
  };
  return DecodePredictBody(call.request.body, find_inputs, &call.predict);
}

absl::Status RestApi::DecodeExamples(Call& call) const {
  RETURN_IF_ERROR(DecodeExamplesBody(call.request.body, &call.examples));
  return call.model ? absl::OkStatus() : FindModel(call);
}

void RestApi::RunAndReply(std::shared_ptr<Call> call) {
  std::string body;
  absl::Status status = CatchExceptions(kTheRequest, [&] { return Run(*call, &body); });
  if (FallBack(status, *call)) {
    status = CatchExceptions(kTheRequest, [&] { return DecodeForModel(*call); });
    if (status.ok()) {
      const auto run = [this](std::shared_ptr<Call> call) { RunAndReply(std::move(call)); };
      return runs_.Answer(std::move(call), run);
    }
  }
  Reply(*call, status, std::move(body));
}

absl::Status RestApi::Run(Call& call, std::string* body) {
  const CallOptions options = runs_.Options(&call.times);
  return call.is_predict() ? RunPredict(call, options, body) : RunExamples(call, options, body);
}

absl::Status RestApi::RunPredict(Call& call, const CallOptions& options, std::string* body) {
  std::vector<absl::string_view> names;
  for (const auto& [name, tensor] : call.predict.inputs) names.push_back(name);
  const auto input = [&](size_t i) -> absl::StatusOr<Tensor> {
    return std::move(call.predict.inputs[i].second);
  };
  PredictResult result;
  RETURN_IF_ERROR(handler_->Predict(call.model,
                                    {.signature_name = call.predict.signature_name,
                                     .input_names = names,
                                     .input = input,
                                     .output_filter = {}},
                                    options, &result));
  return AppendPredictResponse(call.predict.layout, result.outputs, body);
}

absl::Status RestApi::RunExamples(Call& call, const CallOptions& options, std::string* body) {
  const auto examples = [&] { return ExamplesFromInput(call.examples.input); };
  const ExamplesRequest request{call.examples.signature_name, examples};
  if (call.target.action == "classify") {
    ClassifyResult result;
    RETURN_IF_ERROR(handler_->Classify(call.model, request, options, &result));
    return AppendClassifyResponse(result, body);
  }
  RegressResult result;
  RETURN_IF_ERROR(handler_->Regress(call.model, request, options, &result));
  return AppendRegressResponse(result, body);
}

absl::Status RestApi::DescribeModel(const Call& call, std::string* body) const {
  const RestTarget& target = call.target;
  if (target.action != "status" && target.action != "metadata") {
    return absl::InvalidArgumentError(absl::StrCat("Malformed request: ", call.request.method, " ",
                                                   WithoutAuthority(call.request.target)));
  }
  if (target.model.empty()) return absl::InvalidArgumentError("Missing model name in request.");
  if (target.action == "status") {
    ASSIGN_OR_RETURN(const std::vector<ServableState> states,
                     handler_->StatesOf(target.model, target.version));
    return AppendModelStatus(states, body);
  }
  ASSIGN_OR_RETURN(const ModelHandle model,
                   handler_->FindDescribedModel(
                       {.name = target.model, .version = target.version, .label = target.label}));
  tensorflow::serving::SignatureDefMap signatures;
  model->FillSignatureDefs(&signatures);
  return AppendModelMetadata(model.id(), signatures, body);
}

void RestApi::Reply(Call& call, const absl::Status& status, std::string body,
                    std::optional<int> http_status) const {
  HttpReply reply{.status = http_status.value_or(HttpStatusOf(status.code())),
                  .content_type = kJson};
  if (options_.enable_cors) {
    reply.headers = {{"Access-Control-Allow-Origin", "*"},
                     {"Access-Control-Allow-Methods", "POST, GET"},
                     {"Access-Control-Allow-Headers",
                      options_.tokens == nullptr ? "Content-Type" : "Content-Type, Authorization"}};
  }
  if (status.ok()) {
    reply.body = std::move(body);
  } else if (call.request.method != "OPTIONS") {
    reply.body = JsonErrorBody(status.message());
  }
  reply.model = call.target.model;
  reply.version = call.times.version;
  const absl::string_view api = call.needs_run() ? absl::string_view(call.target.action) : "";
  const auto trace_id = [&] { return TraceIdOf(call.request.OnlyHeader(kTraceparent)); };
  handler_->RecordRequest(Entrypoint::kRest, api, call.target.model, status, call.times, trace_id);
  handler_->failures().Note(kRest, api, call.target.model, status, trace_id, absl::Now());
  call.model = RoutedModel();  // before the reply is sent: a slow client keeps no version loaded
  call.respond(std::move(reply));
}

}  // namespace tessera::serving

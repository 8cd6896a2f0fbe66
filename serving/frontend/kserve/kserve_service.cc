#include "serving/frontend/kserve/kserve_service.h"

#include <memory>
#include <utility>

#include "runtime/base/exception_status.h"
#include "runtime/base/status.h"
#include "serving/frontend/grpc/call_dispatch.h"
#include "serving/frontend/grpc/grpc_call.h"

namespace tessera::serving {
namespace {

using Context = grpc::CallbackServerContext;

// A method as logs name it, and the handler that has the logs.
struct Method {
  const RequestHandler* handler;
  absl::string_view name;
};

// Returns the model that a request of the protocol names; "" for one of the whole server.
template <typename Request>
absl::string_view NamedModel(const Request& request) {
  if constexpr (requires { request.model_name(); }) {
    return request.model_name();
  } else if constexpr (requires { request.name(); }) {
    return request.name();
  }
  return {};
}

// Reads the request of a new call. Returns false if that has ended the call.
template <typename Request, typename Response>
bool ReadCall(const grpc::ByteBuffer& bytes, MessageCall<Request, Response>* call) {
  if (!call->Read(bytes)) return false;
  call->model_name = NamedModel(call->request);
  return true;
}

// Answers a call at once.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerNow(const Method& method, Context* context,
                                    const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                    Answer answer) {
  auto* call =
      new MessageCall<Request, Response>(context, *request, response, method.handler, method.name);
  if (ReadCall(*request, call)) {
    call->ReplyWith([&] { return answer(call->request, &call->response); });
  }
  return call;
}

// Answers a call on a pool, because the answer waits for a model.
template <typename Request, typename Response, typename Answer>
grpc::ServerUnaryReactor* AnswerOn(const Method& method, ElasticPool& pool, Context* context,
                                   const grpc::ByteBuffer* request, grpc::ByteBuffer* response,
                                   Answer answer) {
  auto* call =
      new MessageCall<Request, Response>(context, *request, response, method.handler, method.name);
  if (!ReadCall(*request, call)) return call;
  pool.Schedule(
      [call, answer] { call->ReplyWith([&] { return answer(call->request, call->options()); }); });
  return call;
}

// An inference that was read from the wire.
struct Inference {
  absl::Status Read(const grpc::ByteBuffer& bytes) {
    return CatchExceptions(kTheRequest, [&] { return wire.Read(bytes); });
  }
  absl::StatusOr<ModelSpec> model_spec() const {
    return ModelSpec{.name = wire.model_name()};  // the version is the repository's business
  }
  absl::string_view signature_name() const {
    const absl::StatusOr<InferSignature> signature = SignatureToInfer(model->info());
    return signature.ok() ? signature->name : absl::string_view();
  }
  size_t size_bytes() const { return wire.size_bytes(); }

  WireInferRequest wire;
  RoutedModel model;
};

absl::Status Answer(const RequestHandler& handler, const Inference& inference,
                    const RoutedModel& model, const CallOptions& options, InferEnvelope envelope,
                    grpc::ByteBuffer* response) {
  ASSIGN_OR_RETURN(const InferRequest request, inference.wire.Request());
  const auto read = [&](size_t i, DType dtype, const Shape& shape) {
    return inference.wire.Elements(i, dtype, shape);
  };
  PredictResult result;
  RETURN_IF_ERROR(Infer(handler, model, request, read, options, &result));
  ASSIGN_OR_RETURN(*response, EncodeInferResponse(request.id, model.id(), result, envelope));
  return absl::OkStatus();
}

}  // namespace

class KServeService::InferCall final : public GrpcCall, public Inference {
 public:
  InferCall(const Context* context, const grpc::ByteBuffer& request, grpc::ByteBuffer* response,
            const RequestHandler* handler)
      : GrpcCall(context, request, response, handler, "ModelInfer"), response(response) {}

  void Reply(const absl::Status& status) { End(status); }

  grpc::ByteBuffer* const response;
};

template <typename Call>
void KServeService::Dispatch(Call* call, InferEnvelope envelope) {
  const auto find = [this, call](const ModelSpec& spec, RoutingKeys keys) {
    return repository_->Find(spec.name, call->wire.model_version(), keys);
  };
  const auto answer = [handler = handler_, envelope](Call& call, const RoutedModel& model) {
    return Answer(*handler, call, model, call.options(), envelope, call.response);
  };
  DispatchCall(
      {.handler = handler_, .pool = pool_, .method = RequestMethod::kPredict, .api = "ModelInfer"},
      call, find, answer);
}

KServeService::Reactor* KServeService::ModelInfer(Context* context, const Bytes* request,
                                                  Bytes* response) {
  auto* call = new InferCall(context, *request, response, handler_);
  DispatchRead(pool_, call, *request, [this, call, request] {
    if (const absl::Status status = call->Read(*request); !status.ok()) return call->End(status);
    Dispatch(call, InferEnvelope::kNone);
  });
  return call;
}

// Reads a request, answers it, and only then reads the next. Deletes itself when the stream ends.
class KServeService::InferStream final : public grpc::ServerBidiReactor<Bytes, Bytes> {
 public:
  InferStream(KServeService* service, const Context* context)
      : service_(service), context_(context), deadline_(DeadlineOf(*context)) {
    absl::MutexLock lock(&service_->streams_mu_);
    service_->streams_.insert(this);
    ReadNext();
  }

  void EndIfIdleSince(absl::Time time) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    if (idle_since_ >= time) return;
    EndLocked({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  }

 private:
  // One request of the stream.
  struct Turn : Inference {
    explicit Turn(InferStream* stream) : stream(stream), response(&stream->written_) {}

    CallOptions options() {
      return {
          .deadline = stream->deadline_, .cancellation = &stream->cancellation_, .times = &times};
    }
    std::optional<absl::string_view> Metadata(absl::string_view name) const {
      return MetadataOf(*stream->context_, name);
    }
    absl::string_view TraceId() const { return TraceIdOf(*stream->context_); }
    void Reply(const absl::Status& status) {
      if (!status.ok()) *response = EncodeStreamError(wire.id(), status);
      NoteGrpcEnd(*stream->service_->handler_, *stream->context_,
                  {.method = "ModelStreamInfer",
                   .model_name = model_name,
                   .times = times,
                   .status = status,
                   .bytes_in = wire.size_bytes(),
                   .response = *response});
      stream->StartWrite(response);
    }

    InferStream* const stream;
    grpc::ByteBuffer* const response;
    RequestTimes times{.arrived = absl::Now()};
    absl::string_view model_name;
  };

  void ReadNext() ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    idle_since_ = absl::Now();
    StartRead(&read_);
  }
  void End(const grpc::Status& status) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::MutexLock lock(&mu_);
    EndLocked(status);
  }
  void EndLocked(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (!std::exchange(is_ended_, true)) Finish(status);
  }
  void OnReadDone(bool ok) override {
    if (!ok) return End(grpc::Status::OK);  // the client has sent all it has
    {
      absl::MutexLock lock(&mu_);
      if (is_ended_) return;
      idle_since_ = absl::InfiniteFuture();
    }
    turn_ = std::make_unique<Turn>(this);
    DispatchRead(service_->pool_, turn_.get(), read_, [this] {
      if (const absl::Status status = turn_->Read(read_); !status.ok()) {
        return End(ToGrpcStatus(status));
      }
      service_->Dispatch(turn_.get(), InferEnvelope::kStream);
    });
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return End(ToGrpcStatus(absl::CancelledError("the client has gone")));
    // The messages share the memory of tensors, which a client that waits must not keep.
    read_.Clear();
    written_.Clear();
    turn_.reset();
    ReadNext();
  }
  void OnCancel() override { cancellation_.Cancel(); }
  void OnDone() override {
    {
      absl::MutexLock lock(&service_->streams_mu_);
      service_->streams_.erase(this);
    }
    delete this;
  }

  KServeService* const service_;
  const Context* const context_;
  const absl::Time deadline_;
  CancellationManager cancellation_;
  Bytes read_, written_;
  std::unique_ptr<Turn> turn_;
  absl::Mutex mu_;
  absl::Time idle_since_ ABSL_GUARDED_BY(mu_);  // InfiniteFuture() while a request is answered
  bool is_ended_ ABSL_GUARDED_BY(mu_) = false;
};

void KServeService::EndStreamsIdleSince(absl::Time time) {
  absl::MutexLock lock(&streams_mu_);
  for (InferStream* const stream : streams_) stream->EndIfIdleSince(time);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* KServeService::ModelStreamInfer(
    Context* context) {
  return new InferStream(this, context);
}

KServeService::Reactor* KServeService::ServerLive(Context* context, const Bytes* request,
                                                  Bytes* response) {
  return AnswerNow<inference::ServerLiveRequest, inference::ServerLiveResponse>(
      {handler_, "ServerLive"}, context, request, response, [](const auto&, auto* answer) {
        answer->set_live(true);
        return absl::OkStatus();
      });
}

KServeService::Reactor* KServeService::ServerReady(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return AnswerNow<inference::ServerReadyRequest, inference::ServerReadyResponse>(
      {handler_, "ServerReady"}, context, request, response, [this](const auto&, auto* answer) {
        answer->set_ready(repository_->IsReady());
        return absl::OkStatus();
      });
}

KServeService::Reactor* KServeService::ModelReady(Context* context, const Bytes* request,
                                                  Bytes* response) {
  return AnswerNow<inference::ModelReadyRequest, inference::ModelReadyResponse>(
      {handler_, "ModelReady"}, context, request, response,
      [this](const auto& asked, auto* answer) -> absl::Status {
        ASSIGN_OR_RETURN(const bool ready,
                         repository_->IsModelReady(asked.name(), asked.version()));
        answer->set_ready(ready);
        return absl::OkStatus();
      });
}

KServeService::Reactor* KServeService::ServerMetadata(Context* context, const Bytes* request,
                                                      Bytes* response) {
  return AnswerNow<inference::ServerMetadataRequest, inference::ServerMetadataResponse>(
      {handler_, "ServerMetadata"}, context, request, response, [this](const auto&, auto* answer) {
        repository_->FillServer(answer);
        return absl::OkStatus();
      });
}

KServeService::Reactor* KServeService::ModelMetadata(Context* context, const Bytes* request,
                                                     Bytes* response) {
  return AnswerNow<inference::ModelMetadataRequest, inference::ModelMetadataResponse>(
      {handler_, "ModelMetadata"}, context, request, response,
      [this](const auto& asked, auto* answer) {
        return repository_->FillModel(asked.name(), asked.version(), answer);
      });
}

KServeService::Reactor* KServeService::ModelConfig(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return AnswerNow<inference::ModelConfigRequest, inference::ModelConfigResponse>(
      {handler_, "ModelConfig"}, context, request, response,
      [this](const auto& asked, auto* answer) {
        return repository_->FillModelConfig(asked.name(), asked.version(),
                                            answer->mutable_config());
      });
}

KServeService::Reactor* KServeService::ModelStatistics(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return AnswerNow<inference::ModelStatisticsRequest, inference::ModelStatisticsResponse>(
      {handler_, "ModelStatistics"}, context, request, response,
      [this](const auto& asked, auto* answer) {
        return repository_->FillModelStatistics(asked.name(), asked.version(), answer);
      });
}

KServeService::Reactor* KServeService::TraceSetting(Context* context, const Bytes* request,
                                                    Bytes* response) {
  return AnswerNow<inference::TraceSettingRequest, inference::TraceSettingResponse>(
      {handler_, "TraceSetting"}, context, request, response,
      [this](const auto& asked, auto* answer) {
        return repository_->FillTraceSettings(asked, answer);
      });
}

KServeService::Reactor* KServeService::LogSettings(Context* context, const Bytes* request,
                                                   Bytes* response) {
  return AnswerNow<inference::LogSettingsRequest, inference::LogSettingsResponse>(
      {handler_, "LogSettings"}, context, request, response,
      [this](const auto& asked, auto* answer) {
        return repository_->FillLogSettings(asked, answer);
      });
}

KServeService::Reactor* KServeService::RepositoryIndex(Context* context, const Bytes* request,
                                                       Bytes* response) {
  return AnswerNow<inference::RepositoryIndexRequest, inference::RepositoryIndexResponse>(
      {handler_, "RepositoryIndex"}, context, request, response,
      [this](const auto& asked, auto* answer) { return repository_->FillIndex(asked, answer); });
}

KServeService::Reactor* KServeService::RepositoryModelLoad(Context* context, const Bytes* request,
                                                           Bytes* response) {
  return AnswerOn<inference::RepositoryModelLoadRequest, inference::RepositoryModelLoadResponse>(
      {handler_, "RepositoryModelLoad"}, control_pool_, context, request, response,
      [this](const auto& asked, const CallOptions& options) {
        return repository_->LoadModel(asked, options);
      });
}

KServeService::Reactor* KServeService::RepositoryModelUnload(Context* context, const Bytes* request,
                                                             Bytes* response) {
  return AnswerOn<inference::RepositoryModelUnloadRequest,
                  inference::RepositoryModelUnloadResponse>(
      {handler_, "RepositoryModelUnload"}, control_pool_, context, request, response,
      [this](const auto& asked, const CallOptions& options) {
        return repository_->UnloadModel(asked, options);
      });
}

}  // namespace tessera::serving

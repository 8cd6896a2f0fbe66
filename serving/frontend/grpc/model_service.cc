#include "serving/frontend/grpc/model_service.h"

#include <map>
#include <string>

#include "runtime/base/status.h"
#include "serving/frontend/grpc/call_dispatch.h"
#include "serving/frontend/grpc/grpc_call.h"
#include "serving/servables/serving_proto.h"

namespace tessera::serving {
namespace {

absl::Status Answer(const RequestHandler& handler,
                    const tensorflow::serving::GetModelStatusRequest& request,
                    tensorflow::serving::GetModelStatusResponse* response) {
  if (!request.has_model_spec()) return absl::InvalidArgumentError("Missing ModelSpec");
  const ModelSpec spec = ViewModelSpec(request.model_spec());
  ASSIGN_OR_RETURN(const std::vector<ServableState> states,
                   handler.StatesOf(spec.name, spec.version));
  FillModelStatus(states, response);
  return absl::OkStatus();
}

// Also fills the response, with how much the metrics that the request names have grown.
absl::Status Answer(RequestHandler& handler,
                    const tensorflow::serving::ReloadConfigRequest& request,
                    const CallOptions& options,
                    tensorflow::serving::ReloadConfigResponse* response) {
  if (!request.config().has_model_config_list()) {
    return absl::InvalidArgumentError(
        "Request does not contain a model_config_list. Only ModelConfigList is currently "
        "supported");
  }
  const auto value_of = [&](const std::string& metric) {
    return handler.metrics().FirstValue(metric).value_or(0);
  };
  std::map<std::string, int64_t> before;
  for (const std::string& name : request.metric_names()) before[name] = value_of(name);
  const absl::Status status = handler.ApplyConfig(request.config(), options);
  FillStatus(status, response->mutable_status());
  for (const auto& [name, value] : before) {
    auto* const metric = response->add_metric();
    metric->set_name(name);
    metric->set_int64_value_increase(value_of(name) - value);
  }
  return status;
}

}  // namespace

grpc::ServerUnaryReactor* ModelService::GetModelStatus(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::GetModelStatusRequest,
                               tensorflow::serving::GetModelStatusResponse>(
      context, *request, response, handler_, "GetModelStatus");
  DispatchRead(pool_, call, *request, [this, call, request] {
    if (!call->Read(*request)) return;
    call->model_name = call->request.model_spec().name();
    call->ReplyWith([&] { return Answer(*handler_, call->request, &call->response); });
  });
  return call;
}

grpc::ServerUnaryReactor* ModelService::HandleReloadConfigRequest(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::ReloadConfigRequest,
                               tensorflow::serving::ReloadConfigResponse>(
      context, *request, response, handler_, "HandleReloadConfigRequest");
  reload_pool_.Schedule([this, call, request] {
    if (!call->Read(*request)) return;
    call->ReplyWith(
        [&] { return Answer(*handler_, call->request, call->options(), &call->response); });
  });
  return call;
}

}  // namespace tessera::serving

#include "serving/frontend/model_service.h"

#include "serving/frontend/grpc_call.h"

namespace tessera::serving {

grpc::ServerUnaryReactor* ModelService::GetModelStatus(
    grpc::CallbackServerContext* context, const tensorflow::serving::GetModelStatusRequest* request,
    tensorflow::serving::GetModelStatusResponse* response) {
  auto* call = new GrpcCall(context);
  call->End(handler_->GetModelStatus(*request, response));
  return call;
}

grpc::ServerUnaryReactor* ModelService::HandleReloadConfigRequest(
    grpc::CallbackServerContext* context, const tensorflow::serving::ReloadConfigRequest* request,
    tensorflow::serving::ReloadConfigResponse* response) {
  auto* call = new GrpcCall(context);
  reload_pool_.Schedule([this, call, request, response] {
    call->End(handler_->ReloadConfig(*request, response, call->options()));
  });
  return call;
}

}  // namespace tessera::serving

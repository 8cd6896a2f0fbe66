#include "serving/frontend/grpc/model_service.h"

#include "serving/frontend/grpc/grpc_call.h"

namespace tessera::serving {

grpc::ServerUnaryReactor* ModelService::GetModelStatus(grpc::CallbackServerContext* context,
                                                       const grpc::ByteBuffer* request,
                                                       grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::GetModelStatusRequest,
                               tensorflow::serving::GetModelStatusResponse>(context, response);
  if (call->Read(*request)) call->Reply(handler_->GetModelStatus(call->request, &call->response));
  return call;
}

grpc::ServerUnaryReactor* ModelService::HandleReloadConfigRequest(
    grpc::CallbackServerContext* context, const grpc::ByteBuffer* request,
    grpc::ByteBuffer* response) {
  auto* call = new MessageCall<tensorflow::serving::ReloadConfigRequest,
                               tensorflow::serving::ReloadConfigResponse>(context, response);
  if (!call->Read(*request)) return call;
  reload_pool_.Schedule([this, call] {
    call->Reply(handler_->ReloadConfig(call->request, &call->response, call->options()));
  });
  return call;
}

}  // namespace tessera::serving

// The bytes of a PredictResponse.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Of the model that was asked for by this name, and the version that answered. Outputs come in the
// result's order. Large ones are not copied: the buffer holds on to their tensors, which nobody may
// write any more.
// Errors: those of TensorToProto(); RESOURCE_EXHAUSTED for more than a gRPC message can have.
absl::StatusOr<grpc::ByteBuffer> EncodePredictResponse(absl::string_view model_name,
                                                       int64_t version, PredictResult result,
                                                       TensorProtoForm form);

}  // namespace tessera::serving

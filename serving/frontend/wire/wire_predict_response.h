// EncodePredictResponse: writes the bytes of a PredictResponse.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor_proto.h"
#include "serving/servables/inference_request.h"

namespace tessera::serving {

// Returns the bytes of the response with `result`, from this version of the model. Outputs are in
// the order of the result. Large ones are not copied: the buffer keeps a reference to their
// tensors, which must not be written any more. Errors: those of TensorToProto(); RESOURCE_EXHAUSTED
// for more than a gRPC message can have.
absl::StatusOr<grpc::ByteBuffer> EncodePredictResponse(absl::string_view model_name,
                                                       int64_t version, PredictResult result,
                                                       TensorProtoForm form);

}  // namespace tessera::serving

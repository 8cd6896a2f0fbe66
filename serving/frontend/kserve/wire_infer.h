// A ModelInferRequest read from the bytes of a gRPC message, and a ModelInferResponse written to
// them. Raw contents are not copied where tensors can share the memory.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "inference/grpc_service.pb.h"
#include "serving/core/servable_id.h"
#include "serving/frontend/kserve/infer.h"
#include "serving/frontend/wire/wire_message.h"

namespace tessera::serving {

// Reads all but the raw contents into a message, and keeps the positions of those.
//
//   WireInferRequest wire;
//   RETURN_IF_ERROR(wire.Read(bytes));
//   ASSIGN_OR_RETURN(const InferRequest request, wire.Request());
//   auto read = [&](size_t i, DType d, const Shape& s) { return wire.Elements(i, d, s); };
class WireInferRequest {
 public:
  // Must be called once. Errors: INTERNAL if the bytes are no ModelInferRequest, as from gRPC.
  absl::Status Read(const grpc::ByteBuffer& bytes);

  const std::string& model_name() const { return message_.model_name(); }
  const std::string& model_version() const { return message_.model_version(); }
  const std::string& id() const { return message_.id(); }
  size_t size_bytes() const { return size_bytes_; }

  // Errors: INVALID_ARGUMENT for parameters without a value or with one of uint64, and if inputs
  // have raw and typed contents at once, or another number of raw contents than there are inputs.
  absl::StatusOr<InferRequest> Request() const;
  // Errors: those of TensorFromRaw() and TensorFromTyped().
  absl::StatusOr<Tensor> Elements(size_t i, DType dtype, const Shape& shape) const;

 private:
  bool Split(WireReader in, std::string* all_but_raw);

  WireMessage bytes_;
  size_t size_bytes_ = 0;
  inference::ModelInferRequest message_;
  absl::InlinedVector<WireReader, 2> raw_;
};

// The message that a response is sent in.
enum class InferEnvelope { kNone, kStream };

// Returns the bytes of a ModelInferResponse, or of a ModelStreamInferResponse with it. Outputs are
// raw, in the order of the result; the memory of large ones is shared and must not be written any
// more. Errors: UNIMPLEMENTED for an output of a dtype that the protocol lacks; RESOURCE_EXHAUSTED
// for more than a gRPC message can have.
absl::StatusOr<grpc::ByteBuffer> EncodeInferResponse(const std::string& request_id,
                                                     const ServableId& model,
                                                     const PredictResult& result,
                                                     InferEnvelope envelope);

// Returns the bytes of a ModelStreamInferResponse with an error.
grpc::ByteBuffer EncodeStreamError(const std::string& request_id, const absl::Status& error);

}  // namespace tessera::serving

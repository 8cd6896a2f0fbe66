// Inference by KServe's protocol, whatever transport a request comes by.
//
//   InferRequest request;          // what the message says, without the elements of its inputs
//   request.inputs.push_back({.name = "x", .datatype = "FP32", .shape = {2, 3}});
//   auto read = [&](size_t i, DType dtype, const Shape& shape) {
//     return Elements(i, dtype, shape);
//   };
//   PredictResult result;
//   absl::Status status = Infer(handler, model, request, read, options, &result);
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "serving/frontend/kserve/infer_parameter.h"
#include "serving/frontend/request_handler.h"

namespace tessera::serving {

struct InferInput {
  std::string name;
  std::string datatype;
  absl::InlinedVector<int64_t, 6> shape;
};

struct InferOutput {
  std::string name;
  InferParameters parameters;
};

struct InferRequest {
  std::string id;
  InferParameters parameters;
  absl::InlinedVector<InferInput, 1> inputs;
  absl::InlinedVector<InferOutput, 2> outputs;  // the wanted ones; empty: all
};

// The signature that requests run, and its name.
struct InferSignature {
  absl::string_view name;
  const SignatureInfo* info = nullptr;
};
// Returns serving_default, or the only signature of a model that does not have it; the protocol
// cannot name one. Errors: FAILED_PRECONDITION if a model has several others.
absl::StatusOr<InferSignature> SignatureToInfer(const ModelInfo& model);

// Returns the elements of inputs[i], which has this dtype and shape. Called at most once for each
// input, after all names, datatypes and shapes were found to fit.
using ReadElements =
    absl::FunctionRef<absl::StatusOr<Tensor>(size_t i, DType dtype, const Shape& shape)>;

// Answers a request. Outputs are in the model's order, each once. An output with the parameter
// `classification` holds its largest values, see Classification(). Errors: INVALID_ARGUMENT for
// parameters, or for names, datatypes and shapes that do not fit the model; those of `read`; those
// of SignatureToInfer() and of RequestHandler::Predict().
absl::Status Infer(const RequestHandler& handler, const RoutedModel& model,
                   const InferRequest& request, ReadElements read, const CallOptions& options,
                   PredictResult* result);

}  // namespace tessera::serving

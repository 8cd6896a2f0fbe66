// A model as KServe's protocol describes it.
#pragma once

#include "absl/status/status.h"
#include "inference/grpc_service.pb.h"
#include "serving/servables/request_stats.h"
#include "serving/servables/servable.h"

namespace tessera::serving {

// Fills inputs and outputs of the signature that requests run, and the platform. Errors:
// UNIMPLEMENTED if one is of a dtype that the protocol lacks; those of SignatureToInfer().
absl::Status FillMetadata(const ModelInfo& model, inference::ModelMetadataResponse* metadata);

// Fills the configuration that Triton would have for the model: without a batch dimension of its
// own, so that dims are whole shapes. Errors: as above.
absl::Status FillConfig(const ModelInfo& model, inference::ModelConfig* config);

// Fills what requests to a version took, by any protocol. Each counts as one inference and one
// execution. Those refused with INVALID_ARGUMENT count as nothing.
void FillStatistics(const ServableId& id, const RequestStats& stats,
                    inference::ModelStatistics* statistics);

}  // namespace tessera::serving

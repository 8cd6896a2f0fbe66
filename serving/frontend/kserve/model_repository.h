// ModelRepository: what clients of KServe's protocol are told of the server and its models, and
// what they may change. Inference is apart, see infer.h.
#pragma once

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "inference/grpc_service.pb.h"
#include "serving/frontend/request_handler.h"
#include "serving/servables/served_models.h"

namespace tessera::serving {

// The messages of the protocol are filled here, and both transports send them. A version is given
// as its number in decimal digits; an empty string asks for the one that the server would choose.
//
// Errors of all calls that name a model: INVALID_ARGUMENT for a version that is no number,
// NOT_FOUND for a model or version that is not served, UNAVAILABLE for a version that failed to
// load.
//
// Thread-safe. No call waits but LoadModel() and UnloadModel().
class ModelRepository {
 public:
  struct Options {
    std::string server_version;
    // Whether clients may load and unload models.
    bool allow_model_control = false;
  };
  // Both must outlive the repository.
  ModelRepository(Options options, const RequestHandler* handler, ServedModels* models);

  bool IsReady() const { return handler_->IsReady(); }
  void FillServer(inference::ServerMetadataResponse* server) const;

  // Finds the version that a request is answered by; see RequestHandler::FindModel().
  absl::StatusOr<RoutedModel> Find(absl::string_view name, absl::string_view version,
                                   RoutingKeys keys) const;
  // Returns whether a model is served. Errors: INVALID_ARGUMENT for a version that is no number.
  absl::StatusOr<bool> IsModelReady(absl::string_view name, absl::string_view version) const;

  // Further errors of these: see model_description.h.
  absl::Status FillModel(absl::string_view name, absl::string_view version,
                         inference::ModelMetadataResponse* metadata) const;
  absl::Status FillModelConfig(absl::string_view name, absl::string_view version,
                               inference::ModelConfig* config) const;
  // Without a name: of all versions that are served.
  absl::Status FillModelStatistics(absl::string_view name, absl::string_view version,
                                   inference::ModelStatisticsResponse* statistics) const;

  // Lists the versions that this process has seen of each configured model. Errors: UNIMPLEMENTED
  // if the request names a repository.
  absl::Status FillIndex(const inference::RepositoryIndexRequest& request,
                         inference::RepositoryIndexResponse* index) const;
  // Load and unload configured models, see ServedModels. They wait for that.
  // Errors: UNAVAILABLE unless the options allow it; UNIMPLEMENTED if the request names a
  // repository, or has parameters that would change the model; NOT_FOUND for a model that is not
  // configured; INVALID_ARGUMENT for one that failed to load.
  absl::Status LoadModel(const inference::RepositoryModelLoadRequest& request,
                         const CallOptions& options);
  absl::Status UnloadModel(const inference::RepositoryModelUnloadRequest& request,
                           const CallOptions& options);

  // Fill the settings as they are. They cannot be changed: errors: UNIMPLEMENTED for a request that
  // sets one to another value.
  absl::Status FillTraceSettings(const inference::TraceSettingRequest& request,
                                 inference::TraceSettingResponse* settings) const;
  absl::Status FillLogSettings(const inference::LogSettingsRequest& request,
                               inference::LogSettingsResponse* settings) const;

 private:
  absl::StatusOr<ModelHandle> FindDescribed(absl::string_view name,
                                            absl::string_view version) const;
  // Returns why a version is not there.
  absl::Status Missing(const ModelSpec& spec, const absl::Status& not_found) const;
  absl::Status CheckControl(absl::string_view repository_name) const;

  const Options options_;
  const RequestHandler* const handler_;
  ServedModels* const models_;
};

}  // namespace tessera::serving

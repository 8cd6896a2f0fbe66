// ModelClient: asks a server about one model, for commands.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "serving/commands/client/model_codec.h"
#include "serving/commands/connection_flags.h"
#include "serving/commands/load/request_target.h"
#include "serving/server/flag_parser.h"

namespace tessera::serving {

// The flags that name a server, and a version and a signature of a model on it.
struct ServerFlags {
  std::string server;  // empty: the port of the protocol on this machine
  bool rest = false;
  float timeout = 30;
  std::vector<std::string> headers;  // NAME:VALUE
  ConnectionFlags connection;
  std::string version;
  std::string label;
  std::string signature = "serving_default";

  bool operator==(const ServerFlags&) const = default;
  // The flags write into this object, which must outlive the parser.
  void AddTo(FlagParser* flags);
};

// Asks over a new connection each time. Errors of all calls name the remedy: those of the server;
// UNAVAILABLE if none is reached; NOT_FOUND with the versions that there are for a missing one.
// Thread-safe.
class ModelClient {
 public:
  // Errors: UsageError() for flags that make no sense; those of ConnectionFlags::Read().
  static absl::StatusOr<ModelClient> Create(const ServerFlags& flags, const std::string& model);

  absl::StatusOr<ModelMetadata> Metadata() const;
  // Without a version or label the states of all versions.
  absl::StatusOr<tensorflow::serving::GetModelStatusResponse> Status() const;
  // Errors: NOT_FOUND if the version has no such signature.
  absl::StatusOr<RemoteSignature> Signature() const;
  absl::StatusOr<ModelCodec::Outputs> Predict(const std::map<std::string, Tensor>& inputs,
                                              const RemoteSignature& signature) const;

  // For load: the request as it goes over the wire, and the options of a target that takes it.
  absl::StatusOr<EncodedRequest> EncodePredict(const std::map<std::string, Tensor>& inputs) const;
  RequestTarget::Options TargetOptions(const std::string& url) const;

  // "model 'digits' at 127.0.0.1:8500".
  std::string Description() const;

 private:
  ModelClient() = default;
  // Returns the bytes of the answer.
  absl::StatusOr<std::string> Ask(const EncodedRequest& request) const;
  absl::StatusOr<std::string> AskOnce(const EncodedRequest& request) const;
  // Adds what the user can do.
  absl::Status Explain(const absl::Status& status) const;

  std::string server_;
  bool rest_ = false;
  absl::Duration timeout_;
  std::vector<std::pair<std::string, std::string>> headers_;
  std::optional<ClientTls> tls_;
  tensorflow::serving::ModelSpec spec_;
  std::unique_ptr<ModelCodec> codec_;
};

}  // namespace tessera::serving

// gRPC's C API has two things that its C++ API lacks: certificates that are asked for at each
// connection, and the processing of metadata on ports without encryption.
#include "serving/frontend/grpc/server_credentials.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "serving/frontend/traceparent.h"

namespace tessera::serving {
namespace {

absl::string_view ToView(const grpc_slice& slice) {
  return {reinterpret_cast<const char*>(GRPC_SLICE_START_PTR(slice)), GRPC_SLICE_LENGTH(slice)};
}

// Whether a method is one by which a server is probed. It tells nothing of models.
bool IsProbe(absl::string_view path) {
  return absl::StartsWith(path, "/grpc.health.v1.Health/") ||
         path == "/inference.GRPCInferenceService/ServerLive" ||
         path == "/inference.GRPCInferenceService/ServerReady";
}

// Checks the tokens of calls.
class CallGuard {
 public:
  CallGuard(const BearerTokens* tokens, AccessLog* log) : tokens_(tokens), log_(log) {}

  absl::Status Check(const grpc_metadata* metadata, size_t count) const {
    absl::string_view path, authorization, trace;
    int num_traces = 0;
    for (size_t i = 0; i < count; ++i) {
      const absl::string_view key = ToView(metadata[i].key);
      if (key == ":path") path = ToView(metadata[i].value);
      if (key == "authorization") authorization = ToView(metadata[i].value);
      if (key == kTraceparent) {
        trace = ToView(metadata[i].value);
        ++num_traces;
      }
    }
    if (IsProbe(path)) return absl::OkStatus();
    const absl::Time now = absl::Now();
    const absl::Status status = tokens_->Check(authorization, now);
    if (status.ok() || log_ == nullptr) return status;
    log_->Add({.protocol = "grpc",
               .method = path.substr(path.rfind('/') + 1),
               .status = absl::StatusCodeToString(status.code()),
               .arrived = now,
               .trace_id = num_traces == 1 ? TraceIdOf(trace) : ""});
    return status;
  }

 private:
  const BearerTokens* const tokens_;
  AccessLog* const log_;
};

void ProcessMetadata(void* guard, grpc_auth_context*, const grpc_metadata* metadata, size_t count,
                     grpc_process_auth_metadata_done_cb done, void* user_data) {
  const absl::Status status = static_cast<const CallGuard*>(guard)->Check(metadata, count);
  done(user_data, nullptr, 0, nullptr, 0, static_cast<grpc_status_code>(status.code()),
       std::string(status.message()).c_str());
}

class CoreCredentials final : public grpc::ServerCredentials {
 public:
  explicit CoreCredentials(const ServerCredentialsOptions& options)
      : certificates_(options.certificates),
        tokens_(options.tokens),
        guard_(tokens_.get(), options.access_log) {
    if (certificates_ != nullptr) {
      core_ = MakeTls();
    } else if (options.alts) {
      grpc_alts_credentials_options* alts = grpc_alts_credentials_server_options_create();
      core_ = grpc_alts_server_credentials_create(alts);
      grpc_alts_credentials_options_destroy(alts);
    } else {
      core_ = grpc_insecure_server_credentials_create();
    }
    if (tokens_ == nullptr || core_ == nullptr) return;
    grpc_server_credentials_set_auth_metadata_processor(
        core_, {.process = ProcessMetadata, .destroy = [](void*) {}, .state = &guard_});
  }
  ~CoreCredentials() override { grpc_server_credentials_release(core_); }

  bool is_usable() const { return core_ != nullptr; }

  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override {}

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), core_);
  }

  grpc_server_credentials* MakeTls() {
    const auto request = certificates_->verify_clients()
                             ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                             : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE;
    const auto current = certificates_->Get();
    // Certificates that are fetched must have authorities. Without any no client is believed, so
    // that nothing is lost by certificates that stay.
    const bool believes_nobody =
        certificates_->verify_clients() && current->pem.client_authorities.empty();
    return grpc_ssl_server_credentials_create_with_options(
        believes_nobody ? grpc_ssl_server_credentials_create_options_using_config(
                              request, MakeConfig(current->pem, nullptr))
                        : grpc_ssl_server_credentials_create_options_using_config_fetcher(
                              request,
                              [](void* self, grpc_ssl_server_certificate_config** config) {
                                return static_cast<CoreCredentials*>(self)->Fetch(config);
                              },
                              this));
  }

  static grpc_ssl_server_certificate_config* MakeConfig(const PemCertificates& pem,
                                                        const char* authorities) {
    const grpc_ssl_pem_key_cert_pair pair = {.private_key = pem.key.c_str(),
                                             .cert_chain = pem.certificates.c_str()};
    return grpc_ssl_server_certificate_config_create(authorities, &pair, 1);
  }

  // Called for each connection.
  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    const auto current = certificates_->Get();
    absl::MutexLock lock(&mu_);
    if (current == shown_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    shown_ = current;
    // Where no client is asked for a certificate, any authorities will do.
    const PemCertificates& pem = current->pem;
    *config = MakeConfig(
        pem, (certificates_->verify_clients() ? pem.client_authorities : pem.certificates).c_str());
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const std::shared_ptr<ServerCertificates> certificates_;
  const std::shared_ptr<const BearerTokens> tokens_;
  CallGuard guard_;
  grpc_server_credentials* core_ = nullptr;
  absl::Mutex mu_;
  // What gRPC has got.
  std::shared_ptr<const ServerCertificates::Current> shown_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const ServerCredentialsOptions& options) {
  auto credentials = std::make_shared<CoreCredentials>(options);
  if (credentials->is_usable()) return credentials;
  return absl::FailedPreconditionError(
      "use_alts_credentials: ALTS works on machines of Google Cloud alone; elsewhere, use TLS by "
      "ssl_certificate_file");
}

}  // namespace tessera::serving

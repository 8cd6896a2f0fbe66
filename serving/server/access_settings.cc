#include "serving/server/access_settings.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/base/file_system.h"
#include "runtime/base/status.h"
#include "serving/server/text_proto_file.h"

namespace tessera::serving {
namespace {

using tensorflow::serving::SSLConfig;

PemCertificates FromConfig(const SSLConfig& config) {
  return {.certificates = config.server_cert(),
          .key = config.server_key(),
          .client_authorities = config.custom_ca()};
}

ServerCertificates::Options FromConfigFile(const std::string& path, bool verify_clients) {
  const auto read = [path]() -> absl::StatusOr<PemCertificates> {
    SSLConfig config;
    RETURN_IF_ERROR(ReadTextProto(path, &config));
    return FromConfig(config);
  };
  return {.read = read, .files = {path}, .verify_clients = verify_clients};
}

ServerCertificates::Options FromPemFiles(const ServerOptions& options) {
  const std::string& certificate = options.ssl_certificate_file;
  const std::string& key = options.ssl_key_file;
  const std::string& authorities = options.ssl_client_ca_file;
  const auto read = [certificate, key, authorities]() -> absl::StatusOr<PemCertificates> {
    PemCertificates pem;
    ASSIGN_OR_RETURN(pem.certificates, ReadFile(certificate));
    ASSIGN_OR_RETURN(pem.key, ReadFile(key));
    if (!authorities.empty()) {
      ASSIGN_OR_RETURN(pem.client_authorities, ReadFile(authorities));
      if (pem.client_authorities.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(authorities, " is empty"));
      }
    }
    return pem;
  };
  return ServerCertificates::Options{.read = read,
                                     .files = {certificate, key, authorities},
                                     .verify_clients = !authorities.empty()};
}

// Returns null without TLS, and after an error.
std::shared_ptr<ServerCertificates> ReadCertificates(const ServerOptions& options,
                                                     ConfigReport* report) {
  const bool by_files = !options.ssl_certificate_file.empty() || !options.ssl_key_file.empty() ||
                        !options.ssl_client_ca_file.empty();
  const bool by_config_file = !options.ssl_config_file.empty();
  const bool by_config = by_config_file || options.ssl;
  const auto refuse = [report](const char* key, absl::string_view message) {
    report->Add({.key = key}, absl::InvalidArgumentError(message));
    return nullptr;
  };
  if (by_files && by_config) {
    return refuse("ssl_certificate_file",
                  "ssl_certificate_file and its like exclude ssl_config_file and the block ssl; "
                  "choose one");
  }
  if (options.use_alts_credentials && (by_files || by_config)) {
    return refuse("use_alts_credentials",
                  "use_alts_credentials excludes ssl_config_file, ssl_certificate_file and the "
                  "block ssl; choose one");
  }
  if (options.rest_api_ssl && !by_files && !by_config) {
    return refuse("rest_api_ssl",
                  "rest_api_ssl needs a certificate: set ssl_certificate_file and ssl_key_file");
  }
  if (options.admin_ssl && !by_files && !by_config) {
    return refuse("admin_ssl",
                  "admin_ssl needs a certificate: set ssl_certificate_file and ssl_key_file");
  }
  if (by_files && (options.ssl_certificate_file.empty() || options.ssl_key_file.empty())) {
    return refuse("ssl_certificate_file",
                  "TLS needs a certificate and its key: set both ssl_certificate_file and "
                  "ssl_key_file");
  }
  if (!by_files && !by_config) return nullptr;
  if (options.rest_api_port != 0 && !options.rest_api_ssl) {
    report->Warn({.key = "rest_api_ssl"},
                 "REST is not encrypted: rest_api_ssl would use TLS there, too");
  }
  ServerCertificates::Options source;
  std::string key = "ssl";
  if (by_files) {
    key = "ssl_certificate_file";
    source = FromPemFiles(options);
  } else if (by_config_file) {
    key = "ssl_config_file";
    SSLConfig config;
    if (!ReadTextProtoOfFlag(key, options.ssl_config_file, &config, report)) return nullptr;
    source = FromConfigFile(options.ssl_config_file, config.client_verify());
  } else {
    source = {.read = [config = *options.ssl] { return FromConfig(config); },
              .verify_clients = options.ssl->client_verify()};
  }
  auto certificates = ServerCertificates::Open(source);
  if (certificates.ok()) return *std::move(certificates);
  report->Add({.key = key}, Annotate(certificates.status(), absl::StrCat(key, ": ")));
  return nullptr;
}

}  // namespace

AccessSettings ReadAccessSettings(const ServerOptions& options, ConfigReport* report) {
  AccessSettings settings;
  settings.certificates = ReadCertificates(options, report);
  if (options.token_file.empty()) return settings;
  auto tokens = BearerTokens::Open(options.token_file, "--token_file");
  if (tokens.ok()) {
    settings.tokens = *std::move(tokens);
  } else {
    report->Add({.key = "token_file"}, Annotate(tokens.status(), "token_file: "));
  }
  return settings;
}

}  // namespace tessera::serving

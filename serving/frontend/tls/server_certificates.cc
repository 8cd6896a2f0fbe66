#include "serving/frontend/tls/server_certificates.h"

#include "runtime/base/status.h"

namespace tessera::serving {

absl::StatusOr<std::unique_ptr<ServerCertificates>> ServerCertificates::Open(
    const Options& options) {
  const auto read = [options]() -> absl::StatusOr<Current> {
    Current current;
    ASSIGN_OR_RETURN(current.pem, options.read());
    ASSIGN_OR_RETURN(current.context, MakeTlsContext(current.pem, options.verify_clients));
    return current;
  };
  ASSIGN_OR_RETURN(auto current,
                   FileBacked<Current>::Open("the certificates for TLS", options.files, read));
  return std::unique_ptr<ServerCertificates>(
      new ServerCertificates(std::move(current), options.verify_clients));
}

}  // namespace tessera::serving

// ServerCertificates: the certificates that a server shows and believes now.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/base/file_backed.h"
#include "serving/frontend/tls/tls_context.h"

namespace tessera::serving {

// One set for all ports of a server. If they come from files, those are looked at with each new
// connection, so that a connection gets the certificates that are there when it begins.
// Certificates that cannot be used are logged, and the ones before stay. Thread-safe.
class ServerCertificates {
 public:
  struct Options {
    // Reads the PEM texts.
    std::function<absl::StatusOr<PemCertificates>()> read;
    // The files that `read` reads. Empty: the texts do not change.
    std::vector<std::string> files;
    // A client must show a certificate of one of the authorities.
    bool verify_clients = false;
  };
  struct Current {
    PemCertificates pem;
    TlsContext context;  // made of `pem`
  };

  // Errors: those of `read` and of MakeTlsContext().
  static absl::StatusOr<std::unique_ptr<ServerCertificates>> Open(const Options& options);

  std::shared_ptr<const Current> Get() { return current_->Get(); }
  bool verify_clients() const { return verify_clients_; }

 private:
  ServerCertificates(std::unique_ptr<FileBacked<Current>> current, bool verify_clients)
      : current_(std::move(current)), verify_clients_(verify_clients) {}

  const std::unique_ptr<FileBacked<Current>> current_;
  const bool verify_clients_;
};

}  // namespace tessera::serving

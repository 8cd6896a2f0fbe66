// TlsContext: what OpenSSL needs to answer TLS handshakes of clients.
#pragma once

#include <openssl/types.h>

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace tessera::serving {

// The certificates of a server as PEM texts.
struct PemCertificates {
  std::string certificates;  // the server's, then those of the authorities between it and the root
  std::string key;           // the server's private key, without a password
  // The authorities whose clients are believed. Used where clients must show a certificate.
  std::string client_authorities;
};

using TlsContext = std::shared_ptr<SSL_CTX>;

// Returns a context for TLS 1.2 and 1.3 that agrees on HTTP/1.1 with clients that ask for a
// protocol (ALPN), and ends the handshake of those that do not offer it. With `verify_clients`, a
// client must show a certificate that one of the authorities signed. Errors: INVALID_ARGUMENT if a
// text is no PEM, or if the key does not belong to the server's certificate.
absl::StatusOr<TlsContext> MakeTlsContext(const PemCertificates& pem, bool verify_clients);

// Lets a connection of such a context agree on HTTP/2 with clients that offer nothing else, as
// those of gRPC do; browsers offer both. Before its handshake.
void OfferHttp2(SSL* connection);
// Whether the handshake of a connection agreed on HTTP/2.
bool ChoseHttp2(const SSL* connection);

}  // namespace tessera::serving

// ClientTls: how a client connects to a server with TLS.
#pragma once

#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

namespace tessera::serving {

struct ClientTls {
  std::string authorities;  // PEM texts of those that are believed
  // The client's certificate and its key, as PEM texts. Empty: none.
  std::string certificate;
  std::string key;
  // The name that the server's certificate must have. Empty: the host's.
  std::string server_name;
};

// Returns credentials for a channel, without encryption if there is no `tls`. Sets the name of the
// server in the arguments, if there is one.
std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const std::optional<ClientTls>& tls,
                                                               grpc::ChannelArguments* arguments);

// Returns a context for streams of Boost.Asio, which have yet to check the name. Errors:
// INVALID_ARGUMENT if a text is no PEM, or if the key does not belong to the certificate.
absl::StatusOr<std::unique_ptr<boost::asio::ssl::context>> SslContextOf(const ClientTls& tls);

}  // namespace tessera::serving

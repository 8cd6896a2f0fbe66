#include "serving/commands/load/client_tls.h"

#include <boost/asio/buffer.hpp>

#include "absl/strings/str_cat.h"

namespace tessera::serving {

namespace ssl = boost::asio::ssl;

std::shared_ptr<grpc::ChannelCredentials> ChannelCredentialsOf(const std::optional<ClientTls>& tls,
                                                               grpc::ChannelArguments* arguments) {
  if (!tls) return grpc::InsecureChannelCredentials();
  if (!tls->server_name.empty()) arguments->SetSslTargetNameOverride(tls->server_name);
  return grpc::SslCredentials({.pem_root_certs = tls->authorities,
                               .pem_private_key = tls->key,
                               .pem_cert_chain = tls->certificate});
}

absl::StatusOr<std::unique_ptr<ssl::context>> SslContextOf(const ClientTls& tls) {
  auto context = std::make_unique<ssl::context>(ssl::context::tls_client);
  boost::system::error_code error;
  context->set_verify_mode(ssl::verify_peer, error);
  const auto refuse = [&error](const char* what) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": ", error.message()));
  };
  context->add_certificate_authority(boost::asio::buffer(tls.authorities), error);
  if (error) return refuse("the certificates of authorities cannot be used");
  if (tls.certificate.empty()) return context;
  context->use_certificate_chain(boost::asio::buffer(tls.certificate), error);
  if (error) return refuse("the client's certificate cannot be used");
  context->use_private_key(boost::asio::buffer(tls.key), ssl::context::pem, error);
  if (error) return refuse("the client's private key cannot be used");
  return context;
}

}  // namespace tessera::serving

#include "serving/frontend/http/http_tunnel.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>

namespace tessera::serving {

namespace asio = boost::asio;

int HttpTunnel::Begin(std::unique_ptr<HttpSocket> client) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const auto tunnel = std::make_shared<HttpTunnel>(std::move(client), ends[0]);
  tunnel->ReadClient();
  tunnel->ReadPlain();
  return ends[1];
}

HttpTunnel::HttpTunnel(std::unique_ptr<HttpSocket> client, int plain)
    : client_(std::move(client)),
      plain_(client_->get_executor(), asio::local::stream_protocol(), plain) {}

void HttpTunnel::ReadClient() {
  client_->AsyncReadSome(asio::buffer(from_client_), [self = shared_from_this()](Error error,
                                                                                 size_t bytes) {
    if (error) return self->End();
    asio::async_write(self->plain_, asio::buffer(self->from_client_.data(), bytes),
                      [self](Error error, size_t) { error ? self->End() : self->ReadClient(); });
  });
}

void HttpTunnel::ReadPlain() {
  plain_.async_read_some(
      asio::buffer(from_plain_), [self = shared_from_this()](Error error, size_t bytes) {
        if (error) return self->End();
        self->client_->AsyncWrite(
            asio::buffer(self->from_plain_.data(), bytes),
            [self](Error error, size_t) { error ? self->End() : self->ReadPlain(); });
      });
}

void HttpTunnel::End() {
  Error ignored;
  plain_.close(ignored);
  client_->tcp().close(ignored);
}

}  // namespace tessera::serving
